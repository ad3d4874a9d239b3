//! A window: some rows of a list of any length, in the order of its cursors. Pure arithmetic; whoever asks for rows and draws them is
//! elsewhere.
//!
//! Rows are known by their ids, never by an offset, so rows that come and go elsewhere shift nothing. Surprising: the ends have cursors of
//! their own beside the rows, because what was searched without a match is behind the last row that is shown.

use crate::api::HasId;

/// Rows that are kept at most for a screen of this height; the far end is let go.
///
/// Rows are asked for when fewer than three screens are left at an end, a hundred at a time. More than twice both are kept, so that what was
/// read for one end is never let go for the other.
pub fn kept_rows(height: usize) -> usize {
    (8 * height + 200).max(400)
}

/// Which rows are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// From the list's start.
    Start,
    /// Up to the list's end.
    End,
    /// Behind this id.
    After(String),
    /// Before this id.
    Before(String),
}

/// Rows that were read.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk<T> {
    /// Where.
    pub at: Where,
    /// In the order of the list.
    pub rows: Vec<T>,
    /// Whether there are more in the direction that was read.
    pub more: bool,
    /// From where that would go on.
    pub cursor: Option<String>,
    /// Rows that were looked at, with those that did not match.
    pub scanned: usize,
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Window<T> {
    rows: Vec<T>,
    start: Edge,
    end: Edge,
}

/// One end of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Edge {
    more: bool,
    cursor: Option<String>,
}

impl<T> Default for Window<T> {
    fn default() -> Self {
        Window {
            rows: Vec::new(),
            start: Edge::default(),
            end: Edge::default(),
        }
    }
}

impl<T: HasId + Clone + PartialEq> Window<T> {
    /// The rows it has.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// Where the rows before it are, if there are any.
    pub fn before(&self) -> Option<Where> {
        let cursor = self.start.cursor.clone().filter(|_| self.start.more)?;
        Some(Where::Before(cursor))
    }

    /// Where the rows behind it are, if there are any.
    pub fn behind(&self) -> Option<Where> {
        let cursor = self.end.cursor.clone().filter(|_| self.end.more)?;
        Some(Where::After(cursor))
    }

