//! One Session that is open: its transcript, what is being written, and where a person is in it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::action::Action;
use super::composer::Composer;
use super::find::{Finder, Wanted};
use super::msg::{Effect, Look, LookAsk, Trouble};
use super::transcript::{self, Line, entry};
use super::window::{Chunk, Where, Window};
use crate::api::{AgentSession, CallStatus, HasId, Item, OutputStatus, Turn};
use crate::engine::foretaste::Foretaste;
use crate::engine::ports::Signs;

/// A Session that failed to be looked at is looked at again after so long.
const RETRY_MS: u64 = 2_000;
/// Without a sign it is looked at all the same after so long.
const LOOK_MS: u64 = 10_000;
/// Items are asked for when an end of the window is nearer than so many screens.
const NEAR_SCREENS: usize = 2;

/// With more Turns than these, those that are not shown are forgotten.
const KEPT_TURNS: usize = 1_000;

/// A Turn that was asked to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelling {
    /// A person is asked first.
    Asked(String),
    /// The cancel is on its way.
    Sending {
        /// The Turn.
        turn: String,
        /// Under this key.
        key: String,
    },
    /// It is accepted; the Turn has not ended yet.
    Accepted {
        /// The Turn.
        turn: String,
        /// Since then, Unix milliseconds.
        since_ms: u64,
    },
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Open {
    /// Its id.
    pub id: String,
    /// As it was seen last.
    pub session: Option<AgentSession>,
    /// Its Items.
    pub items: Window<Item>,
    /// Turns that were seen.
    pub turns: BTreeMap<String, Turn>,
    /// Ids of the newest Turns, oldest first.
    pub newest: Vec<String>,
    /// Text that is being written.
    pub written: Foretaste,
    /// Shows the newest, and stays there.
    pub follow: bool,
    /// Otherwise, the entry at the top of the screen, and which of its lines.
    pub anchor: (usize, usize),
    /// Items that came since it stopped following.
    pub unseen: usize,
    /// Commands and reasoning are shown whole.
    pub unfolded: bool,
    /// Items that are shown whole, or are not, whatever the others are.
    pub folds: BTreeMap<String, bool>,
    /// What is searched in it.
    pub finder: Finder,
    /// The message that is written.
    pub composer: Composer,
    /// What becomes of a cancel.
    pub cancelling: Option<Cancelling>,
    /// What became of the last input.
    pub trace: Option<(super::composer::Tone, String)>,
    /// Why the last look failed, and since when none worked.
    pub problem: Option<(String, u64)>,
    ticket: u64,
    looking: bool,
    look_again: bool,
    looked_ms: u64,
    watched: bool,
}

impl Open {
    /// A Session that is about to be looked at.
    pub fn new(id: String) -> Open {
        Open {
            id,
            session: None,
            items: Window::default(),
            turns: BTreeMap::new(),
            newest: Vec::new(),
            written: Foretaste::default(),
            follow: true,
            anchor: (0, 0),
            unseen: 0,
            unfolded: false,
            folds: BTreeMap::new(),
            finder: Finder::default(),
            composer: Composer::default(),
            cancelling: None,
            trace: None,
            problem: None,
            ticket: 0,
            looking: false,
            look_again: false,
            looked_ms: 0,
            watched: false,
        }
    }

    /// The effects of opening it.
    pub fn start(&mut self, now_ms: u64) -> Vec<Effect> {
        self.watched = true;
        let look = self.look(Some(Where::End), now_ms);
        vec![Effect::Watch(self.id.clone()), look]
    }

    /// The Turn at work, or the first that waits to be.
    pub fn active_turn(&self) -> Option<&Turn> {
        let turns = self.newest.iter().filter_map(|id| self.turns.get(id));
        turns.into_iter().find(|turn| !turn.status.is_terminal())
    }

    /// The Turn of the first Item on the screen, or of the last while it follows.
    pub fn turn_in_sight(&self) -> Option<&str> {
        let rows = self.items.rows();
        let item = match self.follow {
            true => rows.last(),
            false => rows.get(self.anchor.0.min(rows.len().saturating_sub(1))),
        };
        item.map(Item::turn_id)
    }

