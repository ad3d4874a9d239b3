//! The question before a Turn is cancelled. Its default is that nothing happens.

use ratatui::layout::Rect;

use super::dialog::Dialog;
use super::paint::Paint;
use crate::tui::session::{Cancelling, Open};
use crate::tui::transcript::{Role, turn_word};

/// Draws it over the transcript.
pub fn draw(open: &Open, paint: &mut Paint, area: Rect) {
    let Some(Cancelling::Asked(turn)) = &open.cancelling else {
        return;
    };
    let mut dialog = Dialog::new(area, paint.glyphs);
    dialog.say(Role::Warn, "Cancel this turn?");
    dialog.say(Role::Text, turn);
    dialog.say(Role::Dim, &open.id);
    let status = open.turns.get(turn).map(|turn| turn.status);
    dialog.say(
        Role::Text,
        &match status {
            Some(status) if status.is_terminal() => format!(
                "It is over already ({}): nothing is left to cancel.",
                turn_word(status)
            ),
            Some(status) => format!("It is {} now.", turn_word(status)),
            None => String::new(),
        },
    );
    let kept = "Kept: the transcript, files that were written, queued turns.";
    dialog.say(Role::Text, kept);
    let undone = "Nothing is undone. A command that runs is stopped where it is.";
    dialog.say(Role::Text, undone);
    dialog.answers();
    dialog.say(Role::Good, "k  keep running (also enter, esc)");
    dialog.say(Role::Bad, "c  cancel this turn");
    dialog.draw(paint, area, 0);
}
