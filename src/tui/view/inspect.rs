//! One Item or Turn in full.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::page;
use super::paint::Paint;
use crate::tui::inspect::Inspect;
use crate::tui::state::State;

/// Draws it.
pub fn draw(inspect: &Inspect, state: &State, paint: &mut Paint, area: Rect) {
    let form = if inspect.as_json { "JSON" } else { "words" };
    let reader = &inspect.reader;
    let right = format!("{form}, line {} of {}", reader.line(), reader.lines());
    let body = page::draw(paint, area, &inspect.name(), &right);
    let look = state.page_look();
    let rows = reader.visible(look.width, usize::from(body.height), look.glyphs);
    paint.rows_built += rows.len();
    for (row, (_, text)) in rows.iter().enumerate() {
        let y = body.y + row as u16;
        paint.text(body.x + 1, y, look.width, text, Style::default());
    }
}
