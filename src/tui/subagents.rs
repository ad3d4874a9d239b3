//! The subagents of a Session as a list, in the order in which they were started; and the transcript of one, to be read. Pure.

use super::action::Action;
use super::msg::{Effect, Look, LookAsk, Trouble};
use super::reading::ReadAsk;
use super::rows::Rows;
use super::session::Open;
use super::state::State;
use super::times::Times;
use super::window::{Chunk, Where};
use crate::api::{Item, Subagent, Words, agent_text};

/// A transcript is looked at again after so long: nothing tells what a subagent does.
const LOOK_MS: u64 = 2_000;

/// Subagents as a list.
#[derive(Clone, Debug)]
pub struct Subagents {
    /// The Session.
    pub session: String,
    /// The rows.
    pub rows: Rows<Subagent>,
}

impl Subagents {
    /// A list that nothing was read for yet.
    pub fn new(session: String) -> Subagents {
        Subagents {
            session,
            rows: Rows::default(),
        }
    }

    /// Asks for rows.
    pub fn read(&mut self, state: &mut State, at: Where) -> Effect {
        let ask = ReadAsk::Subagents {
            session: self.session.clone(),
            at: at.clone(),
        };
        let (ticket, effect) = state.reading(ask);
        self.rows.asked(at, ticket, state.now_ms);
        effect
    }
}

/// What it was told when it was started.
pub fn told(subagent: &Subagent) -> String {
    let parts = subagent.instructions.as_deref();
    parts.map(agent_text).unwrap_or_default()
}

/// What there is to know of a subagent, a name and a value each.
pub fn subagent_facts(subagent: &Subagent, times: &Times) -> Vec<(&'static str, String)> {
    let closed = subagent.closed_at.map(|at| times.full(at * 1000));
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    vec![
        ("subagent", subagent.id.clone()),
        ("name", or_dash(subagent.name.clone())),
        ("state", subagent.status.as_str().to_owned()),
        ("opened", times.full(subagent.opened_at * 1000)),
        ("closed", or_dash(closed)),
        ("started by", subagent.parent_agent_id.clone()),
        ("told", told(subagent)),
    ]
}

/// The transcript of one subagent. It is shown as a Session's is, without what only a Session has.
#[derive(Clone, Debug)]
pub struct Story {
    /// The Session.
    pub session: String,
    /// The subagent, as it was when this was opened.
    pub subagent: Subagent,
    /// Its Items, and where a person is in them.
    pub open: Open,
    /// The answer to which request is wanted.
    pub ticket: u64,
    /// What that request is called by the transcript.
    look: u64,
    looked_ms: u64,
}

impl Story {
    /// A transcript that nothing was read of yet.
    pub fn new(session: String, subagent: Subagent) -> Story {
        Story {
            open: Open::new(subagent.id.clone()),
            session,
            subagent,
            ticket: 0,
            look: 0,
            looked_ms: 0,
        }
    }

    /// Shows the newest Items.
    pub fn start(&mut self, state: &mut State) -> Vec<Effect> {
        let effects = self.open.start(state.now_ms);
        self.asks(state, effects)
    }

    /// Moves in it.
    pub fn act(&mut self, state: &mut State, action: Action) -> Vec<Effect> {
        let action = match action {
            Action::Last => Action::Follow,
            action => action,
        };
        let (look, height) = (state.page_look(), state.page_height());
        self.open.keep_anchor(look);
        let effects = self.open.act(action, look, height);
        self.asks(state, effects)
    }

    /// Takes Items in.
    pub fn read(&mut self, state: &mut State, result: Result<Chunk<Item>, Trouble>) -> Vec<Effect> {
        let result = result.map(|items| {
            Box::new(Look {
                session: None,
                turns: Vec::new(),
                newest: Vec::new(),
                items: Some(items),
            })
        });
        let (look, height) = (state.page_look(), state.page_height());
        let (effects, _) = self.open.looked(self.look, result, look, height);
        self.asks(state, effects)
    }

    /// Once a second: looks at what came since.
    pub fn tick(&mut self, state: &mut State) -> Vec<Effect> {
        if self.open.waits_since().is_some() && self.ticket != state.newest_ticket() {
            // Another request took its place, so that nothing answers it any more.
            self.open.forget_look();
        }
        let is_due = state.now_ms.saturating_sub(self.looked_ms) >= LOOK_MS;
        if !is_due || self.open.waits_since().is_some() {
            return Vec::new();
        }
        let effects = self.open.look_at_news(state.now_ms);
        self.asks(state, effects)
    }

    /// Reads again what may have changed.
    pub fn again(&mut self, state: &mut State) -> Vec<Effect> {
        self.open.forget_look();
        let effects = self.open.look_at_news(state.now_ms);
        self.asks(state, effects)
    }

    /// What the transcript wants to look at, asked for as what it is: Items of a subagent. All else that it wants is of a Session.
    fn asks(&mut self, state: &mut State, effects: Vec<Effect>) -> Vec<Effect> {
        let mut looks = effects.into_iter().filter_map(|effect| match effect {
            Effect::Look(ask) => Some(ask),
            _ => None,
        });
        let Some(LookAsk { ticket, items, .. }) = looks.next_back() else {
            return Vec::new();
        };
        self.looked_ms = state.now_ms;
        let Some(at) = items else {
            // What is new is far from what is read, and a Session's state is not asked for.
            self.open.forget_look();
            return Vec::new();
        };
        let ask = ReadAsk::SubagentItems {
            session: self.session.clone(),
            subagent: self.subagent.id.clone(),
            at,
        };
        let (read, effect) = state.reading(ask);
        (self.ticket, self.look) = (read, ticket);
        vec![effect]
    }
}
