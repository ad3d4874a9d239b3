//! Names and values, a line each, long values on as many as they take.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::paint::Paint;
use crate::text::{SafeBlock, wrap};

/// Cells of a name.
const NAME: u16 = 12;

/// Draws as many as fit; answers the first row below them.
pub fn draw(paint: &mut Paint, area: Rect, facts: &[(&str, String)]) -> u16 {
    let room = usize::from(area.width.saturating_sub(NAME + 1)).max(1);
    let mut y = area.y;
    for (name, value) in facts {
        if y >= area.bottom() {
            break;
        }
        paint.words(area.x + 1, y, usize::from(NAME), name, paint.dim());
        let block = SafeBlock::block(value);
        for line in wrap(&block.shown(paint.glyphs), room) {
            if y >= area.bottom() {
                break;
            }
            paint.text(area.x + 1 + NAME, y, room, &line, Style::default());
            y += 1;
        }
    }
    y
}
