//! A list of one kind in a screen of its own: a window, a selection, and when to read. Pure.

use super::action::Action;
use super::msg::Trouble;
use super::window::{Chunk, Where, Window};
use crate::api::HasId;

/// The list is read again after so long.
const REFRESH_MS: u64 = 2_000;

/// See the module.
#[derive(Clone, Debug)]
pub struct Rows<T> {
    /// The rows.
    pub window: Window<T>,
    /// Place of the selected row in the window.
    pub selected: usize,
    /// Place of the first row on the screen.
    pub top: usize,
    /// Something was read.
    pub loaded: bool,
    /// Why the last reading failed, and since when none worked.
    pub problem: Option<(String, u64)>,
    /// The answer to which request is wanted.
    pub ticket: u64,
    reading: Option<Where>,
    read_ms: u64,
    to_end: bool,
}

impl<T: HasId + Clone + PartialEq> Default for Rows<T> {
    fn default() -> Self {
        Rows {
            window: Window::default(),
            selected: 0,
            top: 0,
            loaded: false,
            problem: None,
            ticket: 0,
            reading: None,
            read_ms: 0,
            to_end: false,
        }
    }
}

impl<T: HasId + Clone + PartialEq> Rows<T> {
    /// The row under the cursor.
    pub fn current(&self) -> Option<&T> {
        self.window.rows().get(self.selected)
    }

    /// Rows at this place are asked for under this ticket; what was asked for before is void.
    pub fn asked(&mut self, at: Where, ticket: u64, now_ms: u64) {
        (self.ticket, self.reading, self.read_ms) = (ticket, Some(at), now_ms);
    }

    /// Where the rows on the screen are, to be read again.
    pub fn again(&self) -> Where {
        let above = self.top.checked_sub(1);
        match above.and_then(|place| self.window.id_up_to(place)) {
            Some(id) => Where::After(id.to_owned()),
            None => Where::Start,
        }
    }

    /// Once a second: where to read, when it is time. `newest` is the ticket of the newest request of all: an older one is void, and nothing
    /// answers it any more.
    pub fn tick(&self, now_ms: u64, newest: u64) -> Option<Where> {
        let due = now_ms.saturating_sub(self.read_ms) >= REFRESH_MS;
        let is_read = self.reading.is_some() && self.ticket == newest;
        (due && !is_read).then(|| self.again())
    }

    /// Moves the selection. Where to read, when an edge is near.
    pub fn act(&mut self, action: Action, height: usize) -> Option<Where> {
        match action {
            Action::First if self.window.before().is_some() => {
                self.window = Window::default();
                (self.selected, self.top) = (0, 0);
                return Some(Where::Start);
            }
            Action::Last if self.window.behind().is_some() => {
                self.to_end = true;
                return Some(Where::End);
            }
            _ => self.selected = moved(action, self.selected, self.window.rows().len(), height)?,
        }
        self.keep_visible(height);
        self.near_edge(height)
    }

    /// Takes an answer in; the selection stays with its row. Where to read on.
    pub fn take(
        &mut self,
        result: Result<Chunk<T>, Trouble>,
        height: usize,
        now_ms: u64,
    ) -> Option<Where> {
        self.reading = None;
        let chunk = match result {
            Ok(chunk) => chunk,
            Err(trouble) => {
                let since = self.problem.take().map_or(now_ms, |(_, since)| since);
                self.problem = Some((trouble.words, since));
                return None;
            }
        };
        (self.problem, self.loaded) = (None, true);
        let selected = self.current().and_then(HasId::id).map(str::to_owned);
        let at_end = chunk.at == Where::End;
        let moved = self.window.take(chunk);
        self.shift(moved);
        if let Some(place) = selected.and_then(|id| self.window.place_of(&id)) {
            self.selected = place;
        }
        if at_end && std::mem::take(&mut self.to_end) {
            self.selected = self.window.rows().len().saturating_sub(1);
        }
        let moved = self.window.trim(self.selected, height);
        self.shift(moved);
        self.keep_visible(height);
        self.near_edge(height)
    }

    fn shift(&mut self, places: isize) {
        self.selected = self.selected.saturating_add_signed(places);
        // Whoever is at the very top stays there and sees what is new.
        if self.top > 0 {
            self.top = self.top.saturating_add_signed(places);
        }
    }

    /// The selected row is on the screen, and the screen is full if that is possible.
    pub fn keep_visible(&mut self, height: usize) {
        let rows = self.window.rows().len();
        (self.selected, self.top) = visible(self.selected, self.top, rows, height);
    }

    fn near_edge(&self, height: usize) -> Option<Where> {
        near_edge(&self.window, self.selected, height)
            .filter(|at| self.reading.as_ref() != Some(at))
    }
}

/// The row that is selected after an action, of so many; `None`: it selects none.
pub(super) fn moved(action: Action, selected: usize, rows: usize, height: usize) -> Option<usize> {
    let last = rows.saturating_sub(1);
    let screen = height.saturating_sub(1).max(1);
    Some(match action {
        Action::Down => (selected + 1).min(last),
        Action::Up => selected.saturating_sub(1),
        Action::PageDown => (selected + screen).min(last),
        Action::PageUp => selected.saturating_sub(screen),
        Action::First => 0,
        Action::Last => last,
        _ => return None,
    })
}

/// The selected row and the first one on the screen, so that the former is seen and the screen is full if that is possible.
pub(super) fn visible(selected: usize, top: usize, rows: usize, height: usize) -> (usize, usize) {
    let height = height.max(1);
    let selected = selected.min(rows.saturating_sub(1));
    let top = top.min(rows.saturating_sub(height)).min(selected);
    (selected, top.max((selected + 1).saturating_sub(height)))
}

/// Where to read: the selection is within a screen of an end that is not the list's.
pub(super) fn near_edge<T: HasId + Clone + PartialEq>(
    window: &Window<T>,
    selected: usize,
    height: usize,
) -> Option<Where> {
    let behind = window.rows().len().saturating_sub(selected + 1);
    match (window.behind(), window.before()) {
        (Some(at), _) if behind < height => Some(at),
        (_, Some(at)) if selected < height => Some(at),
        _ => None,
    }
}
