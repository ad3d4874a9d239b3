//! Tables: columns that know how much they may shrink, rows of [`Cell`]s, and their layout as pure text.

use super::cell::{Cell, Times, tsv_row};
use super::details::prose;
use super::paint::{Role, paint};
use super::terminal::Stream;
use crate::text::{SafeText, truncate};

/// Cells between two columns.
const GAP: usize = 2;

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    header: &'static str,
    /// Order of shrinking; 0 = never.
    shrinks: u8,
    min_cells: usize,
    only_wide: bool,
}

impl Column {
    /// A column that is never cut: ids, states, numbers.
    pub fn new(header: &'static str) -> Column {
        Column {
            header,
            shrinks: 0,
            min_cells: header.len(),
            only_wide: false,
        }
    }

    /// May be cut down to `min_cells` where the terminal is narrow. Lower `order` shrinks first; titles have 1.
    pub fn shrinks(mut self, order: u8, min_cells: usize) -> Column {
        self.shrinks = order;
        self.min_cells = min_cells;
        self
    }

    /// Shown by `wide` and `tsv` only.
    pub fn wide(mut self) -> Column {
        self.only_wide = true;
        self
    }
}

/// Rows under columns.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        Table {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row: one cell for each column, wide ones included. Missing cells are empty, surplus ones are dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) -> &mut Table {
        let mut cells: Vec<_> = cells.into_iter().take(self.columns.len()).collect();
        cells.resize(self.columns.len(), Cell::Nothing);
        self.rows.push(cells);
        self
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Every row with full values, without a header.
    pub(super) fn tsv(&self) -> String {
        self.rows.iter().map(tsv_row).collect()
    }

    /// The table for a person, fitted to the stream. Empty without rows: then the command says so on standard error.
    pub(super) fn lines(&self, wide: bool, stream: &Stream, times: &Times) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let kept: Vec<usize> = (0..self.columns.len())
            .filter(|i| wide || !self.columns[*i].only_wide)
            .collect();
        let header = |i: &usize| {
            (
                SafeText::from(self.columns[*i].header),
                Role::Heading,
                false,
            )
        };
        let mut grid = vec![kept.iter().map(header).collect::<Vec<_>>()];
        grid.extend(self.rows.iter().map(|row| {
            kept.iter()
                .map(|i| {
                    let shown = row[*i].shown(times).shown(stream.glyphs).into_owned();
                    (shown, row[*i].role(), row[*i].is_number())
                })
                .collect::<Vec<_>>()
        }));
        let widths = self.widths(&kept, &grid, stream.width);
        grid.iter()
            .map(|row| line(row, &widths, &right_aligned(&grid), stream))
            .collect()
    }

    /// The table for a person who reads: the last column is wrapped where the stream has an edge, and nothing is cut.
    pub(super) fn paragraphs(&self, stream: &Stream, times: &Times) -> String {
        let wide = Stream {
            width: None,
            ..*stream
        };
        let Some((last, first)) = self.columns.split_last() else {
            return String::new();
        };
        let indent: usize = first
            .iter()
            .enumerate()
            .map(|(i, column)| {
                let cells = |row: &Vec<Cell>| row[i].shown(times).cells();
                GAP + self
                    .rows
                    .iter()
                    .map(cells)
                    .max()
                    .unwrap_or(0)
                    .max(column.header.len())
            })
            .sum();
        let mut folded = Table::new(first.iter().chain([last]).cloned());
        for row in &self.rows {
            let Some((text, before)) = row.split_last() else {
                continue;
            };
            let lines = prose(text.shown(times).as_str(), indent, stream);
            for (i, line) in lines.iter().enumerate() {
                let mut cells = match i {
                    0 => before.to_vec(),
                    _ => vec![Cell::text(""); before.len()],
                };
                cells.push(Cell::text(line.as_str()));
                folded.row(cells);
            }
        }
        folded.lines(true, &wide, times)
    }

    fn widths(&self, kept: &[usize], grid: &[Vec<Shown>], room: Option<usize>) -> Vec<usize> {
        let mut columns: Vec<Fit> = kept
            .iter()
            .enumerate()
            .map(|(at, i)| Fit {
                cells: grid.iter().map(|row| row[at].0.cells()).max().unwrap_or(0),
                min_cells: self.columns[*i].min_cells,
                shrinks: self.columns[*i].shrinks,
            })
            .collect();
        if let Some(room) = room {
            fit(&mut columns, room);
        }
        columns.iter().map(|column| column.cells).collect()
    }
}

