//! The subagents of a Session and the transcript of one, among the layers.

use super::{Goes, Layer};
use crate::tui::action::Action;
use crate::tui::msg::{Effect, Trouble};
use crate::tui::reading::Seen;
use crate::tui::state::State;
use crate::tui::subagents::{Story, Subagents};
use crate::tui::window::Where;

/// Opens the list of subagents of the open Session.
pub fn open_subagents(state: &mut State) -> Vec<Effect> {
    let Some(open) = &state.open else {
        return Vec::new();
    };
    let mut subagents = Subagents::new(open.id.clone());
    let effect = subagents.read(state, Where::Start);
    state.layers.push(Layer::Subagents(Box::new(subagents)));
    vec![effect]
}

pub(super) fn act(
    subagents: &mut Subagents,
    state: &mut State,
    action: Action,
) -> (Vec<Effect>, Goes) {
    let current = subagents.rows.current().cloned();
    let effects = match (action, current) {
        (Action::Back, _) => return (Vec::new(), Goes::Away),
        (Action::Open, Some(subagent)) => {
            let mut story = Story::new(subagents.session.clone(), subagent);
            let effects = story.start(state);
            state.layers.push(Layer::Story(Box::new(story)));
            effects
        }
        (Action::CopyId, Some(subagent)) => state.copy(&subagent.id),
        (action, _) => {
            let at = subagents.rows.act(action, state.page_height() - 1);
            at.map(|at| subagents.read(state, at)).into_iter().collect()
        }
    };
    (effects, Goes::On)
}

pub(super) fn read(
    subagents: &mut Subagents,
    state: &mut State,
    result: &Result<Box<Seen>, Trouble>,
) -> Vec<Effect> {
    let result = match result.as_deref() {
        Ok(Seen::Subagents(chunk)) => Ok(chunk.clone()),
        Ok(_) => return Vec::new(),
        Err(trouble) => Err(trouble.clone()),
    };
    let height = state.page_height() - 1;
    let next = subagents.rows.take(result, height, state.now_ms);
    let next = next.map(|at| subagents.read(state, at));
    next.into_iter().collect()
}

pub(super) fn tick(subagents: &mut Subagents, state: &mut State) -> (Vec<Effect>, bool) {
    let at = subagents.rows.tick(state.now_ms, state.newest_ticket());
    let effects = at.map(|at| subagents.read(state, at)).into_iter().collect();
    (effects, subagents.rows.problem.is_some())
}

pub(super) fn act_story(
    story: &mut Story,
    state: &mut State,
    action: Action,
) -> (Vec<Effect>, Goes) {
    let nothing = |state: &mut State| {
        state.notice = Some("there is no Item yet".to_owned());
        Vec::new()
    };
    let effects = match action {
        Action::Back => return (Vec::new(), Goes::Away),
        Action::CopyId => state.copy(&story.subagent.id),
        Action::Copy => match story.open.copied_text() {
            Some(text) => state.copy(&text),
            None => nothing(state),
        },
        Action::Pager => match story.open.paged_text() {
            Some(text) => vec![Effect::Page(text)],
            None => nothing(state),
        },
        action => story.act(state, action),
    };
    (effects, Goes::On)
}

pub(super) fn read_story(
    story: &mut Story,
    state: &mut State,
    result: &Result<Box<Seen>, Trouble>,
) -> Vec<Effect> {
    let result = match result.as_deref() {
        Ok(Seen::SubagentItems(chunk)) => Ok(chunk.clone()),
        Ok(_) => return Vec::new(),
        Err(trouble) => Err(trouble.clone()),
    };
    story.read(state, result)
}
