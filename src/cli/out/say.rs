//! Standard error: talk. Notes, warnings, hints, errors and progress; never data.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::CliError;
use super::json;
use super::kind::Kind;
use super::paint::{Role, paint};
use super::progress::{Mode, Progress, Spot};
use super::terminal::{Stream, Terminal};
use crate::text::{SafeBlock, SafeText, wrap};

/// On a terminal narrower than this nothing is folded.
const FOLD_MIN_CELLS: usize = 24;

/// How much is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Errors only.
    Quiet,
    /// What a person needs to know.
    #[default]
    Normal,
    /// Also how it was done.
    Verbose,
}

/// The writer of talk; clones share the stream. A stream that refuses talk is no failure of a command: what cannot be said
/// is lost, and the exit code still tells.
#[derive(Clone)]
pub struct Say {
    sink: Arc<Mutex<Box<dyn Write + Send>>>,
    stream: Stream,
    level: Level,
    json_errors: bool,
    progress: Mode,
    spot: Spot,
}

impl Say {
    /// A writer over any stream that talks to the terminal described. With `json_errors`, errors are one JSON object.
    pub fn new(
        sink: impl Write + Send + 'static,
        terminal: &Terminal,
        level: Level,
        json_errors: bool,
        spot: Spot,
    ) -> Say {
        Say {
            sink: Arc::new(Mutex::new(Box::new(sink))),
            stream: terminal.stderr,
            level,
            json_errors,
            progress: Mode::of(terminal, level),
            spot,
        }
    }

    /// How much is said.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Something a person should know; silent with `-q`.
    pub fn note(&self, text: impl Into<SafeBlock>) {
        if self.level >= Level::Normal {
            self.put("", Role::Plain, text.into(), None);
        }
    }

    /// Text that is the answer to a command line that can't be run, always.
    pub fn plain(&self, text: impl Into<SafeBlock>) {
        self.put("", Role::Plain, text.into(), None);
    }

    /// How something was done; only with `-v`.
    pub fn detail(&self, text: impl Into<SafeBlock>) {
        if self.level >= Level::Verbose {
            self.put("", Role::Plain, text.into(), None);
        }
    }

    /// Something that may go wrong later; silent with `-q`.
    pub fn warn(&self, text: impl Into<SafeBlock>) {
        if self.level >= Level::Normal {
            self.put("warning: ", Role::Warn, text.into(), None);
        }
    }

    /// A next step; silent with `-q`.
    pub fn hint(&self, text: impl Into<SafeBlock>) {
        if self.level >= Level::Normal {
            self.put("hint: ", Role::Active, text.into(), None);
        }
    }

    /// Why the command failed, always. The causes are told with `-v`, and for mistakes of ours.
    pub fn error(&self, error: &CliError) {
        if error.is_silent() {
            return;
        }
        if self.json_errors {
            return self.json_error(error);
        }
        self.put(
            "error: ",
            Role::Bad,
            error.message.as_str().into(),
            Some(error.code),
        );
        if self.level >= Level::Verbose || error.kind == Kind::Bug {
            for cause in error.causes() {
                self.put("cause: ", Role::Dim, cause.into(), None);
            }
        }
        for hint in &error.hint {
            self.put("hint: ", Role::Active, hint.as_str().into(), None);
        }
    }

