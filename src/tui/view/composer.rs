//! The message that is being written, or the draft of one.

use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::paint::Paint;
use crate::text::{SafeBlock, SafeText, wrap};
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
    let (before, behind) = composer.field.around_cursor();
    let room = width - 2;
    let mut lines = wrapped(before, room, state);
    let (mut row, mut column) = (lines.len() - 1, lines.last().map_or(0, SafeText::cells));
    if column >= room {
        (row, column) = (row + 1, 0);
        lines.push(SafeText::default());
    }
    // What follows the cursor in its line stands behind it; the lines below are wrapped for themselves.
    let (rest, below) = behind.split_once('\n').unwrap_or((behind, ""));
    let top = (row + 1).saturating_sub(height);
    for (at, line) in lines.iter().enumerate().skip(top).take(height) {
        paint.text(
            area.x + 1,
            y + (at - top) as u16,
            room,
            line,
            Style::default(),
        );
    }
    let cursor = Position::new(area.x + 1 + column as u16, y + (row - top) as u16);
    paint.words(cursor.x, cursor.y, room - column, rest, Style::default());
    let free = height.saturating_sub(row - top + 1);
    for (at, line) in wrapped(below, room, state).iter().take(free).enumerate() {
        paint.text(
            area.x + 1,
            cursor.y + 1 + at as u16,
            room,
            line,
            Style::default(),
        );
    }
    Some(cursor)
}

/// Lines as the field shows them; at least one, and one more behind a line end.
fn wrapped(text: &str, width: usize, state: &State) -> Vec<SafeText> {
    // The last lines are what is seen; a long text is not wrapped whole for them.
    const SEEN_BYTES: usize = 16 << 10;
    let from = text.ceil_char_boundary(text.len().saturating_sub(SEEN_BYTES));
    let mut lines = Vec::new();
    for line in text[from..].split('\n') {
        let block = SafeBlock::block(line);
        let mut of_line = wrap(&block.shown(state.about.glyphs), width);
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
