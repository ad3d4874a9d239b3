//! What stands beside a transcript or a list where there is room: the Sessions, the newest Turns of the open one, one Item in full, the
//! selected Session.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::facts;
use super::paint::Paint;
use super::sessions::{glyph, status_role};
use crate::api::{AgentSession, Environment, Item, RequiredAction, Turn};
use crate::text::{Glyphs, SafeBlock, ago, count, rfc3339, wrap};
use crate::tui::filter::state_word;
use crate::tui::inspect::{item_facts, took};
use crate::tui::rows::visible;
use crate::tui::session::Open;
use crate::tui::state::State;
use crate::tui::transcript::{Role, head_of, turn_role, turn_word};

/// Cells of the word for a state, with its mark.
const STATE: usize = 9;

/// The line between two columns, at the end of the one before or at the start of the one behind. Answers what is left.
pub fn bar(paint: &mut Paint, area: Rect, at_end: bool) -> Rect {
    let bar = match paint.glyphs {
        Glyphs::Unicode => "│",
        Glyphs::Ascii | Glyphs::SevenBit => "|",
    };
    let dim = paint.dim();
    let x = if at_end { area.right() - 1 } else { area.x };
    for y in area.y..area.bottom() {
        paint.buffer.set_string(x, y, bar, dim);
    }
    Rect {
        x: area.x + if at_end { 0 } else { 2 },
        width: area.width.saturating_sub(if at_end { 1 } else { 2 }),
        ..area
    }
}

/// The Sessions around the open one, as the list has them.
pub fn sessions(state: &State, open: &Open, paint: &mut Paint, area: Rect) {
    let area = bar(paint, area, true);
    let rows = state.sessions.window.rows();
    let height = usize::from(area.height);
    let here = state.sessions.window.place_of(&open.id);
    let at = here.unwrap_or(state.sessions.selected);
    let (_, top) = visible(at, state.sessions.top, rows.len(), height);
    let shown = rows.iter().enumerate().skip(top).take(height);
    for (y, (place, session)) in (area.y..).zip(shown) {
        let mark = if here == Some(place) { ">" } else { " " };
        paint.words(area.x, y, 1, mark, paint.bold());
        let role = paint.role(status_role(session.status));
        let word = state_word(session.status);
        let word = format!("{} {word}", glyph(session.status, paint.glyphs));
        paint.words(area.x + 1, y, STATE, &word, role);
        let title = session.metadata.get("title");
        let title = title.map_or(session.id.as_str(), String::as_str);
        let width = usize::from(area.width).saturating_sub(STATE + 3);
        let style = match here == Some(place) {
            true => paint.bold(),
            false => Style::default(),
        };
        paint.words(area.x + 2 + STATE as u16, y, width, title, style);
        paint.rows_built += 1;
    }
}

/// The newest Turns first, the one at which the reader is marked, and what is known of the Session below. They are few, whatever the Session has.
pub fn turns(state: &State, open: &Open, paint: &mut Paint, area: Rect) {
    let area = bar(paint, area, true);
    let dim = paint.dim();
    let facts = short_facts(open);
    let room = area.height.saturating_sub(facts.len() as u16 + 2);
    let here = open.turn_in_sight();
    let mut y = area.y;
    for turn in open.newest.iter().rev().filter_map(|id| open.turns.get(id)) {
        if y + 3 > area.y + room {
            break;
        }
        let is_here = here == Some(turn.id.as_str());
        y = entry(turn, is_here, state.now_ms, paint, area, y);
        paint.rows_built += 1;
    }
    let first = area.bottom() - facts.len() as u16;
    for (y, (name, value)) in (first..).zip(&facts) {
        paint.words(area.x + 1, y, 8, name, dim);
        // An id is never cut, and says itself what it is the id of.
        let indent = if name.is_empty() { 1 } else { 9 };
        let width = usize::from(area.width).saturating_sub(indent + 1);
        paint.words(area.x + indent as u16, y, width, value, dim);
    }
}

