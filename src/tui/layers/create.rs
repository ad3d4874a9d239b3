//! The form of a new Session, among the layers.

use super::{Goes, Layer};
use crate::api::AgentSession;
use crate::tui::action::Action;
use crate::tui::create::{Create, Then};
use crate::tui::msg::{Effect, Trouble};
use crate::tui::reading::ReadAsk;
use crate::tui::state::State;

/// Opens the form of a new Session, as it was left.
pub fn open_create(state: &mut State) -> Vec<Effect> {
    let model = state.about.default_model.clone();
    let fresh = || Box::new(Create::new(model));
    let mut create = state.creating.take().unwrap_or_else(fresh);
    create.asked = false;
    let (ticket, effect) = state.reading(ReadAsk::Agents);
    create.ticket = ticket;
    state.layers.push(Layer::Create(create));
    vec![effect]
}

pub(super) fn act(create: &mut Create, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    match create.act(action) {
        Then::Stay => {}
        Then::Leave => {
            state.creating = create.is_written().then(|| Box::new(create.clone()));
            return (Vec::new(), Goes::Away);
        }
        Then::Edit => {
            let text = create.message.text().to_owned();
            return (vec![Effect::Edit(text)], Goes::On);
        }
        Then::Send(params) => {
            let spare = state.keys.spare();
            let key = create.send(&params, &spare);
            if key == spare {
                state.keys.used();
            }
            return (vec![Effect::Create { key, params }], Goes::On);
        }
    }
    (Vec::new(), Goes::On)
}

/// What became of a Session that was to be created. `Some`: it is there, and nobody went elsewhere meanwhile.
pub fn created(
    state: &mut State,
    key: &str,
    result: &Result<Box<AgentSession>, Trouble>,
) -> Option<String> {
    let is_it = |create: &Create| create.sending.as_deref() == Some(key);
    let at = state
        .layers
        .iter()
        .position(|layer| matches!(layer, Layer::Create(create) if is_it(create)));
    if let Some(at) = at {
        let Some(Layer::Create(create)) = state.layers.get_mut(at) else {
            return None;
        };
        if create.created(result) {
            state.layers.remove(at);
        }
        return result.as_ref().ok().map(|session| session.id.clone());
    }
    let mut left = state.creating.take_if(|create| is_it(create));
    let words = match (result, &mut left) {
        (Ok(session), _) => format!("created: {}", session.id),
        (Err(_), Some(create)) => {
            create.created(result);
            create
                .says
                .clone()
                .map(|(_, words)| words)
                .unwrap_or_default()
        }
        (Err(trouble), None) => trouble.words.clone(),
    };
    state.creating = left.filter(|_| result.is_err()).or(state.creating.take());
    state.notice = Some(words);
    None
}
