//! What lies above the list or the Session.

use ratatui::layout::{Position, Rect};

use super::paint::Paint;
use super::{answer, artifacts, create, inspect, palette, records, several, subagents, turns};
use crate::tui::layers::Layer;
use crate::tui::state::State;

/// Draws all layers, the topmost last; answers where its cursor is.
pub fn draw(state: &State, paint: &mut Paint, area: Rect) -> Option<Position> {
    // Between the header and the line of notices.
    let body = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(3),
        ..area
    };
    let mut cursor = None;
    for layer in &state.layers {
        cursor = match layer {
            Layer::Answer(of) => answer::draw(state, of, paint, body),
            Layer::Create(of) => create::draw(state, of, paint, body),
            Layer::Turns(of) => {
                turns::draw(state, of, paint, body);
                None
            }
            Layer::Subagents(of) => {
                subagents::draw(state, of, paint, body);
                None
            }
            Layer::Story(of) => {
                subagents::draw_story(state, of, paint, body);
                None
            }
            Layer::Artifacts(of) => {
                artifacts::draw(state, of, paint, body);
                None
            }
            Layer::Preview(of) => {
                artifacts::draw_preview(state, of, paint, body);
                None
            }
            Layer::Several(of) => several::draw(state, of, paint, body),
            Layer::Save(of) => artifacts::draw_save(of, paint, body),
            Layer::Palette(of) => palette::draw(of, paint, body),
            Layer::Settle(of) => records::draw_settle(of, paint, body),
            Layer::Runs(of) => {
                records::draw_runs(state, of, paint, body);
                None
            }
            Layer::Deliveries(of) => {
                records::draw_deliveries(state, of, paint, body);
                None
            }
            Layer::Owed(of) => {
                records::draw_owed(state, of, paint, body);
                None
            }
            Layer::Report(of) => {
                records::draw_report(state, of, paint, body);
                None
            }
            Layer::Inspect(of) => {
                inspect::draw(of, state, paint, body);
                None
            }
        };
    }
    cursor
}
