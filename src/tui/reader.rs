//! Text of any length in which a person scrolls. Pure; only what is seen is wrapped.

use super::action::Action;
use crate::text::{Glyphs, SafeBlock, SafeText, wrap};

/// A longer line is taken apart, so that wrapping one never takes long.
const LINE_BYTES: usize = 4 << 10;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    text: String,
    /// Where lines begin, and where the last ends.
    starts: Vec<usize>,
    /// The line at the top, and which of the rows that it takes.
    at: (usize, usize),
}

impl Reader {
    /// A text, from its start.
    pub fn new(text: String) -> Reader {
        let mut starts = vec![0];
        let mut from = 0;
        for line in text.split_inclusive('\n') {
            let end = from + line.len();
            while end - from > LINE_BYTES {
                from = text.floor_char_boundary(from + LINE_BYTES);
                starts.push(from);
            }
            from = end;
            starts.push(end);
        }
        Reader {
            text,
            starts,
            at: (0, 0),
        }
    }

    /// Another text in the same place, as when a thing that is read grows.
    pub fn renew(&mut self, text: String) {
        if text == self.text {
            return;
        }
        let at = self.at;
        *self = Reader::new(text);
        self.at = (at.0.min(self.lines().saturating_sub(1)), 0);
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Lines of the text.
    pub fn lines(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// One line, without its end.
    pub fn line_text(&self, line: usize) -> &str {
        match (self.starts.get(line), self.starts.get(line + 1)) {
            (Some(from), Some(to)) => self.text[*from..*to].trim_end_matches(['\n', '\r']),
            _ => "",
        }
    }

    /// The number of the line at the top, from 1.
    pub fn line(&self) -> usize {
        (self.at.0 + 1).min(self.lines().max(1))
    }

    fn rows_of(&self, line: usize, width: usize, glyphs: Glyphs) -> Vec<SafeText> {
        let block = SafeBlock::block(self.line_text(line));
        let mut rows = wrap(&block.shown(glyphs), width.max(1));
        if rows.is_empty() {
            rows.push(SafeText::default());
        }
        rows
    }

    /// Scrolls, in a place of this many cells and rows.
    pub fn act(&mut self, action: Action, width: usize, height: usize, glyphs: Glyphs) {
        let screen = height.saturating_sub(1).max(1);
        match action {
            Action::Up => self.up(1, width, glyphs),
            Action::PageUp => self.up(screen, width, glyphs),
            Action::Down => self.down(1, width, height, glyphs),
            Action::PageDown => self.down(screen, width, height, glyphs),
            Action::First => self.at = (0, 0),
            Action::Last => self.at = self.last_top(width, height, glyphs),
            _ => {}
        }
    }

    fn up(&mut self, rows: usize, width: usize, glyphs: Glyphs) {
        for _ in 0..rows {
            self.at = match self.at {
                (0, 0) => return,
                (line, 0) => {
                    let rows = self.rows_of(line - 1, width, glyphs).len();
                    (line - 1, rows.saturating_sub(1))
                }
                (line, row) => (line, row - 1),
            };
        }
    }

    fn down(&mut self, rows: usize, width: usize, height: usize, glyphs: Glyphs) {
        let last = self.last_top(width, height, glyphs);
        for _ in 0..rows {
            if self.at >= last {
                break;
            }
            let (line, row) = self.at;
            self.at = match row + 1 < self.rows_of(line, width, glyphs).len() {
                true => (line, row + 1),
                false => (line + 1, 0),
            };
        }
        self.at = self.at.min(last);
    }

    /// Where the top is when the last row is at the bottom.
    fn last_top(&self, width: usize, height: usize, glyphs: Glyphs) -> (usize, usize) {
        let mut left = height.max(1);
        for line in (0..self.lines()).rev() {
            let rows = self.rows_of(line, width, glyphs).len();
            if rows >= left {
                return (line, rows - left);
            }
            left -= rows;
        }
        (0, 0)
    }

    /// The rows on a place of this size, with the numbers of their lines, from 0.
    pub fn visible(&self, width: usize, height: usize, glyphs: Glyphs) -> Vec<(usize, SafeText)> {
        let mut shown = Vec::new();
        for line in self.at.0..self.lines() {
            let skip = if line == self.at.0 { self.at.1 } else { 0 };
            let rows = self.rows_of(line, width, glyphs).into_iter().skip(skip);
            shown.extend(rows.map(|row| (line, row)));
            if shown.len() >= height {
                break;
            }
        }
        shown.truncate(height);
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(reader: &Reader, width: usize, height: usize) -> Vec<String> {
        let rows = reader.visible(width, height, Glyphs::Unicode);
        rows.iter().map(|(_, row)| row.to_string()).collect()
    }

    #[test]
    fn the_end_stays_at_the_bottom_and_the_start_at_the_top() {
        let mut reader = Reader::new("one two\nthree\n\nfour".into());
        let mut act = |action| {
            reader.act(action, 4, 3, Glyphs::Unicode);
            texts(&reader, 4, 3)
        };
        assert_eq!(act(Action::Up), ["one", "two", "thre"]);
        assert_eq!(act(Action::Down), ["two", "thre", "e"]);
        assert_eq!(act(Action::PageDown), ["e", "", "four"]);
        assert_eq!(act(Action::Down), ["e", "", "four"]);
        assert_eq!(act(Action::First), ["one", "two", "thre"]);
        assert_eq!(act(Action::Last), ["e", "", "four"]);
    }

    #[test]
    fn a_line_without_end_is_taken_apart_and_nothing_of_it_is_lost() {
        let long = "é".repeat(3 * LINE_BYTES);
        let reader = Reader::new(long.clone());
        assert!(reader.lines() > 4);
        let all = texts(&reader, 10, usize::MAX).concat();
        assert_eq!(all, long);
    }

    #[test]
    fn an_empty_text_has_nothing_to_scroll() {
        let mut reader = Reader::default();
        reader.act(Action::Last, 10, 3, Glyphs::Unicode);
        assert!(texts(&reader, 10, 3).is_empty());
    }
}