    /// Since when an answer is waited for, Unix milliseconds.
    pub fn waits_since(&self) -> Option<u64> {
        self.looking.then_some(self.looked_ms)
    }

    /// Entries: the Items, and one behind them.
    pub fn entries(&self) -> usize {
        self.items.rows().len() + 1
    }

    fn look(&mut self, items: Option<Where>, now_ms: u64) -> Effect {
        self.ticket += 1;
        self.looking = true;
        self.look_again = false;
        self.looked_ms = now_ms;
        Effect::Look(LookAsk {
            ticket: self.ticket,
            session: self.id.clone(),
            items,
            known: self.known_turns(),
        })
    }

    /// Ids of Turns that are over, so that they need not be read again.
    pub(super) fn known_turns(&self) -> BTreeSet<String> {
        let over = self.turns.values().filter(|turn| turn.status.is_terminal());
        over.map(|turn| turn.id.clone()).collect()
    }

    /// Lets go what a look that is on its way will answer: it was about other Items.
    pub(super) fn forget_look(&mut self) {
        self.ticket += 1;
        self.looking = false;
    }

    /// Looks at what may have changed; once, however often it is asked for meanwhile.
    pub fn look_at_news(&mut self, now_ms: u64) -> Vec<Effect> {
        if self.looking {
            self.look_again = true;
            return Vec::new();
        }
        let items = self.news();
        vec![self.look(items, now_ms)]
    }

    /// From where on Items may be new or different. `None`: what is new is not in the window, and is not wanted now.
    fn news(&self) -> Option<Where> {
        if self.items.behind().is_some() {
            return None;
        }
        let rows = self.items.rows();
        let changes = |item: &Item| !self.is_final(item);
        let final_until = rows.iter().position(changes).unwrap_or(rows.len());
        let last = final_until
            .checked_sub(1)
            .and_then(|at| self.items.id_up_to(at));
        match (last, self.items.before()) {
            (Some(id), _) => Some(Where::After(id.to_owned())),
            (None, None) => Some(Where::Start),
            (None, Some(_)) => Some(Where::End),
        }
    }

    /// What a Turn that is over left unfinished stays so.
    pub(super) fn is_final(&self, item: &Item) -> bool {
        let is_open = match item {
            Item::CommandExecution(command) => command.status == CallStatus::InProgress,
            Item::FunctionCall(call) => call.status == CallStatus::InProgress,
            Item::McpCall(call) => call.status == CallStatus::InProgress,
            Item::Message(message) => message.status == OutputStatus::InProgress,
            _ => false,
        };
        let turn = self.turns.get(item.turn_id());
        !is_open || turn.is_some_and(|turn| turn.status.is_terminal())
    }

    /// Takes in what was seen. Whether anything that is shown changed.
    pub fn looked(
        &mut self,
        ticket: u64,
        result: Result<Box<Look>, Trouble>,
        size: transcript::Look,
        height: usize,
    ) -> (Vec<Effect>, bool) {
        // The answer of a Session that was left may come to the next one.
        let is_other = result.as_ref().is_ok_and(|seen| {
            let session = seen.session.as_ref();
            session.is_some_and(|session| session.id != self.id)
        });
        if ticket != self.ticket || is_other {
            return (Vec::new(), false);
        }
        self.looking = false;
        let now_ms = size.now_ms;
        let seen = match result {
            Ok(seen) => *seen,
            Err(trouble) => {
                let since = self.problem.take().map_or(now_ms, |(_, since)| since);
                self.problem = Some((trouble.words, since));
                return (Vec::new(), true);
            }
        };
        let mut changed = self.problem.take().is_some();
        if seen.session.is_some() {
            changed |= self.session != seen.session;
            self.session = seen.session;
        }
        for turn in seen.turns {
            changed |= self.turns.get(&turn.id) != Some(&turn);
            self.turns.insert(turn.id.clone(), turn);
        }
        self.newest = seen.newest;
        let mut more = false;
        if let Some(chunk) = seen.items {
            more = chunk.more && matches!(chunk.at, Where::After(_) | Where::Start);
            changed |= self.take(chunk, height);
        }
        if self.turns.len() > KEPT_TURNS {
            let shown: BTreeSet<&str> = self.items.rows().iter().map(Item::turn_id).collect();
            let newest = &self.newest;
            self.turns
                .retain(|id, _| newest.contains(id) || shown.contains(id.as_str()));
        }
        if self.active_turn().is_none() {
            self.written.forget();
        }
        if self.look_again || (more && self.follow) {
            let items = match self.items.behind().filter(|_| self.follow) {
                Some(behind) => Some(behind),
                None => self.news(),
            };
            return (vec![self.look(items, now_ms)], changed);
        }
        (self.read_near_edge(size, height), changed)
    }

