//! Colours and marks. Text reaches the screen only as `SafeText`; everything else that is drawn is a literal of ours.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};

use crate::text::{Glyphs, SafeText, cells, clusters, truncate};
use crate::tui::composer::Tone;
use crate::tui::field::Field;
use crate::tui::picture::Picture;
use crate::tui::transcript::{Role, tone_role};

/// Draws into one frame.
pub struct Paint<'a> {
    /// The cells.
    pub buffer: &'a mut Buffer,
    /// Colours may be used.
    pub colour: bool,
    /// Characters that may leave.
    pub glyphs: Glyphs,
    /// Rows of lists and transcripts that were made for this frame.
    pub rows_built: usize,
    /// A place that the terminal is to fill with pixels.
    pub placed: Option<Placed>,
}

/// An image, and the cells that it takes.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Of which Artifact.
    pub of: String,
    /// Where.
    pub area: Rect,
    /// The image.
    pub picture: Picture,
}

impl Placed {
    /// Whether this is the same image in the same place.
    pub fn is(&self, other: &Placed) -> bool {
        self.of == other.of && self.area == other.area
    }
}

impl Paint<'_> {
    /// Text at a place, cut to a width in cells. Answers the cells that it took.
    pub fn text(&mut self, x: u16, y: u16, width: usize, text: &SafeText, style: Style) -> usize {
        if width == 0 || y >= self.buffer.area.bottom() || x >= self.buffer.area.right() {
            return 0;
        }
        let shown = truncate(&text.shown(self.glyphs), width, self.glyphs);
        self.buffer.set_stringn(x, y, shown.as_str(), width, style);
        shown.cells()
    }

    /// The same with words of ours or of anybody, made safe here.
    pub fn words(&mut self, x: u16, y: u16, width: usize, words: &str, style: Style) -> usize {
        self.text(x, y, width, &SafeText::line(words), style)
    }

    /// A field of one line behind its label; what is before the cursor is seen in any case. Answers where the cursor is.
    pub fn field(&mut self, area: Rect, y: u16, label: &str, field: &Field) -> Position {
        let (before, behind) = field.around_cursor();
        self.words(area.x + 1, y, label.len(), label, self.bold());
        let x = area.x + 1 + label.len() as u16;
        let room = usize::from(area.width).saturating_sub(label.len() + 3);
        let shown: String = clusters(before)
            .scan(cells(before), |left, (cluster, wide)| {
                let keep = *left < room;
                *left -= wide;
                Some(if keep { cluster } else { "" })
            })
            .collect();
        let used = self.words(x, y, room, &shown, Style::default());
        let rest = x + used as u16;
        self.words(rest, y, room - used.min(room), behind, Style::default());
        Position::new(rest, y)
    }

    /// A line across.
    pub fn rule(&mut self, area: Rect, y: u16) {
        let mark = match self.glyphs {
            Glyphs::Unicode => "─",
            Glyphs::Ascii | Glyphs::SevenBit => "-",
        };
        let line = mark.repeat(usize::from(area.width));
        self.buffer.set_string(area.x, y, line, self.dim());
    }

    /// A box; what is inside is emptied. Answers the inside.
    pub fn boxed(&mut self, area: Rect) -> Rect {
        let (across, down, corners) = match self.glyphs {
            Glyphs::Unicode => ("─", "│", ["┌", "┐", "└", "┘"]),
            Glyphs::Ascii | Glyphs::SevenBit => ("-", "|", ["+", "+", "+", "+"]),
        };
        let inner = usize::from(area.width.saturating_sub(2));
        let style = Style::default();
        for row in 0..area.height {
            let (left, fill, right) = match row {
                0 => (corners[0], across, corners[1]),
                row if row + 1 == area.height => (corners[2], across, corners[3]),
                _ => (down, " ", down),
            };
            // Half of a wide character can't stay beside the box.
            let beside = area.x.checked_sub(1).map(|x| (x, area.y + row));
            if let Some(cell) = beside.and_then(|at| self.buffer.cell_mut(at))
                && cells(cell.symbol()) > 1
            {
                cell.set_symbol(" ");
            }
            let line = format!("{left}{}{right}", fill.repeat(inner));
            self.buffer.set_string(area.x, area.y + row, line, style);
        }
        Rect {
            x: area.x + 2,
            y: area.y + 1,
            width: area.width.saturating_sub(4),
            height: area.height.saturating_sub(2),
        }
    }

    /// What is beside the point.
    pub fn dim(&self) -> Style {
        Style::default().add_modifier(Modifier::DIM)
    }

    /// What names a thing.
    pub fn bold(&self) -> Style {
        Style::default().add_modifier(Modifier::BOLD)
    }

    /// What is selected.
    pub fn selected(&self) -> Style {
        Style::default().add_modifier(Modifier::REVERSED)
    }

    /// A role's style. Colour only repeats what a word says.
    pub fn role(&self, role: Role) -> Style {
        let colour = match role {
            Role::Text => return Style::default(),
            Role::Dim => return self.dim(),
            Role::Agent => Color::Blue,
            Role::User => Color::Cyan,
            Role::Good => Color::Green,
            Role::Warn => Color::Yellow,
            Role::Bad => Color::Red,
        };
        match self.colour {
            true => Style::default().fg(colour),
            false => Style::default(),
        }
    }

    /// A tone's style.
    pub fn tone(&self, tone: Tone) -> Style {
        self.role(tone_role(tone))
    }
}