    /// Its place of the row with this id.
    pub fn place_of(&self, id: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.id() == Some(id))
    }

    /// The last id at or before a place.
    pub fn id_up_to(&self, place: usize) -> Option<&str> {
        let end = self.rows.len().min(place + 1);
        self.rows[..end].iter().rev().find_map(HasId::id)
    }

    /// Takes rows in. Answers by how many places the rows that stay moved. A chunk that does not touch the window is let go.
    pub fn take(&mut self, chunk: Chunk<T>) -> isize {
        match chunk.at.clone() {
            Where::Start if !self.start.more => self.take_from(0, chunk),
            Where::Start | Where::End => {
                self.replace(chunk);
                0
            }
            Where::After(id) => {
                let from = match self.place_of(&id) {
                    Some(place) => place + 1,
                    None if self.end.cursor.as_ref() == Some(&id) => self.rows.len(),
                    None => return 0,
                };
                self.take_from(from, chunk)
            }
            Where::Before(id) => {
                let known = self.place_of(&id);
                if known.is_none() && self.start.cursor.as_ref() != Some(&id) {
                    return 0;
                }
                let old = known.unwrap_or(0);
                let new = chunk.rows.len();
                self.rows.splice(..old, chunk.rows);
                self.start = Edge {
                    more: chunk.more,
                    cursor: chunk.cursor,
                };
                new as isize - old as isize
            }
        }
    }

    fn replace(&mut self, chunk: Chunk<T>) {
        let first = chunk.rows.iter().find_map(HasId::id).map(str::to_owned);
        let last = chunk
            .rows
            .iter()
            .rev()
            .find_map(HasId::id)
            .map(str::to_owned);
        let known = Edge {
            more: chunk.more,
            cursor: chunk.cursor,
        };
        let other = |cursor| Edge {
            more: false,
            cursor,
        };
        (self.start, self.end) = match chunk.at {
            Where::Start => (other(first), known),
            _ => (known, other(last)),
        };
        self.rows = chunk.rows;
    }

    /// Shows the rows of a chunk that was read behind or before rows, wherever that was, and nothing else.
    pub fn show(&mut self, chunk: Chunk<T>) {
        let ids = || chunk.rows.iter().filter_map(HasId::id);
        let came = |id: Option<&str>| Edge {
            more: true,
            cursor: id.map(str::to_owned),
        };
        let (first, last) = (came(ids().next()), came(ids().next_back()));
        let known = Edge {
            more: chunk.more,
            cursor: chunk.cursor,
        };
        (self.start, self.end) = match chunk.at {
            Where::Before(_) | Where::End => (known, last),
            Where::After(_) | Where::Start => (first, known),
        };
        self.rows = chunk.rows;
    }

    /// Rows of the chunk stand for those from `from` on, as far as the chunk reaches.
    fn take_from(&mut self, from: usize, chunk: Chunk<T>) -> isize {
        let before = self.rows.len();
        let last = chunk.rows.iter().rev().find_map(HasId::id);
        let reaches = last
            .and_then(|id| self.place_of(id))
            .filter(|place| *place >= from && chunk.more)
            .map_or(before, |place| place + 1);
        // What is inserted at the very front moves all others.
        let first_kept = self.rows.first().and_then(HasId::id).map(str::to_owned);
        if reaches == before {
            self.end = Edge {
                more: chunk.more,
                cursor: chunk.cursor,
            };
        }
        self.rows.splice(from..reaches, chunk.rows);
        if from == 0 {
            self.start.cursor = self.id_up_to(0).map(str::to_owned);
            let moved = first_kept.and_then(|id| self.place_of(&id));
            return moved.unwrap_or(0) as isize;
        }
        0
    }

    /// Replaces rows that have the ids of these, and puts those in front that come before all known ones.
    pub fn renew(&mut self, fresh: Vec<T>) -> isize {
        let mut ahead = Vec::new();
        let mut met = false;
        for row in fresh {
            match row.id().and_then(|id| self.place_of(id)) {
                Some(place) => {
                    met = true;
                    self.rows[place] = row;
                }
                None if !met && !self.start.more => ahead.push(row),
                None => {}
            }
        }
        let moved = ahead.len() as isize;
        if met || self.rows.is_empty() {
            self.rows.splice(..0, ahead);
            return moved;
        }
        0
    }

    /// Lets rows go that are far from `focus`, on a screen of this height. Answers by how many places the others moved.
    pub fn trim(&mut self, focus: usize, height: usize) -> isize {
        let kept = kept_rows(height);
        let surplus = self.rows.len().saturating_sub(kept);
        if surplus == 0 {
            return 0;
        }
        if focus >= self.rows.len() / 2 {
            self.rows.drain(..surplus);
            self.start = Edge {
                more: true,
                cursor: self.rows.iter().find_map(HasId::id).map(str::to_owned),
            };
            return -(surplus as isize);
        }
        self.rows.truncate(kept);
        self.end = Edge {
            more: true,
            cursor: self
                .rows
                .iter()
                .rev()
                .find_map(HasId::id)
                .map(str::to_owned),
        };
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Row(String, u8);

    impl HasId for Row {
        fn id(&self) -> Option<&str> {
            Some(&self.0)
        }
    }

    fn rows(of: std::ops::Range<usize>) -> Vec<Row> {
        of.map(|n| Row(format!("{n:04}"), 0)).collect()
    }

    fn chunk(at: Where, of: std::ops::Range<usize>, more: bool) -> Chunk<Row> {
        let rows = rows(of);
        let cursor = match at {
            Where::Start | Where::After(_) => rows.last().map(|row| row.0.clone()),
            Where::End | Where::Before(_) => rows.first().map(|row| row.0.clone()),
        };
        Chunk {
            at,
            scanned: rows.len(),
            rows,
            more,
            cursor,
        }
    }

    #[test]
    fn pages_in_both_directions_show_every_row_once_and_the_far_end_is_let_go() {
        let mut window = Window::default();
        window.take(chunk(Where::Start, 0..100, true));
        for page in 1..10 {
            let at = window.behind().expect("more");
            assert_eq!(at, Where::After(format!("{:04}", page * 100 - 1)));
            window.take(chunk(at, page * 100..page * 100 + 100, page < 9));
            window.trim(window.rows().len() - 1, 0);
        }
        assert_eq!(window.rows(), rows(600..1000));
        assert_eq!(window.behind(), None);
        for page in (0..6).rev() {
            let at = window.before().expect("more");
            let moved = window.take(chunk(at, page * 100..page * 100 + 100, page > 0));
            assert_eq!(moved, 100);
            window.trim(0, 0);
        }
        assert_eq!(window.rows(), rows(0..400));
        assert_eq!(window.before(), None);
        assert_eq!(window.behind(), Some(Where::After("0399".into())));
    }

    #[test]
    fn rows_that_came_are_in_front_and_rows_that_went_are_gone() {
        let mut window = Window::default();
        window.take(chunk(Where::Start, 10..30, true));
        let moved = window.take(chunk(Where::Start, 8..28, true));
        assert_eq!(moved, 2);
        assert_eq!(window.rows(), rows(8..30));
        let mut gone = chunk(Where::After("0010".into()), 12..20, true);
        gone.rows[0].1 = 7;
        assert_eq!(window.take(gone), 0);
        assert_eq!(window.place_of("0011"), None);
        assert_eq!(window.rows()[3], Row("0012".into(), 7));
        assert_eq!(window.rows().last(), Some(&Row("0029".into(), 0)));
    }

    #[test]
    fn a_chunk_for_another_place_changes_nothing() {
        let mut window = Window::default();
        window.take(chunk(Where::Start, 0..10, true));
        let same = window.clone();
        assert_eq!(
            window.take(chunk(Where::After("0500".into()), 501..510, true)),
            0
        );
        assert_eq!(window, same);
    }
}
