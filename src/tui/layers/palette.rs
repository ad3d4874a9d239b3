//! The command palette, among the layers.

use super::{Goes, Layer};
use crate::tui::action::Action;
use crate::tui::msg::Effect;
use crate::tui::palette::{Does, Palette};
use crate::tui::state::State;

/// Opens it for the place where keys go now.
pub fn open_palette(state: &mut State) {
    state.help = None;
    let palette = Palette::new(state);
    state.layers.push(Layer::Palette(Box::new(palette)));
}

pub(super) fn act(palette: &mut Palette, state: &mut State, action: Action) -> (Vec<Effect>, Goes) {
    let entry = palette.fitting().into_iter().nth(palette.selected);
    match (action, entry) {
        (Action::Back, _) => (Vec::new(), Goes::Away),
        (Action::Accept, Some(entry)) => {
            // It is done where the palette was opened: that is what the keys go to without it.
            let effects = match entry.does {
                Does::Act(action) => crate::tui::update::perform(state, action),
                Does::Profile(name) => {
                    state.layers.clear();
                    crate::tui::update::leave(state, Effect::Profile(name))
                }
                Does::Open(session) => {
                    state.layers.clear();
                    state.go_to(session)
                }
            };
            (effects, Goes::Away)
        }
        (Action::CopyCommand, Some(entry)) => match &entry.command {
            Some(command) => (state.copy(command), Goes::On),
            None => {
                state.notice = Some("no command does the same".to_owned());
                (Vec::new(), Goes::On)
            }
        },
        (Action::Accept | Action::CopyCommand, None) => {
            state.notice = Some("nothing fits".to_owned());
            (Vec::new(), Goes::On)
        }
        (action, _) => {
            palette.act(action);
            (Vec::new(), Goes::On)
        }
    }
}
