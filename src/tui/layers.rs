//! What lies above the list or the Session: questions, forms and screens of their own, the topmost of which gets the keys.

use super::action::{Action, Place};
use super::answer::{self, Answer, identity};
use super::create::{self, Agents, Create};
use super::field::Field;
use super::msg::{Effect, Trouble};
use super::reading::{ReadAsk, Seen};
use super::state::State;
use crate::api::{AgentSession, RequiredAction};
use crate::engine::ports::Submitted;

/// One of them.
#[derive(Clone, Debug)]
pub enum Layer {
    /// The question how to answer what the Session waits for.
    Answer(Box<Answer>),
    /// The form of a new Session.
    Create(Box<Create>),
}

/// Whether a layer is there afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goes {
    /// It stays.
    On,
    /// It is closed.
    Away,
}

impl Layer {
    /// Where keys go.
    pub fn place(&self) -> Place {
        match self {
            Layer::Answer(answer) => answer.place(),
            Layer::Create(create) => create.place(),
        }
    }

    /// Takes in text that was typed or pasted, where any is typed. `false`: it would be too long.
    pub fn insert(&mut self, text: &str) -> bool {
        match self {
            Layer::Answer(answer) if answer.writing.is_some() && answer.sending.is_none() => {
                answer.field.insert(text)
            }
            Layer::Create(create) => create.insert(text),
            Layer::Answer(_) => true,
        }
    }

    /// Whether anything was written that would be a pity to lose.
    pub fn is_written(&self) -> bool {
        match self {
            Layer::Answer(answer) => !answer.field.text().trim().is_empty(),
            Layer::Create(create) => create.is_written(),
        }
    }

    /// The text that an editor is to change.
    fn edited(&mut self) -> &mut Field {
        match self {
            Layer::Answer(answer) => &mut answer.field,
            Layer::Create(create) => &mut create.message,
        }
    }

    fn act(&mut self, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
        match self {
            Layer::Answer(answer) => act_answer(answer, state, action),
            Layer::Create(create) => act_create(create, state, action),
        }
    }

    /// Takes in what was read for it. Whether anything that is shown changed.
    fn read(&mut self, ticket: u64, result: &Result<Box<Seen>, Trouble>) -> bool {
        match self {
            Layer::Create(create) if create.ticket == ticket => {
                create.agents = match result {
                    Ok(seen) => match &**seen {
                        Seen::Agents(agents, more) => Agents::Known(agents.clone(), *more),
                    },
                    Err(trouble) => Agents::Unknown(trouble.words.clone()),
                };
                true
            }
            Layer::Create(_) | Layer::Answer(_) => false,
        }
    }
}

/// A key for the topmost layer.
pub fn act(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(mut layer) = state.layers.pop() else {
        return Vec::new();
    };
    let depth = state.layers.len();
    let (effects, goes) = layer.act(state, action);
    if goes == Goes::On {
        // What it opened is above it.
        state.layers.insert(depth.min(state.layers.len()), layer);
    }
    effects
}

/// What an editor wrote, for the topmost layer. `None`: there is none that is being written.
pub fn edited(state: &mut State, field: Field) -> Option<Field> {
    match state.layers.last_mut() {
        Some(layer) => {
            *layer.edited() = field;
            None
        }
        None => Some(field),
    }
}

/// What was read for a layer.
pub fn read(state: &mut State, ticket: u64, result: &Result<Box<Seen>, Trouble>) {
    for layer in &mut state.layers {
        state.dirty |= layer.read(ticket, result);
    }
}

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

fn act_answer(answer: &mut Answer, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    match answer.act(action) {
        answer::Then::Stay => {}
        answer::Then::Leave => return (Vec::new(), Goes::Away),
        answer::Then::Edit => {
            return (vec![Effect::Edit(answer.field.text().to_owned())], Goes::On);
        }
        answer::Then::Next => {
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
        answer::Then::Send(event) => {
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

fn act_create(create: &mut Create, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    match create.act(action) {
        create::Then::Stay => {}
        create::Then::Leave => {
            state.creating = create.is_written().then(|| Box::new(create.clone()));
            return (Vec::new(), Goes::Away);
        }
        create::Then::Edit => {
            let text = create.message.text().to_owned();
            return (vec![Effect::Edit(text)], Goes::On);
        }
        create::Then::Send(params) => {
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
