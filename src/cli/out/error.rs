//! The one error type of the command line: what to tell the user, what to tell a script.
//!
//! Errors of the engine and of backends are turned into this at the edge, where it is known who must act. Every message is
//! sanitised when it is shown, so it may quote what a user or a server said.

use std::error::Error;
use std::io;

use serde_json::{Value, json};

use super::codes::{self, Code};
use super::kind::Kind;

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    /// Who must act; decides the exit code.
    pub kind: Kind,
    /// One sentence: what is wrong, naming the field, file or id.
    pub message: String,
    /// What to do next, one line each, best first.
    pub hint: Vec<String>,
    /// `RT-nnnn`, one of [`codes::ALL`].
    pub code: &'static str,
    /// What it came from.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl CliError {
    /// An error with this code; the code knows its kind.
    pub fn new(code: Code, message: impl Into<String>) -> CliError {
        CliError {
            kind: code.kind,
            message: message.into(),
            hint: Vec::new(),
            code: code.id,
            source: None,
        }
    }

    /// The command or its surroundings must be changed (exit 2).
    pub fn usage(message: impl Into<String>) -> CliError {
        CliError::new(codes::USAGE, message)
    }

    /// It does not exist (exit 3).
    pub fn not_found(message: impl Into<String>) -> CliError {
        CliError::new(codes::NOT_FOUND, message)
    }

    /// A mistake of ours (exit 70); says how to report it.
    pub fn bug(message: impl Into<String>) -> CliError {
        CliError::new(codes::BUG, message).hint("this is a mistake in rat-things; please report it with the output of `rat-things doctor`")
    }

    /// Ctrl-C (exit 130).
    pub fn interrupted() -> CliError {
        CliError::new(codes::INTERRUPTED, "interrupted")
    }

    /// Writing to a standard stream or file failed; a reader that left becomes the silent kind.
    pub fn writing(what: &str, error: io::Error) -> CliError {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return CliError::new(codes::BROKEN_PIPE, "the reader of the output went away")
                .because(error);
        }
        CliError::new(codes::OUTPUT, format!("cannot write to {what}: {error}"))
            .hint("the output is incomplete; what the command did before is not undone")
            .because(error)
    }

    /// Adds a next step.
    pub fn hint(mut self, hint: impl Into<String>) -> CliError {
        self.hint.push(hint.into());
        self
    }

    /// Keeps the error it came from.
    pub fn because(mut self, source: impl Error + Send + Sync + 'static) -> CliError {
        self.source = Some(Box::new(source));
        self
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }

    /// Whether nothing is to be shown.
    pub fn is_silent(&self) -> bool {
        self.kind == Kind::BrokenPipe
    }

    /// The messages of everything it came from, outermost first, without those that only repeat what was said.
    pub fn causes(&self) -> Vec<String> {
        let mut causes: Vec<String> = Vec::new();
        let mut next = self.source();
        while let Some(error) = next {
            let text = error.to_string();
            let said = |earlier: &String| earlier.contains(&text);
            if !said(&self.message) && !causes.iter().any(said) {
                causes.push(text);
            }
            next = error.source();
        }
        causes
    }

    /// The error as one JSON object: `{"error":{"code":…,"kind":…,"exit_code":…,"message":…,"hints":[…],"causes":[…]}}`.
    pub fn to_json(&self) -> Value {
        json!({
            "error": {
                "code": self.code,
                "kind": self.kind.name(),
                "exit_code": self.exit_code(),
                "message": self.message,
                "hints": self.hint,
                "causes": self.causes(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_reader_that_left_is_no_failure() {
        let error = CliError::writing("standard output", io::ErrorKind::BrokenPipe.into());
        assert_eq!((error.exit_code(), error.is_silent()), (0, true));
    }

    #[test]
    fn a_full_disk_is_a_failure() {
        let error = CliError::writing("standard output", io::ErrorKind::StorageFull.into());
        assert_eq!((error.exit_code(), error.is_silent()), (7, false));
        assert!(
            error
                .message
                .starts_with("cannot write to standard output: ")
        );
    }

    #[test]
    fn json_errors_hold_everything_a_script_needs() {
        let error = CliError::not_found("no Session starts with sess_x")
            .hint("`rat-things sessions list` shows them")
            .because(io::Error::other("row missing"));
        let expected = json!({"error": {
            "code": "RT-0300",
            "kind": "not_found",
            "exit_code": 3,
            "message": "no Session starts with sess_x",
            "hints": ["`rat-things sessions list` shows them"],
            "causes": ["row missing"],
        }});
        assert_eq!(error.to_json(), expected);
    }

    #[test]
    fn causes_do_not_repeat_the_message() {
        let error = CliError::usage("cannot open x: gone").because(io::Error::other("gone"));
        assert_eq!(error.causes(), Vec::<String>::new());
    }
}
