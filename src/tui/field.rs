//! A field in which text is typed: the text as it will be sent, and a cursor between its characters as a person counts them.

use crate::text::clusters;

use super::action::Action;

/// Bytes of a message at most, as for every other way to send one.
pub const TEXT_MAX_BYTES: usize = 1 << 20;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    text: String,
    /// Byte offset, always at the edge of a cluster.
    cursor: usize,
}

impl Field {
    /// A field with this text, the cursor behind it.
    pub fn new(text: impl Into<String>) -> Field {
        let text = text.into();
        Field {
            cursor: text.len(),
            text,
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text before and behind the cursor.
    pub fn around_cursor(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// The same with a mark for each character, the cursor between the same two.
    pub fn masked(&self) -> Field {
        let (before, behind) = self.around_cursor();
        let mark = |text| "*".repeat(clusters(text).count());
        let (before, behind) = (mark(before), mark(behind));
        Field {
            cursor: before.len(),
            text: before + &behind,
        }
    }

    /// Text at the cursor; line ends of any kind become `\n`. `false`: it would have been too long, and nothing was put in.
    pub fn insert(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if self.text.len() + text.len() > TEXT_MAX_BYTES {
            return false;
        }
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        true
    }

    /// Edits, if the action is one that edits. `false`: it is not.
    pub fn edit(&mut self, action: Action) -> bool {
        let (before, behind) = self.around_cursor();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.cursor + behind.find('\n').unwrap_or(behind.len());
        let back = clusters(before).last().map_or(0, |(c, _)| c.len());
        let on = clusters(behind).next().map_or(0, |(c, _)| c.len());
        match action {
            Action::Left => self.cursor -= back,
            Action::Right => self.cursor += on,
            Action::LineStart => self.cursor = line_start,
            Action::LineEnd => self.cursor = line_end,
            Action::Backspace => self.remove(self.cursor - back, self.cursor),
            Action::Delete => self.remove(self.cursor, self.cursor + on),
            Action::DeleteToStart => self.remove(line_start, self.cursor),
            Action::DeleteToEnd => self.remove(self.cursor, line_end),
            Action::DeleteWord => {
                let word = before.trim_end();
                let from = word.rfind(char::is_whitespace).map_or(0, |at| {
                    at + word[at..].chars().next().map_or(0, char::len_utf8)
                });
                self.remove(from, self.cursor);
            }
            Action::Newline => return self.insert("\n"),
            Action::Up if line_start > 0 => self.enter_line(line_start - 1),
            Action::Down if line_end < self.text.len() => self.enter_line(line_end + 1),
            Action::Up | Action::Down => {}
            _ => return false,
        }
        true
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    /// The cursor into the line that holds this byte, at the column where it was.
    fn enter_line(&mut self, at: usize) {
        let column = {
            let (before, _) = self.around_cursor();
            let line = before.rsplit('\n').next().unwrap_or_default();
            clusters(line).count()
        };
        let start = self.text[..at].rfind('\n').map_or(0, |n| n + 1);
        let line = self.text[start..].split('\n').next().unwrap_or_default();
        let bytes: usize = clusters(line).take(column).map(|(c, _)| c.len()).sum();
        self.cursor = start + bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_moves_by_what_a_person_calls_a_character() {
        let mut field = Field::new("a👩‍👩‍👧e\u{301}");
        field.edit(Action::Left);
        assert_eq!(field.around_cursor(), ("a👩‍👩‍👧", "e\u{301}"));
        field.edit(Action::Backspace);
        assert_eq!(field.text(), "ae\u{301}");
    }

    #[test]
    fn lines_are_kept_whatever_ends_them_and_the_cursor_finds_its_column() {
        let mut field = Field::default();
        assert!(field.insert("first\r\nse\rthird"));
        assert_eq!(field.text(), "first\nse\nthird");
        field.edit(Action::Up);
        assert_eq!(field.around_cursor().0, "first\nse");
        field.edit(Action::Up);
        assert_eq!(field.around_cursor().0, "fi");
        field.edit(Action::DeleteToEnd);
        field.edit(Action::Down);
        field.edit(Action::DeleteToStart);
        assert_eq!(field.text(), "fi\n\nthird");
    }

    #[test]
    fn a_word_goes_with_what_follows_it() {
        let mut field = Field::new("one two  ");
        field.edit(Action::DeleteWord);
        assert_eq!(field.text(), "one ");
        field.edit(Action::DeleteWord);
        field.edit(Action::DeleteWord);
        assert_eq!(field.text(), "");
    }

    #[test]
    fn what_is_too_long_is_not_taken_in_part() {
        let mut field = Field::new("x");
        assert!(!field.insert(&"y".repeat(TEXT_MAX_BYTES)));
        assert_eq!(field.text(), "x");
    }
}
