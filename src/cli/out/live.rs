//! Following a Turn: each item once on standard output as it comes, and a spinner on standard error meanwhile. Where a spinner
//! turns, the end of a text that is being written is shown above it.

use std::collections::HashSet;

use super::data::Out;
use super::details::prose;
use super::error::CliError;
use super::paint::{Role, paint};
use super::progress::Progress;
use super::say::Say;
use super::terminal::{Stream, size_now};
use super::window::Window;
use crate::text::{SafeBlock, SafeText, pad};

/// Cells of the column that says what a line is.
const LABEL_CELLS: usize = 10;
/// Lines of a text that is being written.
const WINDOW_LINES: usize = 8;
/// Rows for the spinner, and for something that stays in sight.
const ROWS_BESIDE: usize = 2;
/// Cells that a terminal must have for them: on a narrower one lines are not wrapped, and could not be counted.
const WINDOW_CELLS: usize = 40;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A message of the user.
    User,
    /// A message of the agent.
    Agent,
    /// A remark of the agent while it works.
    Commentary,
    /// A summary of its reasoning.
    Thought,
    /// A command, and how it ended.
    Command,
    /// What a command printed.
    Output,
    /// A call of a tool or function.
    Tool,
    /// A file that was kept.
    Artifact,
    /// How a Turn ended, or what it waits for.
    Turn,
    /// A failure.
    Error,
}

impl LineKind {
    fn label(self) -> (&'static str, Role) {
        match self {
            LineKind::User => ("user", Role::Heading),
            LineKind::Agent => ("agent", Role::Heading),
            LineKind::Commentary => ("agent", Role::Dim),
            LineKind::Thought => ("thought", Role::Dim),
            LineKind::Command => ("command", Role::Active),
            LineKind::Output => ("", Role::Plain),
            LineKind::Tool => ("tool", Role::Active),
            LineKind::Artifact => ("artifact", Role::Good),
            LineKind::Turn => ("turn", Role::Heading),
            LineKind::Error => ("error", Role::Bad),
        }
    }

    /// Text that matters less is dimmed as a whole.
    fn text_role(self) -> Role {
        match self {
            LineKind::Commentary | LineKind::Thought | LineKind::Output => Role::Dim,
            _ => Role::Plain,
        }
    }
}

/// Prints a Turn while it happens, for a person. Programs follow with `-o jsonl` and [`Out::record`].
pub struct Live<'a> {
    out: &'a mut Out,
    progress: Progress,
    seen: HashSet<String>,
    window: Window,
}

