//! The question about what a Session waits for, among the layers.

use super::{Goes, Layer};
use crate::api::RequiredAction;
use crate::engine::ports::Submitted;
use crate::tui::action::Action;
use crate::tui::answer::{Answer, Then, identity};
use crate::tui::msg::{Effect, Trouble};
use crate::tui::state::State;

/// Opens the question about the first thing that the open Session waits for.
pub fn open_answer(state: &mut State) {
    let Some(open) = &state.open else {
        return;
    };
    let first = open.session.iter().flat_map(|s| &s.required_actions).next();
    match first {
        Some(action) => {
            let answer = Answer::new(open.id.clone(), action.clone());
            state.layers.push(Layer::Answer(Box::new(answer)));
        }
        None => state.notice = Some("the Session waits for nothing".into()),
    }
}

/// What the open Session waits for.
pub fn waited_for(state: &State) -> &[RequiredAction] {
    let session = state.open.as_ref().and_then(|open| open.session.as_ref());
    session.map_or(&[], |session| &session.required_actions)
}

pub(super) fn act(answer: &mut Answer, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    match answer.act(action) {
        Then::Stay => {}
        Then::Leave => return (Vec::new(), Goes::Away),
        Then::Edit => {
            return (vec![Effect::Edit(answer.field.text().to_owned())], Goes::On);
        }
        Then::Next => {
            let all = waited_for(state);
            let here = all
                .iter()
                .position(|of| identity(of) == identity(&answer.action));
            let next = here.map_or(0, |at| at + 1) % all.len().max(1);
            match all.get(next) {
                Some(next) if identity(next) != identity(&answer.action) => {
                    *answer = Answer::new(answer.session.clone(), next.clone());
                }
                _ => state.notice = Some("it waits for nothing else".into()),
            }
        }
        Then::Send(event) => {
            let is_open = |of: &RequiredAction| identity(of) == identity(&answer.action);
            if !waited_for(state).iter().any(is_open) {
                state.notice = Some("not sent: it is not open any more".into());
                return (Vec::new(), Goes::Away);
            }
            let spare = state.keys.spare();
            let key = answer.send(&event, &spare);
            if key == spare {
                state.keys.used();
            }
            let session = answer.session.clone();
            return (
                vec![Effect::Send {
                    session,
                    key,
                    event,
                }],
                Goes::On,
            );
        }
    }
    (Vec::new(), Goes::On)
}

/// The answer to an answer; `false`: no layer waits for it.
pub fn sent(state: &mut State, key: &str, result: &Result<Submitted, Trouble>) -> bool {
    let at = state.layers.iter().position(
        |layer| matches!(layer, Layer::Answer(answer) if answer.sending.as_deref() == Some(key)),
    );
    let Some(at) = at else {
        return false;
    };
    if let Some(Layer::Answer(answer)) = state.layers.get_mut(at)
        && let Some(trace) = answer.answered(result)
    {
        if let Some(open) = state.open.as_mut().filter(|open| open.id == answer.session) {
            open.trace = Some(trace);
        }
        state.layers.remove(at);
    }
    true
}
