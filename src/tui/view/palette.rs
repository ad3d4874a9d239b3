//! The command palette.

use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::paint::Paint;
use super::typed;
use crate::tui::palette::Palette;

/// Cells of the widest one.
const WIDEST: u16 = 110;
/// Entries at most.
const ENTRIES: usize = 14;

/// Draws it; answers where the cursor is.
pub fn draw(palette: &Palette, paint: &mut Paint, area: Rect) -> Option<Position> {
    let entries = palette.fitting();
    let width = area.width.min(WIDEST);
    let room = usize::from(area.height.saturating_sub(4)).min(ENTRIES);
    let height = (room as u16 + 4).min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 3,
        width,
        height,
    };
    let inside = paint.boxed(place);
    let cells = usize::from(inside.width);
    let count = format!("{} of {}", entries.len(), palette.count());
    let right = inside.right().saturating_sub(count.len() as u16);
    paint.words(right, inside.y, count.len(), &count, paint.dim());
    paint.words(inside.x, inside.y, 2, ": ", paint.bold());
    let field = Rect {
        x: inside.x + 2,
        width: inside.width.saturating_sub(4 + count.len() as u16),
        height: 1,
        ..inside
    };
    let top = (palette.selected + 1).saturating_sub(room);
    let command = if cells >= 90 { 44 } else { 0 };
    let words = cells.saturating_sub(2 + 9 + command);
    for (line, (at, entry)) in entries.iter().enumerate().skip(top).take(room).enumerate() {
        let y = inside.y + 2 + line as u16;
        let selected = at == palette.selected;
        let (mark, style, dim) = match selected {
            true => (">", paint.selected(), paint.selected()),
            false => (" ", Style::default(), paint.dim()),
        };
        if selected {
            let blank = " ".repeat(cells);
            paint.buffer.set_string(inside.x, y, blank, style);
        }
        paint.words(inside.x, y, 1, mark, style);
        paint.words(
            inside.x + 2,
            y,
            words.saturating_sub(1),
            &entry.words,
            style,
        );
        let x = inside.x + 2 + words as u16;
        paint.words(x, y, 8, &entry.key, dim);
        let text = entry.command.as_deref().unwrap_or_default();
        paint.words(x + 9, y, command, text, dim);
        paint.rows_built += 1;
    }
    if entries.is_empty() {
        paint.words(
            inside.x + 2,
            inside.y + 2,
            cells - 2,
            "nothing fits",
            paint.dim(),
        );
    }
    Some(typed::draw(&palette.field, paint, field))
}