    /// Starts to show that something is being waited for. What it shows disappears when the returned value is dropped.
    pub fn progress(&self, label: impl Into<SafeText>) -> Progress {
        Progress::start(self, self.progress, label.into())
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn spot(&self) -> &Spot {
        &self.spot
    }

    /// Writes a question without a newline after it.
    pub(super) fn ask(&self, question: impl Into<SafeText>) {
        let question = question.into();
        self.write(&format!("{} ", question.shown(self.stream.glyphs)));
    }

    fn json_error(&self, error: &CliError) {
        // A JSON value always encodes.
        let mut text = json::encode(&error.to_json(), false).unwrap_or_default();
        if self.stream.tty {
            text = json::for_terminal(&text, self.stream.glyphs);
        }
        self.write(&format!("{text}\n"));
    }

    fn put(&self, prefix: &'static str, role: Role, text: SafeBlock, code: Option<&str>) {
        let mut out = paint(&SafeText::from(prefix.trim_end()), role, self.stream.colour);
        let mut indent = usize::from(!prefix.is_empty());
        let lines = self.folded(&text, prefix, code);
        let last = lines.len().saturating_sub(1);
        for (i, line) in lines.iter().enumerate() {
            let code = match code {
                Some(code) if i == last => format!(" [{code}]"),
                _ => String::new(),
            };
            let space = if line.is_empty() { 0 } else { indent };
            out.push_str(&format!("{:space$}{line}{code}\n", ""));
            indent = prefix.len();
        }
        if out.is_empty() || !out.ends_with('\n') {
            out.push('\n');
        }
        self.write(&out);
    }

    /// Sentences are folded at the edge of a terminal. Lines that hold a command to copy, which are hints and what is set in,
    /// are left whole.
    fn folded(&self, text: &SafeBlock, prefix: &str, code: Option<&str>) -> Vec<SafeText> {
        let text = text.shown(self.stream.glyphs);
        let room = self.stream.width.map(|width| {
            let beside = prefix.len() + code.map_or(0, |code| code.len() + 3);
            width.saturating_sub(beside)
        });
        text.lines()
            .flat_map(|line| {
                let whole = prefix == "hint: " || line.as_str().starts_with(' ');
                match room {
                    Some(room) if room >= FOLD_MIN_CELLS && !whole => wrap(&line.into(), room),
                    _ => vec![line],
                }
            })
            .collect()
    }

    fn write(&self, text: &str) {
        self.spot.suspend(|| {
            let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = sink.write_all(text.as_bytes()).and_then(|()| sink.flush());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::capture::{Capture, Refusing};
    use super::super::terminal::{ColorChoice, Facts};
    use super::*;
    use crate::cli::config::Vars;
    use pretty_assertions::assert_eq;
    use std::io::ErrorKind;

    fn plain() -> Terminal {
        Terminal::new(
            Facts::default(),
            &Vars::fixed::<&str, &str>([]),
            ColorChoice::Never,
            None,
        )
    }

    fn said(level: Level, json_errors: bool, talk: impl FnOnce(&Say)) -> String {
        let captured = Capture::default();
        talk(&Say::new(
            captured.clone(),
            &plain(),
            level,
            json_errors,
            Spot::default(),
        ));
        captured.text()
    }

    fn everything(say: &Say) {
        say.note("a note");
        say.detail("a detail");
        say.warn("a warning\nof two lines");
        say.hint("do this");
        say.error(
            &CliError::usage("wrong")
                .hint("do that")
                .because(std::io::Error::other("deep")),
        );
    }

    #[test]
    fn levels_decide_what_is_said() {
        assert_eq!(
            said(Level::Quiet, false, everything),
            "error: wrong [RT-0200]\nhint: do that\n"
        );
        assert_eq!(
            said(Level::Normal, false, everything),
            "a note\nwarning: a warning\n         of two lines\nhint: do this\nerror: wrong [RT-0200]\nhint: do that\n"
        );
        assert_eq!(
            said(Level::Verbose, false, everything),
            "a note\na detail\nwarning: a warning\n         of two lines\nhint: do this\n\
             error: wrong [RT-0200]\ncause: deep\nhint: do that\n"
        );
    }

    #[test]
    fn json_errors_are_one_line() {
        let text = said(Level::Quiet, true, |say| {
            say.error(&CliError::usage("wrong\nindeed"))
        });
        assert_eq!(
            text,
            "{\"error\":{\"code\":\"RT-0200\",\"kind\":\"usage\",\"exit_code\":2,\"message\":\"wrong\\nindeed\",\"hints\":[],\"causes\":[]}}\n"
        );
    }

    #[test]
    fn quoted_text_cannot_steer_the_terminal() {
        let text = said(Level::Normal, false, |say| {
            say.error(&CliError::not_found("no Session \x1b]0;x\x07").hint("\u{9b}2J"));
        });
        assert_eq!(
            text,
            "error: no Session ␛]0;x␇ [RT-0300]\nhint: \\u{9b}2J\n"
        );
    }

    #[test]
    fn a_closed_pipe_says_nothing() {
        let closed = || CliError::writing("standard output", ErrorKind::BrokenPipe.into());
        assert_eq!(said(Level::Verbose, false, |say| say.error(&closed())), "");
        assert_eq!(said(Level::Verbose, true, |say| say.error(&closed())), "");
    }

    #[test]
    fn talk_that_nobody_hears_is_lost_quietly() {
        let say = Say::new(
            Refusing(ErrorKind::BrokenPipe),
            &plain(),
            Level::Normal,
            false,
            Spot::default(),
        );
        everything(&say);
    }

    #[test]
    fn only_the_prefix_has_colour() {
        let captured = Capture::default();
        let terminal = Terminal::new(
            Facts::default(),
            &Vars::fixed([("LANG", "C.UTF-8")]),
            ColorChoice::Always,
            None,
        );
        Say::new(
            captured.clone(),
            &terminal,
            Level::Normal,
            false,
            Spot::default(),
        )
        .warn("careful");
        assert_eq!(captured.text(), "\x1b[33mwarning:\x1b[0m careful\n");
    }
}
