//! The subagents of a Session, and the transcript of one.

use ratatui::layout::Rect;

use super::paint::Paint;
use super::{facts, page, session};
use crate::api::{Subagent, SubagentStatus, Words};
use crate::text::count;
use crate::tui::state::State;
use crate::tui::subagents::{Story, Subagents, subagent_facts, told};
use crate::tui::times::Times;
use crate::tui::transcript::Role;

/// Cells of the list where there is room for the selected one beside it.
const LIST: u16 = 74;

/// Draws the list, and what is known of the selected one where there is room.
pub fn draw(state: &State, subagents: &Subagents, paint: &mut Paint, area: Rect) {
    let window = &subagents.rows.window;
    let (rows, times) = (window.rows(), state.times());
    let count = match window.before().is_some() || window.behind().is_some() {
        true => format!("{} of more, oldest first", rows.len()),
        false => format!("{}, oldest first", rows.len()),
    };
    let title = format!("{}  Subagents", subagents.session);
    let body = page::draw(paint, area, &title, &count);
    if rows.is_empty() {
        let (problem, loaded) = (subagents.rows.problem.as_ref(), subagents.rows.loaded);
        return page::nothing(paint, body, problem, loaded, "no subagent yet");
    }
    let (list, beside) = page::split(body, LIST);
    if let (Some(beside), Some(subagent)) = (beside, subagents.rows.current()) {
        facts::draw(paint, beside, &subagent_facts(subagent, &times));
    }
    let heads = ["STATE", "SUBAGENT", "NAME", "OPENED", "TOLD"];
    let columns = columns(list.width, times.cells(), heads, [Role::Dim; 5]);
    page::row(paint, list, list.y, &columns, false);
    let height = usize::from(list.height.saturating_sub(1));
    let top = subagents.rows.top;
    let visible = rows.iter().enumerate().skip(top).take(height);
    for (line, (place, subagent)) in visible.enumerate() {
        let y = list.y + 1 + line as u16;
        let cells = texts(subagent, &times);
        let texts = [0, 1, 2, 3, 4].map(|at| cells[at].as_str());
        let state = match subagent.status {
            SubagentStatus::Active => Role::Agent,
            SubagentStatus::Closed => Role::Dim,
        };
        let roles = [state, Role::Text, Role::Text, Role::Dim, Role::Dim];
        let columns = self::columns(list.width, times.cells(), texts, roles);
        page::row(paint, list, y, &columns, place == subagents.rows.selected);
        paint.rows_built += 1;
    }
}

fn columns(
    width: u16,
    opened: usize,
    texts: [&str; 5],
    roles: [Role; 5],
) -> [(usize, &str, Role); 5] {
    // An id is never cut: what there is no room for goes first.
    let mut widths = [6, 31, 14, opened, 0];
    let used: usize = 2 + widths.iter().map(|cells| cells + 1).sum::<usize>();
    widths[4] = usize::from(width).saturating_sub(used);
    [0, 1, 2, 3, 4].map(|at| (widths[at], texts[at], roles[at]))
}

fn texts(subagent: &Subagent, times: &Times) -> [String; 5] {
    let told = told(subagent);
    [
        subagent.status.as_str().to_owned(),
        subagent.id.clone(),
        subagent.name.clone().unwrap_or_else(|| "-".to_owned()),
        times.short(subagent.opened_at * 1000),
        told.split_whitespace().collect::<Vec<_>>().join(" "),
    ]
}

/// Draws the transcript of one.
pub fn draw_story(state: &State, story: &Story, paint: &mut Paint, area: Rect) {
    let open = &story.open;
    let right = match (open.follow, open.unseen) {
        (true, _) => "following".to_owned(),
        (false, 0) => "not following".to_owned(),
        (false, new) => format!("{} new below", count(new as u64)),
    };
    let name = story.subagent.name.as_deref().unwrap_or("subagent");
    let title = format!("{}  {name}", story.subagent.id);
    let body = page::draw(paint, area, &title, &right);
    let place = Rect {
        x: body.x + 1,
        width: state.page_look().width as u16,
        ..body
    };
    if open.items.rows().is_empty() {
        let is_read = open.problem.is_none() && open.waits_since().is_none();
        return page::nothing(paint, body, open.problem.as_ref(), is_read, "no Item yet");
    }
    let lines = open.visible(state.page_look(), usize::from(place.height));
    session::draw_lines(paint, place, &lines);
}
