//! The message that is being written, or the draft of one.

use ratatui::layout::{Position, Rect};

use super::paint::Paint;
use super::typed;
use crate::tui::session::Open;
use crate::tui::state::State;

/// Draws it above the footer; answers where the cursor is while it is written.
pub fn draw(state: &State, open: &Open, paint: &mut Paint, area: Rect) -> Option<Position> {
    if state.about.read_only {
        return None;
    }
    let width = usize::from(area.width);
    let height = state.composer_height();
    let y = area.bottom() - 2 - height as u16;
    // On the line above, left of what it says itself.
    let rule = area.y + 2 + state.transcript_height() as u16;
    let beside = width.saturating_sub(24);
    let composer = &open.composer;
    if !composer.focused {
        let first = composer.field.text().lines().next();
        if let Some(line) = first {
            let words = format!(" draft: {line} ");
            paint.words(area.x + 2, rule, beside, &words, paint.dim());
        }
        return None;
    }
    let goes = match (
        composer.sending.is_some(),
        open.active_turn(),
        composer.queue,
    ) {
        (true, _, _) => " sending ".to_owned(),
        (false, Some(turn), false) => format!(" message: steers {} ", turn.id),
        (false, Some(_), true) => " message: queued, starts a Turn of its own ".to_owned(),
        (false, None, _) => " message: starts a Turn ".to_owned(),
    };
    paint.words(area.x + 2, rule, beside, &goes, paint.bold());
    let place = Rect {
        x: area.x + 1,
        y,
        width: area.width - 2,
        height: height as u16,
    };
    Some(typed::draw(&composer.field, paint, place))
}