impl<'a> Live<'a> {
    /// Begins to follow; `label` stands beside the spinner.
    pub fn start(out: &'a mut Out, say: &Say, label: impl Into<SafeText>) -> Live<'a> {
        Live {
            out,
            progress: say.progress(label),
            seen: HashSet::new(),
            window: Window::default(),
        }
    }

    /// Prints one item.
    pub fn item(&mut self, kind: LineKind, text: impl Into<SafeBlock>) -> Result<(), CliError> {
        let stream = *self.out.stream();
        let mut lines = prose(text, LABEL_CELLS, &stream);
        if lines.is_empty() {
            lines.push(SafeText::default());
        }
        let block = labelled(kind, &lines, &stream);
        let erased = self.window.erase();
        self.out.put(&format!("{erased}{block}"), true)
    }

    /// Whether there is a place for text that is being written.
    pub fn shows_writing(&self) -> bool {
        let stream = self.out.stream();
        let is_wide = stream.width.is_some_and(|cells| cells >= WINDOW_CELLS);
        stream.tty && is_wide && self.progress.moves()
    }

    /// Shows the end of a text that is being written, until the next item is printed or the following ends. Only where
    /// something may move: elsewhere the complete item has to do.
    pub fn writing(&mut self, text: Option<(LineKind, &str)>) -> Result<(), CliError> {
        if !self.shows_writing() {
            return Ok(());
        }
        let stream = *self.out.stream();
        // Lines are wrapped for the width of the start. On a terminal that is narrower now, or has too few rows, they could not be
        // erased again.
        let fits = size_now().is_some_and(|(columns, rows)| {
            let wide = stream.width.is_some_and(|width| width <= columns);
            wide && rows > WINDOW_LINES + ROWS_BESIDE
        });
        let block = text
            .filter(|_| fits)
            .map_or_else(String::new, |(kind, text)| {
                let lines = prose(text.trim_end(), LABEL_CELLS, &stream);
                let end = &lines[lines.len().saturating_sub(WINDOW_LINES)..];
                labelled(kind, end, &stream)
            });
        match self.window.draw(block) {
            Some(drawn) => self.out.put(&drawn, true),
            None => Ok(()),
        }
    }

    /// Prints the item called `id` unless it was printed before; says whether it was new. A stream that is resumed may show
    /// an item twice, and this is where that ends.
    pub fn item_once(
        &mut self,
        id: &str,
        kind: LineKind,
        text: impl Into<SafeBlock>,
    ) -> Result<bool, CliError> {
        if !self.seen.insert(id.to_owned()) {
            return Ok(false);
        }
        self.item(kind, text).map(|()| true)
    }

    /// Says beside the spinner what is going on.
    pub fn status(&self, label: impl Into<SafeText>) {
        self.progress.step(label);
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        let erased = self.window.erase();
        if !erased.is_empty() {
            // A terminal that is gone has nothing to be erased from.
            let _ = self.out.put(&erased, true);
        }
    }
}

/// Lines with what they are beside the first.
fn labelled(kind: LineKind, lines: &[SafeText], stream: &Stream) -> String {
    let (label, label_role) = kind.label();
    let label = pad(&SafeText::from(label), LABEL_CELLS);
    let mut block = String::new();
    for (i, line) in lines.iter().enumerate() {
        let before = match i {
            0 => paint(&label, label_role, stream.colour),
            _ => " ".repeat(LABEL_CELLS),
        };
        let text = paint(line, kind.text_role(), stream.colour);
        block.push_str(format!("{before}{text}").trim_end_matches(' '));
        block.push('\n');
    }
    block
}

#[cfg(test)]
mod tests {
    use super::super::capture::Capture;
    use super::super::cell::Times;
    use super::super::format::Format;
    use super::super::progress::Spot;
    use super::super::say::Level;
    use super::super::terminal::{ColorChoice, Facts, Terminal};
    use super::*;
    use crate::cli::config::Vars;
    use pretty_assertions::assert_eq;

    fn follow(stream: Stream, watch: impl FnOnce(&mut Live<'_>)) -> String {
        let captured = Capture::default();
        let terminal = Terminal::new(
            Facts::default(),
            &Vars::fixed::<&str, &str>([]),
            ColorChoice::Never,
            None,
        );
        let say = Say::new(
            Capture::default(),
            &terminal,
            Level::Normal,
            false,
            Spot::default(),
        );
        let mut out = Out::new(
            captured.clone(),
            Format::Table,
            stream,
            Times::relative_to(0),
            Spot::default(),
        );
        watch(&mut Live::start(&mut out, &say, "working"));
        captured.text()
    }

    fn narrow() -> Stream {
        Stream {
            tty: true,
            width: Some(40),
            ..Stream::plain()
        }
    }

    #[test]
    fn items_are_labelled_wrapped_and_harmless() {
        let text = follow(narrow(), |live| {
            live.item(LineKind::User, "Explore the workspace and report.")
                .expect("writes");
            live.item(LineKind::Command, "ls -la").expect("writes");
            live.item(LineKind::Output, "a\n\nb\x1b[2J\n")
                .expect("writes");
            live.item(LineKind::Agent, "").expect("writes");
        });
        let expected = "\
user      Explore the workspace and
          report.
command   ls -la
          a

          b␛[2J
agent
";
        assert_eq!(text, expected);
    }

    #[test]
    fn off_a_terminal_lines_stay_whole() {
        let long = "word ".repeat(40);
        let text = follow(Stream::plain(), |live| {
            live.item(LineKind::Agent, long.as_str()).expect("writes")
        });
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn an_item_is_printed_once() {
        let text = follow(Stream::plain(), |live| {
            assert!(
                live.item_once("msg_1", LineKind::Agent, "hello")
                    .expect("writes")
            );
            assert!(
                !live
                    .item_once("msg_1", LineKind::Agent, "hello")
                    .expect("writes")
            );
        });
        assert_eq!(text, "agent     hello\n");
    }
}
