//! The question before a Turn is cancelled. Its default is that nothing happens.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::paint::Paint;
use crate::tui::session::{Cancelling, Open};
use crate::tui::transcript::{Role, turn_word};

/// Draws it over the transcript.
pub fn draw(open: &Open, paint: &mut Paint, area: Rect) {
    let Some(Cancelling::Asked(turn)) = &open.cancelling else {
        return;
    };
    let status = open.turns.get(turn).map(|turn| turn.status);
    let now = match status {
        Some(status) if status.is_terminal() => {
            format!(
                "It is over already ({}): nothing is left to cancel.",
                turn_word(status)
            )
        }
        Some(status) => format!("It is {} now.", turn_word(status)),
        None => String::new(),
    };
    let width = area.width.min(72);
    let lines: [(&str, Role); 9] = [
        ("Cancel this turn?", Role::Warn),
        (turn, Role::Text),
        (&open.id, Role::Dim),
        (&now, Role::Text),
        (
            "Kept: the transcript, files that were written, queued turns.",
            Role::Text,
        ),
        (
            "Nothing is undone. A command that runs is stopped where it is.",
            Role::Text,
        ),
        ("", Role::Text),
        ("k  keep running (also enter, esc)", Role::Good),
        ("c  cancel this turn", Role::Bad),
    ];
    let height = lines.len() as u16 + 2;
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let inside = paint.boxed(place);
    for (row, (words, role)) in lines.iter().enumerate() {
        let style = match role {
            Role::Text => Style::default(),
            role => paint.role(*role),
        };
        paint.words(
            inside.x,
            inside.y + row as u16,
            usize::from(inside.width),
            words,
            style,
        );
    }
}
