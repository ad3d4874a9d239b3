//! Text of several lines that is being typed, with the cursor in sight.

use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::paint::Paint;
use crate::text::{Glyphs, SafeBlock, SafeText, wrap};
use crate::tui::field::Field;

/// Draws as much of it as fits around the cursor; answers where that is.
pub fn draw(field: &Field, paint: &mut Paint, area: Rect) -> Position {
    let (room, height) = (usize::from(area.width).max(1), usize::from(area.height));
    let glyphs = paint.glyphs;
    let (before, behind) = field.around_cursor();
    let mut lines = wrapped(before, room, glyphs);
    let (mut row, mut column) = (lines.len() - 1, lines.last().map_or(0, SafeText::cells));
    if column >= room {
        (row, column) = (row + 1, 0);
        lines.push(SafeText::default());
    }
    // What follows the cursor in its line stands behind it; the lines below are wrapped for themselves.
    let (rest, below) = behind.split_once('\n').unwrap_or((behind, ""));
    let top = (row + 1).saturating_sub(height);
    for (at, line) in lines.iter().enumerate().skip(top).take(height) {
        let y = area.y + (at - top) as u16;
        paint.text(area.x, y, room, line, Style::default());
    }
    let cursor = Position::new(area.x + column as u16, area.y + (row - top) as u16);
    paint.words(cursor.x, cursor.y, room - column, rest, Style::default());
    let free = height.saturating_sub(row - top + 1);
    for (at, line) in wrapped(below, room, glyphs).iter().take(free).enumerate() {
        let y = cursor.y + 1 + at as u16;
        paint.text(area.x, y, room, line, Style::default());
    }
    cursor
}

/// Lines as the field shows them; at least one, and one more behind a line end.
fn wrapped(text: &str, width: usize, glyphs: Glyphs) -> Vec<SafeText> {
    // The last lines are what is seen; a long text is not wrapped whole for them.
    const SEEN_BYTES: usize = 16 << 10;
    let from = text.ceil_char_boundary(text.len().saturating_sub(SEEN_BYTES));
    let mut lines = Vec::new();
    for line in text[from..].split('\n') {
        let block = SafeBlock::block(line);
        let mut of_line = wrap(&block.shown(glyphs), width);
        if of_line.is_empty() {
            of_line.push(SafeText::default());
        }
        // Blanks at the end of what is typed are seen, because the cursor is behind them.
        let blanks = line.len() - line.trim_end_matches(' ').len();
        if let Some(last) = of_line.last_mut()
            && !last.as_str().ends_with(' ')
            && blanks > 0
        {
            *last = SafeText::line(&format!("{last}{}", " ".repeat(blanks)));
        }
        lines.append(&mut of_line);
    }
    lines
}