    /// Takes in Items; whoever reads elsewhere is not moved. Whether the window changed.
    fn take(&mut self, chunk: Chunk<Item>, height: usize) -> bool {
        for item in &chunk.rows {
            if self.is_final(item) {
                self.written.complete(item.id());
            }
        }
        let before = self.items.clone();
        let from_end = chunk.at == Where::End;
        let moved = self.items.take(chunk);
        let changed = self.items != before;
        self.anchor.0 = self.anchor.0.saturating_add_signed(moved);
        self.finder.shift(moved);
        if from_end {
            self.finder.found = None;
        }
        let known = before.rows().len() + moved.max(0) as usize;
        if !self.follow && !from_end {
            self.unseen += self.items.rows().len().saturating_sub(known);
        }
        let focus = match self.follow {
            true => self.items.rows().len(),
            false => self.anchor.0,
        };
        let moved = self.items.trim(focus, height);
        self.anchor.0 = self.anchor.0.saturating_add_signed(moved);
        self.finder.shift(moved);
        changed
    }

    /// Takes in what came while it was watched.
    pub fn signs(&mut self, result: Result<Signs, Trouble>, now_ms: u64) -> Vec<Effect> {
        match result {
            Ok(signs) => {
                self.written.update(signs.written);
                if let Some(note) = signs.notes.last() {
                    self.trace = Some((super::composer::Tone::Plain, note.clone()));
                }
            }
            Err(_) => self.watched = false,
        }
        self.look_at_news(now_ms)
    }

    /// Once a second: tries again what failed.
    pub fn tick(&mut self, now_ms: u64) -> Vec<Effect> {
        let waited_ms = now_ms.saturating_sub(self.looked_ms);
        let patience_ms = match self.problem.is_some() || !self.watched {
            true => RETRY_MS,
            false => LOOK_MS,
        };
        if self.looking || waited_ms < patience_ms {
            return Vec::new();
        }
        let mut effects = self.look_at_news(now_ms);
        if !self.watched {
            self.watched = true;
            effects.push(Effect::Watch(self.id.clone()));
        }
        effects
    }

    /// Moves in the transcript.
    pub fn act(&mut self, action: Action, size: transcript::Look, height: usize) -> Vec<Effect> {
        let screen = height.saturating_sub(1).max(1);
        // Whoever moves ends a search, and begins the next from where they are then.
        if !matches!(action, Action::Fold | Action::FoldAll) {
            (self.finder.found, self.finder.going) = (None, None);
        }
        match action {
            Action::Up => self.up(1, size, height),
            Action::PageUp => self.up(screen, size, height),
            Action::Down => self.down(1, size, height),
            Action::PageDown => self.down(screen, size, height),
            Action::Fold => self.fold_marked(),
            Action::FoldAll => self.fold_all(),
            Action::First => {
                (self.follow, self.anchor) = (false, (0, 0));
                if self.items.before().is_some() {
                    return vec![self.look(Some(Where::Start), size.now_ms)];
                }
            }
            Action::Follow => {
                (self.follow, self.unseen) = (true, 0);
                if self.items.behind().is_some() {
                    return vec![self.look(Some(Where::End), size.now_ms)];
                }
            }
            _ => {}
        }
        self.read_near_edge(size, height)
    }

