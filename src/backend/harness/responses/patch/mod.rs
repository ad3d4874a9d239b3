//! The patch tool: reads a patch on standard input and applies it below the current directory.
//!
//! [`parse()`] reads the format, `hunk` changes one text, `files` decides everything before it writes anything.
//! It runs as our own binary inside the environment, so it can do no more there than any command of the agent. What it
//! refuses (absolute paths, `..`, symbolic links) is refused to catch slips of a model, not attacks.

mod files;
mod hunk;
mod parse;

use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

pub use self::parse::{Change, parse};

/// The hidden subcommand.
pub const ROLE: &str = "__apply-patch";

/// A longer patch is refused.
const PATCH_LIMIT_BYTES: u64 = 16 << 20;

/// Files named in a summary.
const SUMMARY_FILES: usize = 8;

/// Why a patch was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It is not written as a patch is. Nothing was changed.
    #[error("line {line} of the patch: {reason}")]
    Syntax {
        /// Line of the patch, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// It does not fit a file. Nothing was changed.
    #[error("{path}: {reason}")]
    Refused {
        /// The file, as the patch names it.
        path: String,
        /// What does not fit.
        reason: String,
    },
    /// Writing failed; some files may have been changed.
    #[error("{path}: {reason}; {}", changed(.done))]
    Broken {
        /// The file that could not be written.
        path: String,
        /// The operating system's reason.
        reason: String,
        /// What had been changed before.
        done: Vec<Done>,
    },
}

fn changed(done: &[Done]) -> String {
    if done.is_empty() {
        return "nothing was changed".to_owned();
    }
    let done: Vec<String> = done.iter().map(Done::to_string).collect();
    format!("only this was changed: {}", done.join(", "))
}

/// What happened to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It is new.
    Added(String),
    /// Its content changed.
    Modified(String),
    /// It is gone.
    Deleted(String),
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Done::Added(path) => write!(f, "A {path}"),
            Done::Modified(path) => write!(f, "M {path}"),
            Done::Deleted(path) => write!(f, "D {path}"),
        }
    }
}

/// Applies the patch on standard input below the current directory, and says what changed on standard output.
///
/// Exit codes: 0 it was applied; 1 it was refused and nothing was changed; 2 something could not be read or written, and
/// the message says what was changed before.
pub fn main() -> ExitCode {
    let (code, text) = match read_input().and_then(|patch| run(&patch, Path::new("."))) {
        Ok(done) => {
            let lines: String = done.iter().map(|done| format!("{done}\n")).collect();
            (0, lines)
        }
        Err(error) => {
            let code = if matches!(error, PatchError::Broken { .. }) {
                2
            } else {
                1
            };
            (code, format!("{error}\n"))
        }
    };
    // Whoever closed the output does not want to know.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(code)
}

fn read_input() -> Result<String, PatchError> {
    let mut bytes = Vec::new();
    let broken = |reason: String| PatchError::Broken {
        path: "standard input".to_owned(),
        reason,
        done: Vec::new(),
    };
    std::io::stdin()
        .lock()
        .take(PATCH_LIMIT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| broken(error.to_string()))?;
    if bytes.len() as u64 > PATCH_LIMIT_BYTES {
        return Err(PatchError::Syntax {
            line: 1,
            reason: "the patch is longer than 16 MiB".to_owned(),
        });
    }
    String::from_utf8(bytes).map_err(|_| PatchError::Syntax {
        line: 1,
        reason: "the patch is not UTF-8 text".to_owned(),
    })
}

/// Applies a patch below `root`.
pub fn run(patch: &str, root: &Path) -> Result<Vec<Done>, PatchError> {
    files::plan(&parse(patch)?, root)?.write()
}

/// What a patch would change, in one line for an operator; an error if it can't be read.
pub fn summary(patch: &str) -> Result<String, PatchError> {
    let changes = parse(patch)?;
    let mut words: Vec<String> = changes
        .iter()
        .take(SUMMARY_FILES)
        .map(|change| match change {
            Change::Add { path, .. } => format!("A {path}"),
            Change::Delete { path } => format!("D {path}"),
            Change::Update { path, to: None, .. } => format!("M {path}"),
            Change::Update {
                path, to: Some(to), ..
            } => format!("M {path} -> {to}"),
        })
        .collect();
    if changes.len() > SUMMARY_FILES {
        words.push(format!("and {} more", changes.len() - SUMMARY_FILES));
    }
    Ok(format!("apply_patch {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_names_what_would_change() {
        let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n*** End Patch";
        assert_eq!(
            summary(patch).as_deref(),
            Ok("apply_patch A a, D b, M c -> d")
        );
        let many: String = (0..10).map(|n| format!("*** Delete File: {n}\n")).collect();
        let many = format!("*** Begin Patch\n{many}*** End Patch\n");
        assert!(summary(&many).is_ok_and(|line| line.ends_with("D 7, and 2 more")));
    }
}
