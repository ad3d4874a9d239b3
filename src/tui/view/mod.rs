//! Draws the state. It reads and decides nothing that is not on the screen, and makes only the rows that fit.

mod answer;
mod artifacts;
mod beside;
mod cancel;
mod composer;
mod create;
mod dialog;
mod facts;
pub mod help;
mod image;
mod inspect;
mod layers;
mod page;
mod paint;
mod palette;
mod records;
mod session;
mod sessions;
mod several;
mod subagents;
mod turns;
mod typed;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use self::paint::Paint;
pub use self::paint::Placed;
use super::action::{self, Place};
use super::layers::Layer;
use super::state::{LEAST, State};
use super::transcript::Role;
use crate::text::ago;

/// An answer that takes longer than this is told to be missing.
const PATIENCE_MS: u64 = 5_000;
/// The first row of the screen that has a Session of the list.
pub const LIST_TOP: usize = 3;

/// What a frame was.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// Where the cursor is; `None`: it is hidden.
    pub cursor: Option<Position>,
    /// Rows of lists and transcripts that were made.
    pub rows_built: usize,
    /// A place that the terminal is to fill with pixels.
    pub placed: Option<Placed>,
}

/// Draws all of the screen into `buffer`.
pub fn draw(state: &State, colour: bool, buffer: &mut Buffer) -> Drawn {
    let area = buffer.area;
    let mut paint = Paint {
        buffer,
        colour,
        glyphs: state.about.glyphs,
        rows_built: 0,
        placed: None,
    };
    if state.is_too_small() {
        let words = format!(
            "{}x{} is too small: {}x{} is the least",
            state.size.0, state.size.1, LEAST.0, LEAST.1
        );
        paint.words(
            area.x,
            area.y,
            usize::from(area.width),
            &words,
            Style::default(),
        );
        return Drawn::default();
    }
    header(state, &mut paint, area);
    let mut cursor = None;
    let covered = state.layers.iter().any(Layer::covers);
    let is_uncovered = state.layers.last().is_none_or(Layer::covers);
    match (&state.help, &state.open) {
        (Some(from), _) => help::draw(state, &mut paint, area, *from),
        _ if covered => {}
        (None, Some(open)) => {
            let searching = session::draw(state, open, &mut paint, area);
            cursor = composer::draw(state, open, &mut paint, area).or(searching);
            if state.place() == Place::Cancel {
                cancel::draw(open, &mut paint, area);
            }
        }
        (None, None) => cursor = sessions::draw(state, &mut paint, area),
    }
    if state.help.is_none() && !state.layers.is_empty() {
        cursor = layers::draw(state, &mut paint, area);
    }
    if let Some(notice) = &state.notice {
        let y = area.bottom() - 2;
        let style = paint.role(Role::Warn);
        clear_row(&mut paint, area, y);
        paint.words(area.x + 1, y, usize::from(area.width) - 2, notice, style);
    }
    footer(state, &mut paint, area);
    Drawn {
        cursor,
        rows_built: paint.rows_built,
        // What lies above it would be covered by it.
        placed: paint
            .placed
            .filter(|_| state.help.is_none() && is_uncovered),
    }
}

fn clear_row(paint: &mut Paint, area: Rect, y: u16) {
    let blank = " ".repeat(usize::from(area.width));
    paint.buffer.set_string(area.x, y, blank, Style::default());
}

/// Who and where, and how fresh.
fn header(state: &State, paint: &mut Paint, area: Rect) {
    let width = usize::from(area.width);
    let about = &state.about;
    let layers = state.layers.iter().rev().find_map(|layer| layer.problem());
    let problem = layers.or(match &state.open {
        Some(open) => open.problem.as_ref(),
        None => state.sessions.problem.as_ref(),
    });
    let (health, role) = match problem {
        Some((_, since_ms)) => {
            let since = ago(*since_ms, state.now_ms);
            let words = match since.strip_suffix(" ago") {
                Some(span) => format!("not read for {span}"),
                None => "not read".to_owned(),
            };
            (words, Role::Bad)
        }
        None => match waits_for(state) {
            Some(span) => (format!("no answer for {span}"), Role::Warn),
            None => ("live".to_owned(), Role::Dim),
        },
    };
    let health = match state.mouse {
        true => format!("mouse  {health}"),
        false => health,
    };
    let health = match about.read_only {
        true => format!("read-only  {health}"),
        false => health,
    };
    let right = crate::text::cells(&health);
    let room = width.saturating_sub(right + 4);
    let used = paint.words(area.x + 1, area.y, room, "rat-things", paint.bold());
    let place = format!("{}  {}", about.profile, about.place);
    let x = area.x + 3 + used as u16;
    paint.words(
        x,
        area.y,
        room.saturating_sub(used + 2),
        &place,
        paint.dim(),
    );
    let x = area.right().saturating_sub(right as u16 + 1);
    let style = paint.role(role);
    paint.words(x, area.y, right, &health, style);
}

/// How long an answer is waited for, if that is long.
fn waits_for(state: &State) -> Option<String> {
    let since_ms = match &state.open {
        Some(open) => open.waits_since(),
        None => state.sessions.waits_since(),
    }?;
    let is_long = state.now_ms.saturating_sub(since_ms) >= PATIENCE_MS;
    let since = ago(since_ms, state.now_ms);
    let span = since.strip_suffix(" ago").unwrap_or(&since);
    is_long.then(|| span.to_owned())
}

/// The keys of the place where keys go, the most important first.
fn footer(state: &State, paint: &mut Paint, area: Rect) {
    let y = area.bottom() - 1;
    let mut x = 1;
    // A row that a person took the keys from has nothing to show.
    let key = |b: &'static action::Binding| Some((*state.keymap.keys(b).first()?, b));
    let cells = |(key, b): &(&str, &action::Binding)| key.len() + 1 + b.short.len();
    let all = action::footer(state.place(), state.about.read_only).filter_map(key);
    // Where there is no room for all, help has the last place.
    let (help, others): (Vec<_>, Vec<_>) = all.partition(|(_, b)| b.action == action::Action::Help);
    let width = usize::from(area.width);
    let kept: usize = help.iter().map(|b| cells(b) + 2).sum();
    let mut shown = Vec::new();
    let mut used = x;
    for row in others {
        used += cells(&row) + 2;
        if used + kept > width {
            break;
        }
        shown.push(row);
    }
    for row in shown.into_iter().chain(help) {
        let (cells, (key, binding)) = (cells(&row), row);
        paint.words(area.x + x as u16, y, key.len(), key, paint.bold());
        let at = area.x + (x + key.len() + 1) as u16;
        paint.words(at, y, binding.short.len(), binding.short, paint.dim());
        x += cells + 2;
    }
}