    /// Whether the Item at a place is shown whole.
    pub fn is_unfolded(&self, place: usize) -> bool {
        let item = self.items.rows().get(place);
        let fold = item
            .and_then(HasId::id)
            .and_then(|id| self.folds.get(id).copied());
        // What was found is shown whole, so that it is seen.
        let found = self.finder.found.as_ref();
        let is_found = found.is_some_and(|(found, wanted)| {
            *found == place && matches!(wanted, Wanted::Words(_) | Wanted::Asked)
        });
        fold.unwrap_or(self.unfolded || is_found)
    }

    /// The marked Item the other way round, or all of them if none is marked.
    fn fold_marked(&mut self) {
        let place = self.finder.found.as_ref().map(|(place, _)| *place);
        let id = self.marked().and_then(HasId::id).map(str::to_owned);
        let (Some(place), Some(id)) = (place, id) else {
            return self.fold_all();
        };
        let unfolded = self.is_unfolded(place);
        self.folds.insert(id, !unfolded);
    }

    fn fold_all(&mut self) {
        self.unfolded = !self.unfolded;
        self.folds.clear();
        self.anchor.1 = 0;
    }

    fn up(&mut self, lines: usize, size: transcript::Look, height: usize) {
        if self.follow {
            self.anchor = self.top_when_following(size, height);
            if self.anchor == (0, 0) {
                return;
            }
            self.follow = false;
        }
        let mut left = lines;
        while left > 0 {
            let (at, line) = self.anchor;
            if line >= left {
                self.anchor.1 = line - left;
                return;
            }
            let Some(above) = at.checked_sub(1) else {
                self.anchor = (0, 0);
                return;
            };
            left -= line;
            self.anchor = (above, entry(self, above, size).len());
        }
    }

    fn down(&mut self, lines: usize, size: transcript::Look, height: usize) {
        if self.follow {
            return;
        }
        let mut left = lines;
        while left > 0 && self.anchor.0 < self.entries() {
            let here = entry(self, self.anchor.0, size)
                .len()
                .saturating_sub(self.anchor.1);
            if here > left {
                self.anchor.1 += left;
                break;
            }
            left -= here;
            self.anchor = (self.anchor.0 + 1, 0);
        }
        // Whoever sees the end follows again.
        if self.items.behind().is_none() && self.anchor >= self.top_when_following(size, height) {
            (self.follow, self.unseen) = (true, 0);
        }
    }

    /// After the width changed, an entry may have fewer lines.
    pub fn keep_anchor(&mut self, size: transcript::Look) {
        let last = entry(self, self.anchor.0, size).len().saturating_sub(1);
        self.anchor.1 = self.anchor.1.min(last);
    }

    pub(super) fn top_when_following(
        &self,
        size: transcript::Look,
        height: usize,
    ) -> (usize, usize) {
        let mut left = height;
        for at in (0..self.entries()).rev() {
            let lines = entry(self, at, size).len();
            if lines >= left {
                return (at, lines - left);
            }
            left -= lines;
        }
        (0, 0)
    }

    /// The lines on a screen of this height.
    pub fn visible(&self, size: transcript::Look, height: usize) -> Vec<Line> {
        let (first, skip) = match self.follow {
            true => self.top_when_following(size, height),
            false => self.anchor,
        };
        let mut lines = Vec::new();
        for at in first..self.entries() {
            let skip = if at == first { skip } else { 0 };
            lines.extend(entry(self, at, size).into_iter().skip(skip));
            if lines.len() >= height {
                break;
            }
        }
        lines.truncate(height);
        lines
    }

    pub(super) fn read_near_edge(&mut self, size: transcript::Look, height: usize) -> Vec<Effect> {
        if self.looking {
            return Vec::new();
        }
        let first = match self.follow {
            true => self.top_when_following(size, height).0,
            false => self.anchor.0,
        };
        let left = self.entries().saturating_sub(first);
        let near = NEAR_SCREENS * height;
        let at = match (self.items.before(), self.items.behind()) {
            (Some(before), _) if first < near => before,
            (_, Some(behind)) if left < height + near => behind,
            _ => return Vec::new(),
        };
        vec![self.look(Some(at), size.now_ms)]
    }
}
