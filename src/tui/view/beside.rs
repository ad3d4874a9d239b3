//! The newest Turns beside a transcript, where there is room for both: where it stands, how long it took, what it cost.

use ratatui::layout::Rect;

use super::paint::Paint;
use crate::api::{Environment, Turn};
use crate::text::{Glyphs, ago, count, rfc3339};
use crate::tui::inspect::took;
use crate::tui::session::Open;
use crate::tui::state::State;
use crate::tui::transcript::{Role, turn_role, turn_word};

/// Draws them newest first, the one at which the reader is marked, and what is known of the Session below. They are few, whatever the Session has.
pub fn draw(state: &State, open: &Open, paint: &mut Paint, area: Rect) {
    let bar = match paint.glyphs {
        Glyphs::Unicode => "│",
        Glyphs::Ascii | Glyphs::SevenBit => "|",
    };
    let dim = paint.dim();
    for y in area.y..area.bottom() {
        paint.buffer.set_string(area.right() - 1, y, bar, dim);
    }
    let facts = facts(open);
    let room = area.height.saturating_sub(facts.len() as u16 + 2);
    let here = open.turn_in_sight();
    let mut y = area.y;
    for turn in open.newest.iter().rev().filter_map(|id| open.turns.get(id)) {
        if y + 2 > area.y + room {
            break;
        }
        y = entry(
            turn,
            here == Some(turn.id.as_str()),
            state.now_ms,
            paint,
            area,
            y,
        );
    }
    let first = area.bottom() - facts.len() as u16;
    for (y, (name, value)) in (first..).zip(&facts) {
        paint.words(area.x + 1, y, 12, name, dim);
        let width = usize::from(area.width).saturating_sub(15);
        paint.words(area.x + 13, y, width, value, dim);
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
    let width = usize::from(area.width).saturating_sub(21);
    paint.words(area.x + 20, y, width, &turn.id, paint.dim());
    let usage = turn.usage.as_ref();
    let below = match (&turn.error, usage) {
        (Some(error), _) => Some((Role::Bad, format!("{}: {}", error.code, error.message))),
        (None, Some(usage)) => {
            let (input, output) = (count(usage.input_tokens), count(usage.output_tokens));
            Some((Role::Dim, format!("{input} tokens in, {output} out")))
        }
        (None, None) => None,
    };
    let Some((role, words)) = below else {
        return y + 1;
    };
    let width = usize::from(area.width).saturating_sub(14);
    let style = paint.role(role);
    paint.words(area.x + 12, y + 1, width, &words, style);
    y + 2
}

fn facts(open: &Open) -> Vec<(&'static str, String)> {
    let Some(session) = &open.session else {
        return Vec::new();
    };
    let mut facts = vec![
        ("created", rfc3339(session.created_at * 1000)),
        ("agent", session.agent.id.clone()),
    ];
    match &session.environment {
        Environment::None => facts.push(("environment", "none".to_owned())),
        Environment::OpenaiHosted(managed) => facts.push(("environment", managed.id.clone())),
        Environment::SelfHosted(own) => facts.push(("environment", own.id.clone())),
    }
    if let Some(usage) = &session.usage {
        let (input, output) = (count(usage.input_tokens), count(usage.output_tokens));
        facts.push(("tokens", format!("{input} in, {output} out")));
    }
    facts
}
