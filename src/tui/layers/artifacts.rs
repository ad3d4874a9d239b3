//! Artifacts, the preview of one and the question where to save it, among the layers.

use super::{Goes, Layer};
use crate::api::SessionArtifact;
use crate::tui::action::Action;
use crate::tui::artifacts::{Artifacts, Preview};
use crate::tui::msg::{Effect, Trouble};
use crate::tui::picture::Pictures;
use crate::tui::reading::{ReadAsk, Seen};
use crate::tui::save::{Save, SaveAsk, Saving, Stage, Then};
use crate::tui::state::State;
use crate::tui::window::Where;

/// Opens the list of Artifacts of a Session.
pub fn open_artifacts(state: &mut State, session: String) -> Vec<Effect> {
    let mut artifacts = Artifacts::new(session);
    let effect = artifacts.read(state, Where::Start);
    state.layers.push(Layer::Artifacts(Box::new(artifacts)));
    vec![effect]
}

pub(super) fn act(
    artifacts: &mut Artifacts,
    state: &mut State,
    action: Action,
) -> (Vec<Effect>, Goes) {
    let current = artifacts.rows.current().cloned();
    let effects = match (action, current) {
        (Action::Back, _) => return (Vec::new(), Goes::Away),
        (Action::Open, Some(artifact)) => {
            let there = artifacts.beside.clone();
            let there = there.filter(|of| of.artifact == artifact && of.shown.is_some());
            if let Some(preview) = there {
                state.layers.push(Layer::Preview(preview));
                return (Vec::new(), Goes::On);
            }
            let (ticket, effect) = state.reading(ReadAsk::Head {
                session: artifact.session_id.clone(),
                artifact: artifact.id.clone(),
                rests: false,
                picture: state.about.pictures != Pictures::Words,
            });
            let preview = Preview::new(artifact, ticket);
            state.layers.push(Layer::Preview(Box::new(preview)));
            vec![effect]
        }
        (Action::Save, Some(artifact)) => ask_where(state, artifact),
        (Action::CopyId, Some(artifact)) => state.copy(&artifact.id),
        (action, _) => {
            let at = artifacts.rows.act(action, state.page_height() - 1);
            read_or_peek(artifacts, state, at)
        }
    };
    (effects, Goes::On)
}

/// Rows that are asked for, or else the first bytes of the selected one: there is one request at a time.
fn read_or_peek(artifacts: &mut Artifacts, state: &mut State, at: Option<Where>) -> Vec<Effect> {
    let effect = match at {
        Some(at) => Some(artifacts.read(state, at)),
        None => artifacts.peek(state),
    };
    effect.into_iter().collect()
}

pub(super) fn read(
    artifacts: &mut Artifacts,
    state: &mut State,
    result: &Result<Box<Seen>, Trouble>,
) -> Vec<Effect> {
    let result = match result.as_deref() {
        Ok(Seen::Artifacts(chunk)) => Ok(chunk.clone()),
        Ok(_) => return Vec::new(),
        Err(trouble) => Err(trouble.clone()),
    };
    let height = state.page_height() - 1;
    let next = artifacts.rows.take(result, height, state.now_ms);
    read_or_peek(artifacts, state, next)
}

pub(super) fn tick(artifacts: &mut Artifacts, state: &mut State) -> (Vec<Effect>, bool) {
    let at = artifacts.rows.tick(state.now_ms, state.newest_ticket());
    let effects = read_or_peek(artifacts, state, at);
    (effects, artifacts.rows.problem.is_some())
}

pub(super) fn act_preview(
    preview: &mut Preview,
    state: &mut State,
    action: Action,
) -> (Vec<Effect>, Goes) {
    let effects = match action {
        Action::Back => return (Vec::new(), Goes::Away),
        Action::Save => ask_where(state, preview.artifact.clone()),
        Action::CopyId => state.copy(&preview.artifact.id),
        Action::Pager => match &preview.shown {
            Some(shown) => vec![Effect::Page(shown.reader.text().to_owned())],
            None => Vec::new(),
        },
        Action::Copy => match &preview.shown {
            Some(shown) => state.copy(shown.reader.text()),
            None => Vec::new(),
        },
        action => {
            preview.act(action, state.page_look(), state.page_height());
            Vec::new()
        }
    };
    (effects, Goes::On)
}

pub(super) fn read_preview(preview: &mut Preview, result: &Result<Box<Seen>, Trouble>) {
    preview.read(match result.as_deref() {
        Ok(Seen::Head(head)) => Ok(head.clone()),
        Ok(_) => Err("something else came".to_owned()),
        Err(trouble) => Err(trouble.words.clone()),
    });
}

fn ask_where(state: &mut State, artifact: SessionArtifact) -> Vec<Effect> {
    state
        .layers
        .push(Layer::Save(Box::new(Save::new(artifact))));
    Vec::new()
}

pub(super) fn act_save(save: &mut Save, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    match save.act(action) {
        Then::Stay => (Vec::new(), Goes::On),
        Then::Leave => (Vec::new(), Goes::Away),
        Then::Stop => (vec![Effect::StopSaving], Goes::On),
        Then::Save(replace) => {
            save.ticket = state.ticket();
            (save.stage, save.says) = (Stage::Writing(0), None);
            let ask = SaveAsk {
                ticket: save.ticket,
                session: save.artifact.session_id.clone(),
                artifact: save.artifact.id.clone(),
                to: save.field.text().trim().to_owned(),
                replace,
            };
            (vec![Effect::Save(ask)], Goes::On)
        }
    }
}

/// How far an Artifact is saved.
pub fn saving(state: &mut State, ticket: u64, saving: &Saving) {
    let at = state
        .layers
        .iter_mut()
        .enumerate()
        .find_map(|(at, layer)| match layer {
            Layer::Save(save)
                if save.ticket == ticket && save.place() == crate::tui::action::Place::Saving =>
            {
                Some((at, save.saving(saving)))
            }
            _ => None,
        });
    let Some((at, over)) = at else {
        return;
    };
    state.dirty = true;
    if over.is_some() {
        state.layers.remove(at);
        state.notice = over;
    }
}