/// Text, role, and whether it is a number.
type Shown = (SafeText, Role, bool);

/// A column while widths are being found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fit {
    cells: usize,
    min_cells: usize,
    shrinks: u8,
}

/// Takes cells from the columns that may shrink, in their order, until everything fits or nothing can be taken. What does
/// not fit then runs over the edge: a whole id that wraps is better than half of one.
fn fit(columns: &mut [Fit], room: usize) {
    let gaps = GAP * columns.len().saturating_sub(1);
    let total: usize = columns.iter().map(|column| column.cells).sum();
    let mut surplus = (total + gaps).saturating_sub(room);
    let mut order: Vec<usize> = (0..columns.len())
        .filter(|i| columns[*i].shrinks > 0)
        .collect();
    order.sort_by_key(|i| columns[*i].shrinks);
    for i in order {
        let column = &mut columns[i];
        let taken = surplus.min(column.cells.saturating_sub(column.min_cells));
        column.cells -= taken;
        surplus -= taken;
    }
}

/// Columns whose values are all numbers or nothing, and at least one is a number.
fn right_aligned(grid: &[Vec<Shown>]) -> Vec<bool> {
    let columns = grid.first().map_or(0, Vec::len);
    let values = |i: usize| grid.iter().skip(1).map(move |row| &row[i]);
    (0..columns)
        .map(|i| values(i).any(|v| v.2) && values(i).all(|v| v.2 || v.0.as_str() == "-"))
        .collect()
}

fn line(row: &[Shown], widths: &[usize], right: &[bool], stream: &Stream) -> String {
    let mut out = String::new();
    for (i, (text, role, _)) in row.iter().enumerate() {
        let text = truncate(text, widths[i], stream.glyphs);
        let spaces = " ".repeat(widths[i] - text.cells().min(widths[i]));
        let painted = paint(&text, *role, stream.colour);
        let last = i + 1 == row.len();
        match (right[i], last) {
            (true, _) => out.extend([spaces, painted]),
            (false, true) => out.push_str(&painted),
            (false, false) => out.extend([painted, spaces]),
        }
        if !last {
            out.extend(std::iter::repeat_n(' ', GAP));
        }
    }
    let end = out.trim_end_matches(' ').len();
    out.truncate(end);
    out.push('\n');
    out
}

