//! The list of Turns, among the layers; and from Turn to Turn without it.

use super::{Goes, Layer};
use crate::api::Turn;
use crate::tui::action::Action;
use crate::tui::inspect::{Inspect, Subject};
use crate::tui::msg::{Effect, Trouble};
use crate::tui::reading::{ReadAsk, Seen, TurnPlace, WhichTurn};
use crate::tui::session::Cancelling;
use crate::tui::state::State;
use crate::tui::transcript::turn_word;
use crate::tui::turns::{Beside, Turns};
use crate::tui::window::Where;

/// Opens the list of Turns of the open Session.
pub fn open_turns(state: &mut State) -> Vec<Effect> {
    let Some(open) = &state.open else {
        return Vec::new();
    };
    let mut turns = Turns::new(open.id.clone());
    let effect = turns.read(state, Where::Start);
    state.layers.push(Layer::Turns(Box::new(turns)));
    vec![effect]
}

pub(super) fn act(turns: &mut Turns, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    let current = turns.rows.current().cloned();
    match (action, current) {
        (Action::Back, _) => return (Vec::new(), Goes::Away),
        (Action::Open, Some(turn)) => {
            let session = turns.session.clone();
            return (
                ask_place(state, session, WhichTurn::This(turn.id)),
                Goes::Away,
            );
        }
        (Action::Inspect, Some(turn)) => {
            let inspect = Inspect::new(Subject::Turn(Box::new(turn)), &state.times());
            state.layers.push(Layer::Inspect(Box::new(inspect)));
        }
        (Action::AskCancel, Some(turn)) => return ask_cancel(state, turn),
        (Action::CopyId, Some(turn)) => return (state.copy(&turn.id), Goes::On),
        (action, _) => {
            let at = turns.rows.act(action, state.page_height() - 1);
            let effects = at.map(|at| turns.read(state, at)).into_iter().collect();
            return (effects, Goes::On);
        }
    }
    (Vec::new(), Goes::On)
}

/// The question about a Turn that is not over, in the Session below.
fn ask_cancel(state: &mut State, turn: Turn) -> (Vec<Effect>, Goes) {
    let open = state.open.as_mut();
    let (Some(open), false) = (open, turn.status.is_terminal()) else {
        state.notice = Some(format!("it is over already: {}", turn_word(turn.status)));
        return (Vec::new(), Goes::On);
    };
    match &open.cancelling {
        Some(Cancelling::Sending { .. }) => {
            state.notice = Some("a cancel is on its way already".to_owned());
            (Vec::new(), Goes::On)
        }
        _ => {
            open.cancelling = Some(Cancelling::Asked(turn.id.clone()));
            open.turns.insert(turn.id.clone(), turn);
            (Vec::new(), Goes::Away)
        }
    }
}

pub(super) fn read(
    turns: &mut Turns,
    state: &mut State,
    result: &Result<Box<Seen>, Trouble>,
) -> Vec<Effect> {
    let result = match result.as_deref() {
        Ok(Seen::Turns(chunk)) => Ok(chunk.clone()),
        Ok(_) => return Vec::new(),
        Err(trouble) => Err(trouble.clone()),
    };
    let next = turns
        .rows
        .take(result, state.page_height() - 1, state.now_ms);
    next.map(|at| turns.read(state, at)).into_iter().collect()
}

pub(super) fn tick(turns: &mut Turns, state: &mut State) -> (Vec<Effect>, bool) {
    let at = turns.rows.tick(state.now_ms, state.newest_ticket());
    let effects = at.map(|at| turns.read(state, at)).into_iter().collect();
    // How long the Turns at work take is shown.
    let works = turns
        .rows
        .window
        .rows()
        .iter()
        .any(|turn| !turn.status.is_terminal());
    (effects, works || turns.rows.problem.is_some())
}

/// To the start of this Turn or of the one before, or of the next.
pub fn turn_beside(state: &mut State, up: bool) -> Vec<Effect> {
    let (look, height) = (state.look(), state.transcript_height());
    let Some(open) = &mut state.open else {
        return Vec::new();
    };
    match open.turn_beside(up, look, height) {
        Ok(Beside::Shown(effects)) => effects,
        Ok(Beside::Ask(which)) => {
            let session = open.id.clone();
            ask_place(state, session, which)
        }
        Err(why) => {
            state.notice = Some(why.to_owned());
            Vec::new()
        }
    }
}

fn ask_place(state: &mut State, session: String, turn: WhichTurn) -> Vec<Effect> {
    state.notice = Some("the turn is being looked for".to_owned());
    let (ticket, effect) = state.reading(ReadAsk::TurnPlace { session, turn });
    state.place_ticket = ticket;
    vec![effect]
}

/// Where a Turn begins was read, or not.
pub fn place_read(state: &mut State, result: Result<(String, TurnPlace), Trouble>) -> Vec<Effect> {
    let (look, height) = (state.look(), state.transcript_height());
    state.notice = None;
    let (session, place) = match result {
        Ok(read) => read,
        Err(trouble) => {
            state.notice = Some(format!("the turn was not found: {}", trouble.words));
            return Vec::new();
        }
    };
    let Some(open) = state.open.as_mut().filter(|open| open.id == session) else {
        return Vec::new();
    };
    match open.show_turn(place, look, height) {
        Ok(effects) => effects,
        Err(why) => {
            state.notice = Some(why);
            Vec::new()
        }
    }
}
