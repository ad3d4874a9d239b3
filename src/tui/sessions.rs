//! The list of Sessions: a window, a selection, a filter. Pure.

use std::collections::BTreeSet;

use super::action::Action;
use super::field::Field;
use super::filter::Filter;
use super::msg::{Effect, Trouble};
use super::rows;
use super::window::{Chunk, Where, Window};
use crate::api::AgentSession;
use crate::text::{ago, count};

/// Sessions read at once.
const PAGE: usize = 100;
/// The list is read again after so long.
const REFRESH_MS: u64 = 2_000;

/// In this order all Sessions are read anew, so that it is done less often.
const REORDER_MS: u64 = 10_000;

/// In which order Sessions are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The newest first, by creation.
    #[default]
    Newest,
    /// The oldest first.
    Oldest,
    /// Those that were active last first, of as many as are read for that.
    Active,
}

impl Order {
    fn next(self) -> Order {
        match self {
            Order::Newest => Order::Oldest,
            Order::Oldest => Order::Active,
            Order::Active => Order::Newest,
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Sessions {
    /// The rows.
    pub window: Window<AgentSession>,
    /// Place of the selected row in the window.
    pub selected: usize,
    /// Place of the first row on the screen.
    pub top: usize,
    /// Ids of Sessions that are marked, whether they are held or not.
    pub marks: BTreeSet<String>,
    /// In which order.
    pub order: Order,
    /// Which Sessions.
    pub filter: Filter,
    /// A filter that is being typed.
    pub typing: Option<Field>,
    /// Why the filter that is typed is none.
    pub mistake: Option<String>,
    /// Why the last reading failed, and since when none worked.
    pub problem: Option<(String, u64)>,
    /// Sessions that were looked at for the filter.
    pub scanned: usize,
    /// Rows above those that are held, if it is known.
    above: Option<usize>,
    /// Something was read.
    pub loaded: bool,
    ticket: u64,
    reading: Option<Where>,
    read_ms: u64,
    /// To the last row when it is there.
    to_end: bool,
}

impl Sessions {
    /// Whether rows are being read now.
    pub fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// The Session under the cursor.
    pub fn current(&self) -> Option<&AgentSession> {
        self.window.rows().get(self.selected)
    }

    /// Which of how many the selected one is, in words; of as many as are known, where there are more.
    pub fn place(&self) -> Option<String> {
        let rows = self.window.rows().len();
        let above = self.above.filter(|_| rows > 0)?;
        let (at, known) = (above + self.selected + 1, above + rows);
        let (at, known) = (count(at as u64), count(known as u64));
        Some(match self.window.behind() {
            None => format!("{at} of {known}"),
            Some(_) => format!("{at} of more than {known}"),
        })
    }

    /// Marks the Session under the cursor, or takes its mark away.
    pub fn mark(&mut self) {
        if let Some(id) = self.current().map(|session| session.id.clone())
            && !self.marks.remove(&id)
        {
            self.marks.insert(id);
        }
    }

    /// Since when an answer is waited for, Unix milliseconds.
    pub fn waits_since(&self) -> Option<u64> {
        self.reading.as_ref().map(|_| self.read_ms)
    }

    /// Asks for rows; what was asked for before is void.
    pub fn read(&mut self, at: Where, now_ms: u64) -> Effect {
        self.ticket += 1;
        self.reading = Some(at.clone());
        self.read_ms = now_ms;
        Effect::List {
            ticket: self.ticket,
            at,
            limit: PAGE,
            order: self.order,
            filter: self.filter.clone(),
        }
    }

    /// Begins anew from the start.
    pub fn restart(&mut self, now_ms: u64) -> Effect {
        self.window = Window::default();
        (self.selected, self.top, self.scanned) = (0, 0, 0);
        self.to_end = false;
        (self.loaded, self.above) = (false, None);
        self.read(Where::Start, now_ms)
    }

    /// The visible rows again, so that what changed is seen.
    pub fn refresh(&mut self, now_ms: u64) -> Effect {
        let above = self.top.checked_sub(1);
        // In an order of ours there is nothing to go on from.
        let above = above.filter(|_| self.order != Order::Active);
        let at = match above.and_then(|place| self.window.id_up_to(place)) {
            Some(id) => Where::After(id.to_owned()),
            None => Where::Start,
        };
        self.read(at, now_ms)
    }

    /// Once a second: reads again when it is time. Whether an age that is shown changed.
    pub fn tick(&mut self, before_ms: u64, now_ms: u64, height: usize) -> (Vec<Effect>, bool) {
        let visible = self.window.rows().iter().skip(self.top).take(height);
        let age = |s: &AgentSession, now_ms| ago(s.last_active_at * 1000, now_ms);
        let changed = self.problem.is_some()
            || visible
                .into_iter()
                .any(|session| age(session, before_ms) != age(session, now_ms));
        let patience_ms = match self.order {
            Order::Newest | Order::Oldest => REFRESH_MS,
            Order::Active => REORDER_MS,
        };
        let due = now_ms.saturating_sub(self.read_ms) >= patience_ms;
        let effects = match due && self.reading.is_none() {
            true => vec![self.refresh(now_ms)],
            false => Vec::new(),
        };
        (effects, changed)
    }

    /// Moves; asks for rows when an edge is near.
    pub fn act(&mut self, action: Action, height: usize, now_ms: u64) -> Vec<Effect> {
        match action {
            Action::First if self.window.before().is_some() => return vec![self.restart(now_ms)],
            Action::Last if self.window.behind().is_some() => {
                self.to_end = true;
                return vec![self.read(Where::End, now_ms)];
            }
            Action::Sort => {
                self.order = self.order.next();
                return vec![self.restart(now_ms)];
            }
            _ => {
                let rows = self.window.rows().len();
                self.selected =
                    rows::moved(action, self.selected, rows, height).unwrap_or(self.selected);
            }
        }
        self.keep_visible(height);
        self.read_near_edge(height, now_ms)
    }

    /// Takes an answer in. Whether anything that is shown changed.
    pub fn listed(
        &mut self,
        ticket: u64,
        result: Result<Chunk<AgentSession>, Trouble>,
        height: usize,
        now_ms: u64,
    ) -> (Vec<Effect>, bool) {
        if ticket != self.ticket {
            return (Vec::new(), false);
        }
        let asked = self.reading.take();
        let chunk = match result {
            Ok(chunk) => chunk,
            Err(trouble) => {
                let since = self.problem.take().map_or(now_ms, |(_, since)| since);
                self.problem = Some((trouble.words, since));
                return (Vec::new(), true);
            }
        };
        let was_shown = (self.problem.take().is_some(), self.loaded, self.scanned);
        self.loaded = true;
        let window = self.window.clone();
        let selected = self.current().map(|session| session.id.clone());
        let goes_on =
            window.rows().is_empty() || asked == window.behind() || asked == window.before();
        let at_end = chunk.at == Where::End;
        let renews = self.filter.searches() && !goes_on && !at_end;
        let moved = match (self.order, renews) {
            (Order::Active, _) => {
                self.scanned = chunk.scanned;
                self.window.take(chunk)
            }
            (_, true) => self.window.renew(chunk.rows),
            (_, false) => {
                if goes_on {
                    self.scanned += chunk.scanned;
                }
                self.window.take(chunk)
            }
        };
        if at_end {
            self.above = None;
        }
        self.count_above(moved);
        self.shift(moved);
        if let Some(place) = selected.and_then(|id| self.window.place_of(&id)) {
            self.selected = place;
        }
        if at_end && std::mem::take(&mut self.to_end) {
            self.selected = self.window.rows().len().saturating_sub(1);
        }
        let moved = self.window.trim(self.selected, height);
        self.count_above(moved);
        self.shift(moved);
        self.keep_visible(height);
        let is_shown = (false, self.loaded, self.scanned);
        let changed = was_shown != is_shown || self.window != window;
        (self.read_near_edge(height, now_ms), changed)
    }

    /// Rows came above those that are held, or went.
    fn count_above(&mut self, places: isize) {
        self.above = match self.window.before() {
            None => Some(0),
            Some(_) => self.above.map(|above| above.saturating_add_signed(-places)),
        };
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
        (self.selected, self.top) = rows::visible(self.selected, self.top, rows, height);
    }

    /// Rows are asked for when the selection is within a screen of an end that is not the list's.
    fn read_near_edge(&mut self, height: usize, now_ms: u64) -> Vec<Effect> {
        let wanted = rows::near_edge(&self.window, self.selected, height);
        match wanted {
            Some(at) if self.reading.as_ref() != Some(&at) => vec![self.read(at, now_ms)],
            _ => Vec::new(),
        }
    }
}