/// One Turn; answers the row below it.
fn entry(turn: &Turn, here: bool, now_ms: u64, paint: &mut Paint, area: Rect, y: u16) -> u16 {
    let mark = if here { ">" } else { " " };
    paint.words(area.x, y, 1, mark, paint.bold());
    let style = paint.role(turn_role(turn.status));
    paint.words(area.x + 2, y, 9, turn_word(turn.status), style);
    // A frame is drawn when an age that is shown changes, so that what goes on is told as coarsely as an age.
    let took = match (turn.started_at, turn.status.is_terminal()) {
        (Some(start), false) => {
            let since = ago(start * 1000, now_ms);
            since.trim_end_matches(" ago").to_owned()
        }
        _ => took(turn, now_ms).unwrap_or_default(),
    };
    paint.words(area.x + 12, y, 7, &took, paint.dim());
    let width = usize::from(area.width).saturating_sub(2);
    paint.words(area.x + 2, y + 1, width, &turn.id, paint.dim());
    let below = match (&turn.error, turn.usage.as_ref()) {
        (Some(error), _) => Some((Role::Bad, format!("{}: {}", error.code, error.message))),
        (None, Some(usage)) => {
            let (input, output) = (count(usage.input_tokens), count(usage.output_tokens));
            Some((Role::Dim, format!("{input} tokens in, {output} out")))
        }
        (None, None) => None,
    };
    let Some((role, words)) = below else {
        return y + 2;
    };
    let style = paint.role(role);
    paint.words(area.x + 2, y + 2, width, &words, style);
    y + 3
}

fn environment_id(session: &AgentSession) -> &str {
    match &session.environment {
        Environment::None => "none",
        Environment::OpenaiHosted(managed) => &managed.id,
        Environment::SelfHosted(own) => &own.id,
    }
}

fn short_facts(open: &Open) -> Vec<(&'static str, String)> {
    let Some(session) = &open.session else {
        return Vec::new();
    };
    let mut facts = vec![
        ("created", rfc3339(session.created_at * 1000)),
        ("", session.agent.id.clone()),
    ];
    if session.environment != Environment::None {
        facts.push(("", environment_id(session).to_owned()));
    }
    if let Some(usage) = &session.usage {
        let (input, output) = (count(usage.input_tokens), count(usage.output_tokens));
        facts.push(("tokens", format!("{input} in, {output} out")));
    }
    facts
}

/// The marked Item in full, or the one at which the reader is.
pub fn item(open: &Open, paint: &mut Paint, area: Rect) {
    let area = bar(paint, area, false);
    let Some(item) = open.item_in_sight() else {
        return;
    };
    let y = facts::draw(paint, area, &item_facts(item));
    block(paint, area, y + 1, item);
}

/// As much of what an Item says as there is room for.
fn block(paint: &mut Paint, area: Rect, first: u16, item: &Item) {
    let width = usize::from(area.width).max(1);
    let room = usize::from(area.bottom().saturating_sub(first));
    let text = head_of(item, room * width * 4);
    let lines = wrap(&SafeBlock::block(&text).shown(paint.glyphs), width);
    for (y, line) in (first..area.bottom()).zip(&lines) {
        paint.text(area.x, y, width, line, Style::default());
        paint.rows_built += 1;
    }
}

/// The selected Session, as far as the list knows it.
pub fn session(state: &State, session: &AgentSession, paint: &mut Paint, area: Rect) {
    let area = bar(paint, area, false);
    let times = state.times();
    let at = |seconds: u64| times.full(seconds * 1000);
    let mut facts = vec![
        ("session", session.id.clone()),
        ("state", state_word(session.status).to_owned()),
        ("created", at(session.created_at)),
        ("active", at(session.last_active_at)),
        ("agent", session.agent.id.clone()),
        ("model", session.agent.model.clone()),
        ("in", environment_id(session).to_owned()),
    ];
    if let Some(usage) = &session.usage {
        facts.push(("tokens in", count(usage.input_tokens)));
        facts.push(("tokens out", count(usage.output_tokens)));
    }
    if let Some(error) = &session.error {
        facts.push(("failed", error.clone()));
    }
    facts.extend(
        session
            .required_actions
            .iter()
            .map(|of| ("waits", waits(of))),
    );
    for (name, value) in session.metadata.iter().filter(|(name, _)| *name != "title") {
        facts.push(("metadata", format!("{name}: {value}")));
    }
    if let Some(title) = session.metadata.get("title") {
        facts.push(("title", title.clone()));
    }
    facts::draw(paint, area, &facts);
}

fn waits(action: &RequiredAction) -> String {
    match action {
        RequiredAction::FunctionCall { name, .. } => format!("for the result of {name}"),
        RequiredAction::McpApprovalRequest { request, .. } => {
            let name = request.name.as_deref().unwrap_or("a tool");
            format!("for the approval of {name} of {}", request.server_label)
        }
        RequiredAction::ComputerUseApprovalRequest { .. } => {
            "for an approval in the browser".into()
        }
        RequiredAction::EnvironmentConnection { environment_id } => {
            format!("for environment {environment_id} to be connected")
        }
    }
}
