//! What lies above the list or the Session: questions, forms and screens of their own, the topmost of which gets the keys.

use super::action::{Action, Place};
use super::answer::Answer;
use super::artifacts::{Artifacts, Preview};
use super::create::{Agents, Create};
use super::field::Field;
use super::inspect::Inspect;
use super::msg::{Effect, Trouble};
use super::palette::Palette;
use super::reading::Seen;
use super::records::{About, Deliveries, Owed, Report, Runs};
use super::save::Save;
use super::settle::Settle;
use super::several::Several;
use super::state::State;
use super::subagents::{Story, Subagents};
use super::turns::Turns;

mod answer;
mod artifacts;
mod create;
mod inspect;
mod palette;
mod records;
mod several;
mod subagents;
mod turns;

pub use answer::{open_answer, sent, waited_for};
pub use artifacts::saving;
pub use create::{created, open_create};
pub use inspect::open_inspect;
pub use palette::open_palette;
pub use records::settled;
pub use several::{
    ROOM as SEVERAL_ROOM, cancel_sent, deed_done, height as several_height, open_several,
};
pub use subagents::open_subagents;
pub use turns::{open_turns, place_read, turn_beside};

/// One of them.
#[derive(Clone, Debug)]
pub enum Layer {
    /// The question how to answer what the Session waits for.
    Answer(Box<Answer>),
    /// The form of a new Session.
    Create(Box<Create>),
    /// The Turns of the Session.
    Turns(Box<Turns>),
    /// The subagents of the Session.
    Subagents(Box<Subagents>),
    /// The transcript of one of them.
    Story(Box<Story>),
    /// One Item or Turn in full.
    Inspect(Box<Inspect>),
    /// The Artifacts of a Session.
    Artifacts(Box<Artifacts>),
    /// One of them, as far as it can be shown.
    Preview(Box<Preview>),
    /// Where it is to be saved.
    Save(Box<Save>),
    /// The Runs of a Session.
    Runs(Box<Runs>),
    /// The deliveries of a Session.
    Deliveries(Box<Deliveries>),
    /// What all Sessions owe.
    Owed(Box<Owed>),
    /// A page of words.
    Report(Box<Report>),
    /// The question before something is settled.
    Settle(Box<Settle>),
    /// What is done to several Sessions.
    Several(Box<Several>),
    /// The command palette.
    Palette(Box<Palette>),
}

