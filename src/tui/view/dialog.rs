//! A box with words above whatever is on the screen.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::paint::Paint;
use crate::text::{Glyphs, SafeBlock, SafeText, wrap};
use crate::tui::transcript::Role;

/// Cells of the widest box.
const WIDEST: u16 = 76;
/// Cells of the names of facts.
const NAME: usize = 12;

/// The words of a box, made into lines that fit.
pub struct Dialog {
    lines: Vec<(SafeText, Role)>,
    /// From here on lines are shown even if the screen is too low for all before them.
    end: Option<usize>,
    width: u16,
    glyphs: Glyphs,
}

impl Dialog {
    /// An empty one, for a screen of this size.
    pub fn new(area: Rect, glyphs: Glyphs) -> Dialog {
        Dialog {
            lines: Vec::new(),
            end: None,
            width: area.width.min(WIDEST),
            glyphs,
        }
    }

    /// Words, on as many lines as they take.
    pub fn say(&mut self, role: Role, words: &str) {
        self.text(role, words, usize::MAX);
    }

    /// Text of any length, of which so many lines are shown at most.
    pub fn text(&mut self, role: Role, text: &str, most: usize) {
        let mut lines = self.wrapped(text, self.inner());
        if lines.len() > most {
            let more = lines.len() - most;
            lines.truncate(most);
            lines.push(SafeText::line(&format!("[{more} more lines]")));
        }
        if lines.is_empty() {
            lines.push(SafeText::default());
        }
        self.lines
            .extend(lines.into_iter().map(|line| (line, role)));
    }

    /// A name and what it is; never cut.
    pub fn fact(&mut self, name: &str, value: &str) {
        let room = self.inner().saturating_sub(NAME);
        let mut name = name;
        let mut lines = self.wrapped(value, room);
        if lines.is_empty() {
            lines.push(SafeText::default());
        }
        for line in lines {
            let line = SafeText::line(&format!("{name:<NAME$}{line}"));
            self.lines.push((line, Role::Text));
            name = "";
        }
    }

    /// What follows is shown in any case: how the question is answered.
    pub fn answers(&mut self) {
        self.say(Role::Text, "");
        self.end = Some(self.lines.len() - 1);
    }

    fn inner(&self) -> usize {
        usize::from(self.width.saturating_sub(4)).max(1)
    }

    fn wrapped(&self, text: &str, width: usize) -> Vec<SafeText> {
        let block = SafeBlock::block(text);
        wrap(&block.shown(self.glyphs), width)
    }

    /// Draws it in the middle of the screen, as much of it as fits, with `room` empty rows at its end. Answers where those are.
    pub fn draw(&self, paint: &mut Paint, area: Rect, room: u16) -> Rect {
        let height = (self.lines.len() as u16 + room + 2).min(area.height);
        let place = Rect {
            x: area.x + (area.width - self.width) / 2,
            y: area.y + (area.height - height) / 2,
            width: self.width,
            height,
        };
        let inside = paint.boxed(place);
        let shown = inside.height.saturating_sub(room);
        let rows = usize::from(shown).min(self.lines.len());
        let (head, end) = self.lines.split_at(self.end.unwrap_or(self.lines.len()));
        let end = &end[..end.len().min(rows)];
        let head = &head[..head.len().min(rows - end.len())];
        for (row, (line, role)) in head.iter().chain(end).enumerate() {
            let style = match role {
                Role::Text => Style::default(),
                role => paint.role(*role),
            };
            let y = inside.y + row as u16;
            paint.text(inside.x, y, usize::from(inside.width), line, style);
        }
        Rect {
            y: inside.y + shown,
            height: inside.height - shown,
            ..inside
        }
    }
}
