//! The Turns of a Session.

use ratatui::layout::Rect;

use super::paint::Paint;
use super::{facts, page};
use crate::api::Turn;
use crate::tui::inspect::{took, turn_facts};
use crate::tui::state::State;
use crate::tui::times::Times;
use crate::tui::transcript::{Role, turn_role, turn_word};
use crate::tui::turns::Turns;

/// Cells of the list where there is room for the selected Turn beside it.
const LIST: u16 = 76;

/// Draws it, and what is known of the selected one where there is room.
pub fn draw(state: &State, turns: &Turns, paint: &mut Paint, area: Rect) {
    let rows = turns.rows.window.rows();
    let times = state.times();
    let more = turns.rows.window.before().is_some() || turns.rows.window.behind().is_some();
    let count = match more {
        true => format!("{} of more, newest first", rows.len()),
        false => format!("{}, newest first", rows.len()),
    };
    let title = format!("{}  Turns", turns.session);
    let body = page::draw(paint, area, &title, &count);
    if rows.is_empty() {
        let (problem, loaded) = (turns.rows.problem.as_ref(), turns.rows.loaded);
        return page::nothing(paint, body, problem, loaded, "no turn yet");
    }
    let (list, beside) = page::split(body, LIST);
    if let (Some(beside), Some(turn)) = (beside, turns.rows.current()) {
        facts::draw(paint, beside, &turn_facts(turn, &times));
    }
    let heads = ["STATE", "TURN", "BEGAN", "TOOK", "TOKENS"];
    let columns = columns(list.width, times.cells(), heads, [Role::Dim; 5]);
    page::row(paint, list, list.y, &columns, false);
    let height = usize::from(list.height.saturating_sub(1));
    let visible = rows.iter().enumerate().skip(turns.rows.top).take(height);
    for (line, (place, turn)) in visible.enumerate() {
        let y = list.y + 1 + line as u16;
        let cells = texts(turn, &times);
        let texts = [0, 1, 2, 3, 4].map(|at| cells[at].as_str());
        let roles = [
            turn_role(turn.status),
            Role::Text,
            Role::Dim,
            Role::Dim,
            Role::Dim,
        ];
        let columns = self::columns(list.width, times.cells(), texts, roles);
        page::row(paint, list, y, &columns, place == turns.rows.selected);
        paint.rows_built += 1;
    }
}

fn columns(
    width: u16,
    began: usize,
    texts: [&str; 5],
    roles: [Role; 5],
) -> [(usize, &str, Role); 5] {
    // An id is never cut: what there is no room for goes first.
    let wider = began as u16 - 8;
    let took = if width >= 66 + wider { 8 } else { 0 };
    let tokens = if width >= 74 + wider { 14 } else { 0 };
    let widths = [9, 31, began, took, tokens];
    [0, 1, 2, 3, 4].map(|at| (widths[at], texts[at], roles[at]))
}

fn texts(turn: &Turn, times: &Times) -> [String; 5] {
    let dash = || "-".to_owned();
    let began = turn.started_at.map(|at| times.short(at * 1000));
    let tokens = turn.usage.as_ref().map(|usage| {
        let (input, output) = (short(usage.input_tokens), short(usage.output_tokens));
        format!("{input} in {output} out")
    });
    [
        turn_word(turn.status).to_owned(),
        turn.id.clone(),
        began.unwrap_or_else(dash),
        took(turn, times.now_ms).unwrap_or_else(dash),
        tokens.unwrap_or_else(dash),
    ]
}

/// A number in at most four cells.
fn short(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{}k", n / 1_000),
        1_000_000..1_000_000_000 => format!("{}M", n / 1_000_000),
        _ => format!("{}G", n / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::cells;

    #[test]
    fn a_number_of_tokens_has_at_most_four_cells() {
        for n in [0, 999, 1_000, 999_999, 1_000_000, 999_999_999_999] {
            assert!(cells(&short(n)) <= 4, "{}", short(n));
        }
    }
}