/// A screen of its own that has a key everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The deliveries of the Session that is open, or what all Sessions owe.
    Deliveries,
    /// The Runs of the Session that is open or selected.
    Runs,
    /// Its environment.
    Environment,
    /// Its Artifacts.
    Artifacts,
    /// Whether all is in order where the Sessions live.
    Health,
    /// Why the Session does or does not move.
    Explain,
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
            Layer::Turns(_) => Place::Turns,
            Layer::Subagents(_) => Place::Subagents,
            Layer::Story(_) => Place::Story,
            Layer::Inspect(_) => Place::Inspect,
            Layer::Artifacts(_) => Place::Artifacts,
            Layer::Preview(_) => Place::Preview,
            Layer::Save(save) => save.place(),
            Layer::Runs(_) => Place::Runs,
            Layer::Deliveries(_) => Place::Deliveries,
            Layer::Owed(_) => Place::Owed,
            Layer::Report(_) => Place::Report,
            Layer::Settle(settle) => settle.place(),
            Layer::Several(several) => several.place(),
            Layer::Palette(_) => Place::Palette,
        }
    }

    /// Whether nothing below it is seen.
    pub fn covers(&self) -> bool {
        match self {
            Layer::Answer(_)
            | Layer::Create(_)
            | Layer::Save(_)
            | Layer::Settle(_)
            | Layer::Palette(_) => false,
            Layer::Turns(_)
            | Layer::Subagents(_)
            | Layer::Story(_)
            | Layer::Inspect(_)
            | Layer::Artifacts(_)
            | Layer::Preview(_)
            | Layer::Runs(_)
            | Layer::Deliveries(_)
            | Layer::Owed(_)
            | Layer::Several(_)
            | Layer::Report(_) => true,
        }
    }

    /// Why what it shows could not be read again, and since when.
    pub fn problem(&self) -> Option<&(String, u64)> {
        match self {
            Layer::Turns(of) => of.rows.problem.as_ref(),
            Layer::Subagents(of) => of.rows.problem.as_ref(),
            Layer::Story(of) => of.open.problem.as_ref(),
            Layer::Artifacts(of) => of.rows.problem.as_ref(),
            Layer::Runs(of) => of.rows.problem.as_ref(),
            Layer::Deliveries(of) => of.rows.problem.as_ref(),
            Layer::Owed(of) => of.rows.problem.as_ref(),
            Layer::Report(of) => of.problem.as_ref(),
            _ => None,
        }
    }

    /// Takes in text that was typed or pasted, where any is typed. `false`: it would be too long.
    pub fn insert(&mut self, text: &str) -> bool {
        match self {
            Layer::Answer(answer) => answer.insert(text),
            Layer::Create(create) => create.insert(text),
            Layer::Settle(settle) if settle.sending.is_none() => {
                settle.field.insert(&text.replace(['\n', '\r'], " "))
            }
            Layer::Palette(palette) => {
                palette.selected = 0;
                palette.field.insert(&text.replace(['\n', '\r'], " "))
            }
            Layer::Several(several) if several.place() == Place::SeveralText => {
                several.field.insert(&text.replace(['\n', '\r'], " "))
            }
            Layer::Save(save) if save.place() == Place::Save => {
                save.field.insert(&text.replace(['\n', '\r'], " "))
            }
            _ => true,
        }
    }

    /// Whether anything was written that would be a pity to lose.
    pub fn is_written(&self) -> bool {
        match self {
            Layer::Answer(answer) => answer.is_written(),
            Layer::Create(create) => create.is_written(),
            _ => false,
        }
    }

    /// The text that an editor is to change.
    fn edited(&mut self) -> Option<&mut Field> {
        match self {
            Layer::Answer(answer) => Some(&mut answer.field),
            Layer::Create(create) => Some(&mut create.message),
            _ => None,
        }
    }

    fn act(&mut self, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
        match self {
            Layer::Answer(of) => answer::act(of, state, action),
            Layer::Create(of) => create::act(of, state, action),
            Layer::Turns(of) => turns::act(of, state, action),
            Layer::Subagents(of) => subagents::act(of, state, action),
            Layer::Story(of) => subagents::act_story(of, state, action),
            Layer::Inspect(of) => inspect::act(of, state, action),
            Layer::Artifacts(of) => artifacts::act(of, state, action),
            Layer::Preview(of) => artifacts::act_preview(of, state, action),
            Layer::Save(of) => artifacts::act_save(of, state, action),
            Layer::Runs(of) => records::act_runs(of, state, action),
            Layer::Deliveries(of) => records::act_deliveries(of, state, action),
            Layer::Owed(of) => records::act_owed(of, state, action),
            Layer::Report(of) => records::act_report(of, state, action),
            Layer::Settle(of) => records::act_settle(of, state, action),
            Layer::Several(of) => several::act(of, state, action),
            Layer::Palette(of) => palette::act(of, state, action),
        }
    }

    /// Takes in what was read for it; `false`: it was not read for this one.
    fn read(
        &mut self,
        state: &mut State,
        ticket: u64,
        result: &Result<Box<Seen>, Trouble>,
    ) -> Option<Vec<Effect>> {
        match self {
            Layer::Create(of) if of.ticket == ticket => {
                of.agents = match result.as_deref() {
                    Ok(Seen::Agents(agents, more)) => Agents::Known(agents.clone(), *more),
                    Ok(_) => Agents::Unknown("something else came".to_owned()),
                    Err(trouble) => Agents::Unknown(trouble.words.clone()),
                };
                Some(Vec::new())
            }
            Layer::Turns(of) if of.rows.ticket == ticket => Some(turns::read(of, state, result)),
            Layer::Subagents(of) if of.rows.ticket == ticket => {
                Some(subagents::read(of, state, result))
            }
            Layer::Story(of) if of.ticket == ticket => {
                Some(subagents::read_story(of, state, result))
            }
            Layer::Artifacts(of) if of.rows.ticket == ticket => {
                Some(artifacts::read(of, state, result))
            }
            Layer::Artifacts(of) => {
                let beside = of.beside.as_mut().filter(|of| of.ticket == ticket)?;
                artifacts::read_preview(beside, result);
                Some(Vec::new())
            }
            Layer::Runs(of) if of.rows.ticket == ticket => {
                Some(records::read_runs(of, state, result))
            }
            Layer::Deliveries(of) if of.rows.ticket == ticket => {
                Some(records::read_deliveries(of, state, result))
            }
            Layer::Owed(of) if of.rows.ticket == ticket => {
                Some(records::read_owed(of, state, result))
            }
            Layer::Several(of) if of.ticket == ticket => {
                several::read(of, result, state.now_ms);
                Some(Vec::new())
            }
            Layer::Report(of) if of.ticket == ticket => {
                records::read_report(of, state, result);
                Some(Vec::new())
            }
            Layer::Preview(of) if of.ticket == ticket => {
                artifacts::read_preview(of, result);
                Some(Vec::new())
            }
            _ => None,
        }
    }

    /// Once a second. Whether anything that is shown changed.
    fn tick(&mut self, state: &mut State) -> (Vec<Effect>, bool) {
        match self {
            Layer::Turns(of) => turns::tick(of, state),
            Layer::Subagents(of) => subagents::tick(of, state),
            Layer::Story(of) => (of.tick(state), of.open.problem.is_some()),
            Layer::Artifacts(of) => artifacts::tick(of, state),
            Layer::Several(of) => several::tick(of, state),
            Layer::Runs(of) => {
                let at = of.rows.tick(state.now_ms, state.newest_ticket());
                // Ages are shown.
                (at.map(|at| of.read(state, at)).into_iter().collect(), true)
            }
            Layer::Deliveries(of) => {
                let at = of.rows.tick(state.now_ms, state.newest_ticket());
                (at.map(|at| of.read(state, at)).into_iter().collect(), true)
            }
            Layer::Owed(of) => {
                let due = of.rows.tick(state.now_ms, state.newest_ticket()).is_some();
                (due.then(|| of.read(state)).into_iter().collect(), true)
            }
            Layer::Report(of) => {
                let due = of.is_due(state.now_ms, state.newest_ticket());
                let problem = of.problem.is_some();
                (due.then(|| of.read(state)).into_iter().collect(), problem)
            }
            Layer::Inspect(of) => {
                let times = state.times();
                let changed = state.open.as_ref().is_some_and(|o| of.renew(o, &times));
                (Vec::new(), changed)
            }
            _ => (Vec::new(), false),
        }
    }
}