/// One row that stands for itself, in the order of a table's columns: for rows that come one at a time.
pub(super) fn loose_row(cells: &[Cell], stream: &Stream, times: &Times) -> String {
    let parts: Vec<_> = cells
        .iter()
        .map(|cell| {
            let shown = cell.shown(times);
            paint(&shown.shown(stream.glyphs), cell.role(), stream.colour)
        })
        .collect();
    format!("{}\n", parts.join("  ").trim_end_matches(' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Glyphs;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn sessions() -> Table {
        let mut table = Table::new([
            Column::new("ID"),
            Column::new("STATUS"),
            Column::new("AGE"),
            Column::new("SIZE").wide(),
            Column::new("TITLE").shrinks(1, 8),
        ]);
        table.row([
            Cell::text("sess_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
            Cell::word("idle", Role::Good),
            Cell::Time(0),
            Cell::Size(1),
            Cell::text("Cancel stale pull requests\nand tell everybody"),
        ]);
        table.row([
            Cell::text("sess_bbbbbbbbbbbbbbbbbbbbbbbbbb"),
            Cell::word("in_progress", Role::Active),
            Cell::Time(60_000),
            Cell::Size(20480),
            Cell::text("日本語の長い題名です\x1b[2J"),
        ]);
        table
    }

    fn stream(width: Option<usize>) -> Stream {
        Stream {
            tty: width.is_some(),
            width,
            ..Stream::plain()
        }
    }

    #[track_caller]
    fn check(wide: bool, width: Option<usize>, expected: &str) {
        let lines = sessions().lines(wide, &stream(width), &Times::relative_to(120_000));
        assert_eq!(lines, expected);
    }

    #[test]
    fn off_a_terminal_nothing_is_cut() {
        check(
            false,
            None,
            "\
ID                               STATUS       AGE     TITLE
sess_aaaaaaaaaaaaaaaaaaaaaaaaaa  idle         2m ago  Cancel stale pull requests and tell everybody
sess_bbbbbbbbbbbbbbbbbbbbbbbbbb  in_progress  1m ago  日本語の長い題名です␛[2J
",
        );
    }

    #[test]
    fn titles_shrink_to_the_terminal() {
        check(
            false,
            Some(80),
            "\
ID                               STATUS       AGE     TITLE
sess_aaaaaaaaaaaaaaaaaaaaaaaaaa  idle         2m ago  Cancel stale pull request…
sess_bbbbbbbbbbbbbbbbbbbbbbbbbb  in_progress  1m ago  日本語の長い題名です␛[2J
",
        );
    }

    #[test]
    fn ids_are_whole_however_narrow_the_terminal() {
        check(
            false,
            Some(20),
            "\
ID                               STATUS       AGE     TITLE
sess_aaaaaaaaaaaaaaaaaaaaaaaaaa  idle         2m ago  Cancel…
sess_bbbbbbbbbbbbbbbbbbbbbbbbbb  in_progress  1m ago  日本語…
",
        );
    }

    #[test]
    fn wide_adds_columns_and_numbers_stand_right() {
        check(
            true,
            None,
            "\
ID                               STATUS       AGE         SIZE  TITLE
sess_aaaaaaaaaaaaaaaaaaaaaaaaaa  idle         2m ago       1 B  Cancel stale pull requests and tell everybody
sess_bbbbbbbbbbbbbbbbbbbbbbbbbb  in_progress  1m ago  20.0 KiB  日本語の長い題名です␛[2J
",
        );
    }

    #[test]
    fn colours_stand_around_words_only() {
        let mut table = Table::new([Column::new("STATUS"), Column::new("N")]);
        table.row([Cell::word("idle", Role::Good), Cell::Count(1)]);
        let coloured = Stream {
            colour: true,
            ..stream(None)
        };
        let lines = table.lines(false, &coloured, &Times::relative_to(0));
        assert_eq!(
            lines,
            "\x1b[1mSTATUS\x1b[0m  \x1b[1mN\x1b[0m\n\x1b[32midle\x1b[0m    1\n"
        );
    }

    #[test]
    fn tsv_has_every_column_and_full_values() {
        assert_eq!(
            sessions().tsv(),
            "sess_aaaaaaaaaaaaaaaaaaaaaaaaaa\tidle\t1970-01-01T00:00:00.000Z\t1\tCancel stale pull requests\\nand tell everybody\n\
             sess_bbbbbbbbbbbbbbbbbbbbbbbbbb\tin_progress\t1970-01-01T00:01:00.000Z\t20480\t日本語の長い題名です\\u{1b}[2J\n"
        );
    }

    #[test]
    fn short_rows_are_filled_and_long_ones_cut() {
        let mut table = Table::new([Column::new("A"), Column::new("B")]);
        table.row([Cell::text("x")]);
        table.row([Cell::text("x"), Cell::text("y"), Cell::text("z")]);
        assert_eq!(table.tsv(), "x\t\nx\ty\n");
    }

    proptest! {
        #[test]
        fn rows_fit_when_every_column_may_shrink(rows in prop::collection::vec(("\\PC{0,40}", "\\PC{0,40}"), 1..6), width in 10usize..60) {
            let mut table = Table::new([Column::new("A").shrinks(1, 3), Column::new("B").shrinks(2, 3)]);
            for (a, b) in rows {
                table.row([Cell::text(a), Cell::text(b)]);
            }
            for glyphs in [Glyphs::Unicode, Glyphs::SevenBit] {
                let stream = Stream { glyphs, ..stream(Some(width)) };
                for line in table.lines(false, &stream, &Times::relative_to(0)).lines() {
                    prop_assert!(crate::text::cells(line) <= width, "{:?}", line);
                }
            }
        }
    }
}
