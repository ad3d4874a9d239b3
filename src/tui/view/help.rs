//! The help: the action table of where a person came from, of everywhere, and the words and marks of the screens.

use ratatui::layout::Rect;

use super::paint::Paint;
use crate::tui::action::{Action, Binding, Place, rows};
use crate::tui::state::State;

/// Lines of the help.
pub fn length(state: &State) -> usize {
    lines(state).len()
}

/// Draws it from line `from` on.
pub fn draw(state: &State, paint: &mut Paint, area: Rect, from: usize) {
    let height = usize::from(area.height).saturating_sub(3);
    for (row, (key, words)) in lines(state).iter().skip(from).take(height).enumerate() {
        let y = area.y + 1 + row as u16;
        let style = paint.bold();
        let width = usize::from(area.width);
        match words {
            Some(words) => {
                paint.words(area.x + 2, y, 16, key, style);
                paint.words(
                    area.x + 19,
                    y,
                    width - 20,
                    words,
                    ratatui::style::Style::default(),
                );
            }
            None => {
                paint.words(area.x + 1, y, width - 2, key, style);
            }
        }
    }
}

/// Keys of this place that do nothing now, and why; nothing if there are none.
fn unavailable(state: &State, place: Place) -> Vec<(String, Option<String>)> {
    let keys = |b: &'static Binding| state.keymap.keys(b).join(" ");
    let mut lines = Vec::new();
    for binding in rows(place, false) {
        let why = match (binding.action, &state.open) {
            _ if binding.changes && state.about.read_only => "read-only mode is on",
            (Action::AskCancel, Some(open)) if open.active_turn().is_none() => "no turn is active",
            (Action::Answer, Some(open))
                if open
                    .session
                    .as_ref()
                    .is_some_and(|s| s.required_actions.is_empty()) =>
            {
                "the Session waits for nothing"
            }
            (Action::FindUp | Action::FindDown, Some(open)) if open.finder.words.is_none() => {
                "no words were searched yet"
            }
            _ => continue,
        };
        lines.push((keys(binding), Some(format!("{}: {why}", binding.long))));
    }
    if !lines.is_empty() {
        lines.insert(0, ("Not available now".to_owned(), None));
        lines.push((String::new(), None));
    }
    lines
}

/// Keys and what they do; without words it is a heading.
fn lines(state: &State) -> Vec<(String, Option<String>)> {
    let mut lines = Vec::new();
    let places: &[Place] = match state.open {
        Some(_) => &[
            Place::Session,
            Place::Search,
            Place::Composer,
            Place::Cancel,
            Place::Turns,
            Place::Subagents,
            Place::Story,
            Place::Inspect,
            Place::Artifacts,
            Place::Preview,
            Place::Save,
            Place::Runs,
            Place::Deliveries,
            Place::Owed,
            Place::Settle,
            Place::Palette,
            Place::List,
            Place::Answer,
            Place::AnswerText,
            Place::Login,
            Place::Text,
            Place::Everywhere,
        ],
        None => &[
            Place::Sessions,
            Place::Filter,
            Place::Create,
            Place::Confirm,
            Place::SeveralTurns,
            Place::SeveralText,
            Place::SeveralDone,
            Place::Palette,
            Place::Text,
            Place::Everywhere,
        ],
    };
    for place in places {
        let mut rows = rows(*place, state.about.read_only).peekable();
        if rows.peek().is_none() {
            continue;
        }
        lines.push((place.name().to_owned(), None));
        lines.extend(rows.map(|b| (state.keymap.keys(b).join(" "), Some(b.long.to_owned()))));
        lines.push((String::new(), None));
        if *place == places[0] {
            lines.extend(unavailable(state, *place));
        }
    }
    lines.push(("Words".to_owned(), None));
    for (word, means) in [
        ("idle", "no Turn is active"),
        ("running", "a Turn is queued or at work"),
        ("waiting", "a person must answer something"),
        ("failed", "it can't go on"),
        ("budget", "its budget is spent"),
        ("queued", "a Turn that waits for its turn"),
        ("done", "a Turn that completed"),
        ("cancelled", "a Turn that was stopped"),
    ] {
        lines.push((word.to_owned(), Some(means.to_owned())));
    }
    lines
}
