//! One Item or Turn in full, among the layers.

use super::{Goes, Layer};
use crate::tui::action::Action;
use crate::tui::inspect::{Inspect, Subject};
use crate::tui::msg::Effect;
use crate::tui::state::State;

/// Opens the marked Item, or the newest one.
pub fn open_inspect(state: &mut State) {
    let item = state.open.as_ref().and_then(|open| {
        let marked = open.marked();
        marked.or_else(|| open.items.rows().last()).cloned()
    });
    match item {
        Some(item) => {
            let inspect = Inspect::new(Subject::Item(Box::new(item)), &state.times());
            state.layers.push(Layer::Inspect(Box::new(inspect)));
        }
        None => state.notice = Some("there is no Item yet".to_owned()),
    }
}

pub(super) fn act(inspect: &mut Inspect, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    match action {
        Action::Back => return (Vec::new(), Goes::Away),
        Action::Copy => return (state.copy(inspect.reader.text()), Goes::On),
        Action::Pager => {
            return (
                vec![Effect::Page(inspect.whole_text(&state.times()))],
                Goes::On,
            );
        }
        Action::CopyId => {
            let effects = match inspect.id().map(str::to_owned) {
                Some(id) => state.copy(&id),
                None => Vec::new(),
            };
            return (effects, Goes::On);
        }
        action => {
            let (look, height) = (state.page_look(), state.page_height());
            inspect.act(action, look, height, &state.times());
        }
    }
    (Vec::new(), Goes::On)
}
