//! What is written to a terminal, sparingly: a frame is one piece that the terminal shows at once, and the cursor is not sent over a few cells
//! that can be written again instead.

use std::io::{self, Write};

use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

/// Cells that are written again rather than passed over: an order to pass over them has as many bytes.
const BRIDGE: u16 = 8;

/// See the module.
pub struct Thrifty<W: Write> {
    inner: CrosstermBackend<W>,
    /// What the terminal shows, row by row, as far as anything was written.
    shown: Vec<Vec<Cell>>,
    /// A frame is being written.
    within: bool,
}

impl<W: Write> Thrifty<W> {
    /// A terminal behind `writer` that shows nothing yet.
    pub fn new(writer: W) -> Thrifty<W> {
        Thrifty {
            inner: CrosstermBackend::new(writer),
            shown: Vec::new(),
            within: false,
        }
    }

    /// From here on the terminal waits with what it shows.
    fn begin(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.within, true) {
            true => Ok(()),
            false => queue!(self.inner, BeginSynchronizedUpdate),
        }
    }

    fn put(&mut self, x: u16, y: u16, cell: &Cell) {
        let (x, y) = (usize::from(x), usize::from(y));
        if self.shown.len() <= y {
            self.shown.resize(y + 1, Vec::new());
        }
        let row = &mut self.shown[y];
        if row.len() <= x {
            row.resize(x + 1, Cell::default());
        }
        row[x] = cell.clone();
    }

    /// Whether what lies between two cells of a row is few plain cells that look as the first.
    fn is_bridged(&self, from: (u16, u16), to: (u16, u16)) -> bool {
        let near = from.1 == to.1 && from.0 < to.0 && to.0 - from.0 <= BRIDGE;
        let row = self.shown.get(usize::from(from.1));
        let between = row.and_then(|row| row.get(usize::from(from.0)..usize::from(to.0)));
        // Terminals agree on how wide these are; behind all others the cursor is sent to its place.
        let is_plain = |cell: &Cell| cell.symbol().len() == 1 && cell.symbol().is_ascii();
        near && between.is_some_and(|between| {
            between.iter().all(|cell| {
                is_plain(cell)
                    && (cell.fg, cell.bg, cell.modifier)
                        == (between[0].fg, between[0].bg, between[0].modifier)
            })
        })
    }
}

impl<W: Write> Backend for Thrifty<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut changed = Vec::new();
        for (x, y, cell) in content {
            self.put(x, y, cell);
            changed.push((x, y));
        }
        let Some(first) = changed.first().copied() else {
            return Ok(());
        };
        self.begin()?;
        let mut written = vec![first];
        for pair in changed.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if self.is_bridged(from, to) {
                written.extend((from.0 + 1..to.0).map(|x| (x, to.1)));
            }
            written.push(to);
        }
        let shown = &self.shown;
        let cell = |(x, y): (u16, u16)| (x, y, &shown[usize::from(y)][usize::from(x)]);
        self.inner.draw(written.into_iter().map(cell))
    }

    fn append_lines(&mut self, n: u16) -> io::Result<()> {
        self.inner.append_lines(n)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        // What is erased is not followed in detail: it is written anew, or never bridged.
        self.shown.clear();
        self.begin()?;
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.within) {
            queue!(self.inner, EndSynchronizedUpdate)?;
        }
        Backend::flush(&mut self.inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use ratatui::layout::Rect;
    use ratatui::style::Style;
    use ratatui::{Terminal, TerminalOptions, Viewport};

    use super::*;

    /// What was written, shared with the terminal that writes it.
    #[derive(Clone, Default)]
    struct Written(Rc<RefCell<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What a row looks like after some frames, and the bytes of the last.
    fn frames(frames: &[&str]) -> (String, String) {
        let written = Written::default();
        let mut parser = vt100::Parser::default();
        let options = TerminalOptions {
            viewport: Viewport::Fixed(Rect::new(0, 0, 60, 2)),
        };
        let thrifty = Thrifty::new(written.clone());
        let mut terminal = Terminal::with_options(thrifty, options).expect("in memory");
        let mut last = Vec::new();
        for words in frames {
            let draw = |frame: &mut ratatui::Frame| {
                let buffer = frame.buffer_mut();
                buffer.set_string(0, 0, words, Style::default());
            };
            terminal.draw(draw).expect("in memory");
            last = written.0.take();
            parser.process(&last);
        }
        let row = parser.screen().rows(0, 60).next().unwrap_or_default();
        (row, String::from_utf8_lossy(&last).into_owned())
    }

    #[test]
    fn a_frame_is_shown_at_once_and_one_without_a_change_is_none() {
        let (_, last) = frames(&["abc", "abd"]);
        assert!(last.starts_with("\x1b[?2026h"), "{last:?}");
        assert!(last.ends_with("\x1b[?2026l"), "{last:?}");
        let (_, last) = frames(&["abc", "abc"]);
        assert!(!last.contains("2026"), "{last:?}");
    }

    #[test]
    fn few_cells_between_two_that_changed_are_written_again() {
        let (row, last) = frames(&["one two three", "ome two_three"]);
        assert_eq!(row.trim_end(), "ome two_three");
        assert!(last.contains("me two_"), "{last:?}");
        let far = ["a..................b", "c..................d"];
        let (row, last) = frames(&far);
        assert_eq!(row.trim_end(), far[1]);
        assert!(!last.contains(".."), "{last:?}");
    }

    #[test]
    fn wide_characters_are_passed_over() {
        for (before, after) in [
            ("a界b界c", "x界b界y"),
            ("界界界界", "界ab界界"),
            ("ab界界c", "界界abc"),
            ("aéc e\u{301}d", "bét e\u{301}f"),
        ] {
            assert_eq!(frames(&[before, after]).0.trim_end(), after);
            assert_eq!(frames(&[after, before]).0.trim_end(), before);
        }
    }
}