/// Opens a screen of its own, in the place of those that are open.
pub fn open_view(state: &mut State, view: View) -> Vec<Effect> {
    if state.layers.last().is_some_and(|layer| !layer.covers()) {
        // A question is answered or left first.
        return Vec::new();
    }
    state.help = None;
    let open = state.open.as_ref().map(|open| open.id.clone());
    let selected = || state.sessions.current().map(|session| session.id.clone());
    let session = open.clone().or_else(selected);
    match (view, open, session) {
        (View::Health, _, _) => {
            state.layers.clear();
            records::open_report(state, About::Health)
        }
        (View::Deliveries, None, selected) => {
            state.layers.clear();
            records::open_owed(state, selected)
        }
        (_, _, None) => {
            state.notice = Some("there is no Session yet".to_owned());
            Vec::new()
        }
        (view, _, Some(session)) => {
            state.layers.clear();
            match view {
                View::Artifacts => artifacts::open_artifacts(state, session),
                View::Runs => records::open_runs(state, session),
                View::Explain => records::open_report(state, About::Explain(session)),
                View::Environment => records::open_report(state, About::Environment(session)),
                View::Deliveries | View::Health => records::open_deliveries(state, session),
            }
        }
    }
}

/// To the list of Sessions, whatever is open.
pub fn to_sessions(state: &mut State) -> Vec<Effect> {
    if state.layers.last().is_some_and(|layer| !layer.covers()) {
        return Vec::new();
    }
    state.help = None;
    state.layers.clear();
    match state.open {
        Some(_) => super::update::close(state),
        None => Vec::new(),
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

/// What an editor wrote, for the topmost layer. `Some`: there is none that is being written.
pub fn edited(state: &mut State, field: Field) -> Option<Field> {
    match state.layers.last_mut().and_then(Layer::edited) {
        Some(of) => {
            *of = field;
            None
        }
        None => Some(field),
    }
}

/// What was read for a layer.
pub fn read(state: &mut State, ticket: u64, result: &Result<Box<Seen>, Trouble>) -> Vec<Effect> {
    let mut effects = Vec::new();
    for (depth, mut layer) in std::mem::take(&mut state.layers).into_iter().enumerate() {
        if let Some(more) = layer.read(state, ticket, result) {
            effects.extend(more);
            state.dirty = true;
        }
        state.layers.insert(depth.min(state.layers.len()), layer);
    }
    effects
}

/// Reads again what the topmost layer shows.
pub fn refresh(state: &mut State) -> Vec<Effect> {
    let Some(mut layer) = state.layers.pop() else {
        return Vec::new();
    };
    let effects = match &mut layer {
        Layer::Turns(of) => vec![of.read(state, of.rows.again())],
        Layer::Subagents(of) => vec![of.read(state, of.rows.again())],
        Layer::Story(of) => of.again(state),
        Layer::Artifacts(of) => vec![of.read(state, of.rows.again())],
        Layer::Runs(of) => vec![of.read(state, of.rows.again())],
        Layer::Deliveries(of) => vec![of.read(state, of.rows.again())],
        Layer::Owed(of) => vec![of.read(state)],
        Layer::Report(of) => vec![of.read(state)],
        _ => Vec::new(),
    };
    state.layers.push(layer);
    effects
}

/// Once a second, for the topmost layer: the others are not seen.
pub fn tick(state: &mut State) -> Vec<Effect> {
    let Some(mut layer) = state.layers.pop() else {
        return Vec::new();
    };
    let (effects, changed) = layer.tick(state);
    state.dirty |= changed;
    state.layers.push(layer);
    effects
}
