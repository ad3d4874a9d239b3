//! One thing in full: labels and values under each other, for `get` and `explain`.

use super::cell::{Cell, Times, tsv_row};
use super::paint::{Role, paint};
use super::table::Table;
use super::terminal::Stream;
use crate::text::{SafeBlock, SafeText, pad, wrap};

/// Cells between a label and its value.
const GAP: usize = 2;

/// Cells of a verdict.
const VERDICT_CELLS: usize = 7;

/// Lines narrower than this are not wrapped: nobody can read a column of syllables.
const WRAP_MIN_CELLS: usize = 24;

#[derive(Clone, Debug)]
enum Entry {
    Value(&'static str, Cell),
    Prose(&'static str, String),
    Judged(&'static str, Cell, String),
    Table(&'static str, Table),
}

/// Labelled values, in order. In `tsv` each is one row: label, tab, value.
#[derive(Clone, Debug, Default)]
pub struct Details {
    entries: Vec<Entry>,
}

impl Details {
    /// Nothing yet.
    pub fn new() -> Details {
        Details::default()
    }

    /// A value of one line.
    pub fn value(mut self, label: &'static str, cell: Cell) -> Details {
        self.entries.push(Entry::Value(label, cell));
        self
    }

    /// Text of several lines, wrapped on a terminal.
    pub fn prose(mut self, label: &'static str, text: impl Into<String>) -> Details {
        self.entries.push(Entry::Prose(label, text.into()));
        self
    }

    /// A verdict in a word, and what it is about: text of several lines, wrapped on a terminal.
    pub fn judged(
        mut self,
        label: &'static str,
        verdict: Cell,
        text: impl Into<String>,
    ) -> Details {
        self.entries
            .push(Entry::Judged(label, verdict, text.into()));
        self
    }

    /// A table of its own under a heading; left out when it has no rows.
    pub fn table(mut self, heading: &'static str, table: Table) -> Details {
        if !table.is_empty() {
            self.entries.push(Entry::Table(heading, table));
        }
        self
    }

    pub(super) fn tsv(&self) -> String {
        let row = |label: &str, cell: &Cell| tsv_row([&Cell::text(label), cell]);
        self.entries
            .iter()
            .map(|entry| match entry {
                Entry::Value(label, cell) => row(label, cell),
                Entry::Prose(label, text) => row(label, &Cell::text(text)),
                Entry::Judged(label, verdict, text) => {
                    tsv_row([&Cell::text(*label), verdict, &Cell::text(text)])
                }
                Entry::Table(heading, table) => {
                    let rows = table.tsv();
                    rows.lines()
                        .map(|line| format!("{heading}\t{line}\n"))
                        .collect()
                }
            })
            .collect()
    }

    pub(super) fn lines(&self, wide: bool, stream: &Stream, times: &Times) -> String {
        let label_cells = self
            .entries
            .iter()
            .map(Entry::label_cells)
            .max()
            .unwrap_or(0);
        let mut out = String::new();
        for entry in &self.entries {
            match entry {
                Entry::Value(label, cell) => {
                    let value = cell.shown_in_full(times).shown(stream.glyphs).into_owned();
                    let value = paint(&value, cell.role(), stream.colour);
                    out.push_str(&labelled(label, label_cells, &[value], stream));
                }
                Entry::Prose(label, text) => {
                    let lines: Vec<_> = prose(text.as_str(), label_cells + GAP, stream)
                        .iter()
                        .map(|line| line.as_str().to_owned())
                        .collect();
                    out.push_str(&labelled(label, label_cells, &lines, stream));
                }
                Entry::Judged(label, verdict, text) => {
                    let indent = label_cells + GAP + VERDICT_CELLS + GAP;
                    let word = verdict.shown(times).shown(stream.glyphs).into_owned();
                    let word = paint(&pad(&word, VERDICT_CELLS), verdict.role(), stream.colour);
                    let lines: Vec<_> = prose(text.as_str(), indent, stream)
                        .iter()
                        .enumerate()
                        .map(|(i, line)| match i {
                            0 => format!("{word}{:GAP$}{line}", ""),
                            _ => format!("{:VERDICT_CELLS$}{:GAP$}{line}", "", ""),
                        })
                        .collect();
                    out.push_str(&labelled(label, label_cells, &lines, stream));
                }
                Entry::Table(heading, table) => {
                    let heading = paint(&SafeText::from(*heading), Role::Heading, stream.colour);
                    out.push_str(&format!("\n{heading}\n"));
                    out.push_str(&table.lines(wide, stream, times));
                }
            }
        }
        out
    }
}

impl Entry {
    fn label_cells(&self) -> usize {
        match self {
            Entry::Value(label, _) | Entry::Prose(label, _) | Entry::Judged(label, ..) => {
                label.len()
            }
            Entry::Table(..) => 0,
        }
    }
}

/// Safe lines of `text`, wrapped to what the stream has left beside `indent` cells.
pub(super) fn prose(text: impl Into<SafeBlock>, indent: usize, stream: &Stream) -> Vec<SafeText> {
    let block = text.into().shown(stream.glyphs).into_owned();
    match stream.width.and_then(|width| width.checked_sub(indent)) {
        Some(room) if room >= WRAP_MIN_CELLS => wrap(&block, room),
        _ => block.lines().collect(),
    }
}

/// A label, then lines of finished text with the same indentation.
fn labelled(label: &'static str, label_cells: usize, lines: &[String], stream: &Stream) -> String {
    let label = pad(&SafeText::from(label), label_cells);
    let label = paint(&label, Role::Heading, stream.colour);
    let mut out = String::new();
    let nothing = [String::new()];
    let lines = if lines.is_empty() {
        &nothing[..]
    } else {
        lines
    };
    for (i, line) in lines.iter().enumerate() {
        let before = if i == 0 {
            label.clone()
        } else {
            " ".repeat(label_cells)
        };
        let whole = format!("{before}{:GAP$}{line}", "");
        out.push_str(whole.trim_end_matches(' '));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::table::Column;
    use super::*;
    use pretty_assertions::assert_eq;

    fn session() -> Details {
        let mut inputs = Table::new([Column::new("INPUT"), Column::new("STATE")]);
        inputs.row([Cell::text("inp_1"), Cell::word("accepted", Role::Warn)]);
        Details::new()
            .value("Session", Cell::text("sess_a"))
            .value("Created", Cell::Time(0))
            .value("Error", Cell::Nothing)
            .prose("Instructions", "Be brief and say what you did, in the order in which you did it.\nDo not\x1b[2J lie.")
            .table("Pending inputs", inputs)
            .table("Nothing here", Table::new([Column::new("X")]))
    }

    #[test]
    fn labels_line_up_and_prose_wraps() {
        let stream = Stream {
            tty: true,
            width: Some(50),
            ..Stream::plain()
        };
        assert_eq!(
            session().lines(false, &stream, &Times::relative_to(60_000)),
            "\
Session       sess_a
Created       1970-01-01 00:00:00 +00:00 (1m ago)
Error         -
Instructions  Be brief and say what you did, in
              the order in which you did it.
              Do not␛[2J lie.

Pending inputs
INPUT  STATE
inp_1  accepted
"
        );
    }

    #[test]
    fn tsv_is_one_labelled_row_each() {
        assert_eq!(
            session().tsv(),
            "Session\tsess_a\nCreated\t1970-01-01T00:00:00.000Z\nError\t\n\
             Instructions\tBe brief and say what you did, in the order in which you did it.\\nDo not\\u{1b}[2J lie.\n\
             Pending inputs\tinp_1\taccepted\n"
        );
    }
}
