//! What is done to several Sessions, among the layers.

use super::{Goes, Layer};
use crate::engine::ports::Submitted;
use crate::tui::action::Action;
use crate::tui::composer::cancel_input;
use crate::tui::msg::{Effect, Trouble};
use crate::tui::reading::{ReadAsk, Seen};
use crate::tui::several::{Deed, Fate, MOST, Several, Stage, Then};
use crate::tui::state::State;

/// Asks about the marked Sessions, or the selected one.
pub fn open_several(state: &mut State, deed: Deed) -> Vec<Effect> {
    let sessions = &state.sessions;
    let ids: Vec<String> = match sessions.marks.is_empty() {
        true => sessions.current().iter().map(|of| of.id.clone()).collect(),
        false => sessions.marks.iter().cloned().collect(),
    };
    if ids.is_empty() {
        state.notice = Some("there is no Session yet".into());
        return Vec::new();
    }
    if ids.len() > MOST {
        state.notice = Some(format!(
            "at most {MOST} Sessions at once; {} are marked",
            ids.len()
        ));
        return Vec::new();
    }
    let titled = ids.into_iter().map(|id| {
        let place = sessions.window.place_of(&id);
        let row = place.and_then(|place| sessions.window.rows().get(place));
        let title = row.and_then(|row| row.metadata.get("title"));
        let title = title.cloned().unwrap_or_default();
        (id, title)
    });
    let mut several = Several::new(deed, titled.collect());
    let effects = look(&mut several, state);
    state.layers.push(Layer::Several(Box::new(several)));
    effects
}

/// Sessions on the screen; each takes two lines.
pub fn height(state: &State) -> usize {
    (state.page_height().saturating_sub(ROOM) / 2).max(1)
}

/// Rows below them: a rule, what there is to say, what is typed, the answers.
pub const ROOM: usize = 6;

/// Reads the Turns that are asked about, if there are any.
fn look(several: &mut Several, state: &mut State) -> Vec<Effect> {
    let of = several.unsettled();
    if of.is_empty() {
        return Vec::new();
    }
    let (ticket, effect) = state.reading(ReadAsk::TurnsAtWork { of });
    several.ticket = ticket;
    vec![effect]
}

pub(super) fn act(several: &mut Several, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    match several.act(action, height(state)) {
        Then::Stay => (Vec::new(), Goes::On),
        Then::Leave => (left(several, state), Goes::Away),
        Then::Begin => (next(several, state), Goes::On),
        Then::Copy => (state.copy(&several.report()), Goes::On),
    }
}

/// What is done with has no mark any more.
fn left(several: &Several, state: &mut State) -> Vec<Effect> {
    if several.stage == Stage::Asked {
        return Vec::new();
    }
    for one in &several.all {
        if matches!(one.fate, Fate::Done(_)) {
            state.sessions.marks.remove(&one.session);
        }
    }
    vec![state.sessions.refresh(state.now_ms)]
}

fn next(several: &mut Several, state: &mut State) -> Vec<Effect> {
    let spare = state.keys.spare();
    let Some(one) = several.next(&spare) else {
        return Vec::new();
    };
    state.keys.used();
    let effect = match (several.deed, one.turn) {
        (Deed::Cancel, turn) => Effect::Send {
            session: one.session,
            key: spare,
            event: Box::new(cancel_input(&turn.unwrap_or_default())),
        },
        (Deed::Delete, _) => Effect::Delete {
            session: one.session,
        },
        (Deed::Export, _) => Effect::Export {
            session: one.session,
            to: several.field.text().trim().to_owned(),
        },
    };
    vec![effect]
}

pub(super) fn read(several: &mut Several, result: &Result<Box<Seen>, Trouble>, now_ms: u64) {
    match result.as_deref() {
        Ok(Seen::TurnsAtWork(read)) => several.turns_read(read, now_ms),
        Ok(_) => {}
        Err(trouble) => several.turns_unread(&trouble.words),
    }
}

pub(super) fn tick(several: &mut Several, state: &mut State) -> (Vec<Effect>, bool) {
    let open = several.unsettled();
    let is_read = several.ticket == state.newest_ticket() && several.stage == Stage::Asked;
    match open.is_empty() || is_read {
        true => (Vec::new(), false),
        false => (look(several, state), true),
    }
}

/// Takes an answer in with `take`, and goes on to the next one; `None`: no layer waits for it.
fn answered(state: &mut State, take: impl Fn(&mut Several) -> bool) -> Option<Vec<Effect>> {
    let at = state.layers.iter_mut().position(|layer| match layer {
        Layer::Several(several) => take(several),
        _ => false,
    })?;
    let mut layer = state.layers.remove(at);
    let effects = match &mut layer {
        Layer::Several(several) => next(several, state),
        _ => Vec::new(),
    };
    state.layers.insert(at, layer);
    Some(effects)
}

/// The answer to a cancel of one of several; `None`: it is none.
pub fn cancel_sent(
    state: &mut State,
    key: &str,
    result: &Result<Submitted, Trouble>,
) -> Option<Vec<Effect>> {
    let now_ms = state.now_ms;
    answered(state, |several| several.sent(key, result, now_ms))
}

/// What became of a deletion or an export.
pub fn deed_done(
    state: &mut State,
    session: &str,
    result: &Result<String, Trouble>,
) -> Vec<Effect> {
    let effects = answered(state, |several| several.done(session, result));
    effects.unwrap_or_else(|| {
        // Whoever left meanwhile is told all the same.
        state.notice = Some(match result {
            Ok(how) => format!("{session}: {how}"),
            Err(trouble) => format!("{session}: {}", trouble.words),
        });
        Vec::new()
    })
}
