//! Positions: where somebody stands who is told a Session's events. Every event's id is one, and everything newer is behind it.
//!
//! A position is the last journal entry that was told whole, and, since a message or a reasoning Item is told in several steps and
//! begins to be told while it is written, how many steps were told of the Items that come next. Surprising: so the steps of an
//! Item are named after the entry *before* it. That is what is known when the first of them is told live, and it names the same
//! event when the journal tells it later (but for an Item behind another one that is not recorded yet: the journal names it after
//! the one before it).

use super::ids::{self, Kind, SessionId};
use super::item::ItemBody;
use super::journal::Entry;

/// An entry's place in its revision takes so many bits of its number.
const AT_BITS: u32 = 12;
/// An entry's number.
const ENTRY_BITS: u32 = 44;
/// Which event it is: the entry, or a step of one of the next Items.
const WHICH_BITS: u32 = 2;
/// Steps told of each of the next Items.
const SLOT_BITS: [u32; AHEAD] = [8, 5, 5];
/// Steps of a message; what is told of reasoning is counted behind them.
const MESSAGE_STEPS: u64 = 4;

/// Items that can be told of before the journal has them.
pub const AHEAD: usize = 3;

/// Kinds of Items that are told in steps, as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A message of the agent.
    Message,
    /// Reasoning.
    Reasoning,
}

impl Written {
    /// Of an Item's content; `None` where it is told at once.
    pub fn of(body: &ItemBody) -> Option<Written> {
        match body {
            ItemBody::Message { .. } => Some(Written::Message),
            ItemBody::Reasoning { .. } => Some(Written::Reasoning),
            ItemBody::User { .. }
            | ItemBody::Call { .. }
            | ItemBody::WebSearch { .. }
            | ItemBody::Function { .. }
            | ItemBody::FunctionOutput { .. }
            | ItemBody::FromAgent { .. } => None,
        }
    }
}

/// How much was told of an Item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Slot {
    #[default]
    Nothing,
    /// Its first steps.
    Steps(Written, u64),
}

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The last journal entry that was told.
    entry: u64,
    /// What was told of the Items that come next.
    ahead: [Slot; AHEAD],
    /// The event is that entry, or a step of one of those Items, counted from 1 on.
    which: usize,
}

impl Position {
    /// Before everything.
    pub const START: Position = Position {
        entry: 0,
        ahead: [Slot::Nothing; AHEAD],
        which: 0,
    };

    /// The number of an entry: its place among all of its Session.
    pub fn entry_number(revision: u64, at: usize) -> u64 {
        (revision << AT_BITS) + at as u64 + 1
    }

    /// Behind this entry, with nothing told of what follows.
    pub fn behind(entry: u64) -> Position {
        Position {
            entry,
            ..Position::START
        }
    }

    /// The revision whose entries may not have been told whole.
    pub fn revision(self) -> u64 {
        self.entry >> AT_BITS
    }

    /// Whether this entry was told.
    pub fn has_told(self, entry: u64) -> bool {
        entry <= self.entry
    }

    /// Steps that were told of the Item that comes `ahead` Items behind the next one, if it is of this kind.
    pub fn steps(self, ahead: usize, kind: Written) -> u64 {
        match self.ahead.get(ahead) {
            Some(Slot::Steps(told, steps)) if *told == kind => *steps,
            _ => 0,
        }
    }

    /// Steps of such an Item that can be named. What is more is told by `item.done` alone.
    pub fn most_steps(ahead: usize, kind: Written) -> u64 {
        let most = SLOT_BITS.get(ahead).map_or(0, |bits| (1 << bits) - 1);
        match kind {
            Written::Message => MESSAGE_STEPS.min(most),
            Written::Reasoning => u64::saturating_sub(most, MESSAGE_STEPS),
        }
    }

    /// The event that is this step (from 1 on, up to [`Position::most_steps`]) of such an Item.
    pub fn step(mut self, ahead: usize, kind: Written, step: u64) -> Position {
        let step = step.min(Position::most_steps(ahead, kind));
        if let Some(slot) = self.ahead.get_mut(ahead) {
            *slot = Slot::Steps(kind, step);
            self.which = ahead + 1;
        }
        self
    }

    /// The event that is this entry, which comes next; `kind` is that of the Item that it adds.
    pub fn told(self, number: u64, entry: &Entry, kind: Option<Written>) -> Position {
        let [first, rest @ ..] = self.ahead;
        let expected = match first {
            Slot::Nothing => true,
            Slot::Steps(told, _) => kind == Some(told),
        };
        let mut ahead = [Slot::Nothing; AHEAD];
        match entry {
            // What was told came.
            Entry::Added { .. } if expected => ahead[..rest.len()].copy_from_slice(&rest),
            // Something else came, or it never will.
            Entry::Added { .. } => {}
            Entry::Turn { s, .. } if s.is_terminal() => {}
            Entry::Turn { .. }
            | Entry::Created
            | Entry::Session { .. }
            | Entry::Done { .. }
            | Entry::Subagent { .. }
            | Entry::Environment { .. }
            | Entry::Reset { .. } => ahead = self.ahead,
        }
        Position {
            entry: number,
            ahead,
            which: 0,
        }
    }

    /// The id of the event that stands here.
    pub fn id(self, session: &SessionId) -> String {
        ids::derived(Kind::Event, session, self.number())
    }

    /// The id of an event that is in no journal and is told here; `what` tells it from others.
    pub fn id_beside(self, session: &SessionId, what: &str) -> String {
        ids::beside(Kind::Event, session, self.number(), what)
    }

    /// Where an event stands that was told; `None` if this is the id of none in this Session.
    pub fn parse(session: &SessionId, id: &str) -> Option<Position> {
        let number = ids::number_of(Kind::Event, session, id);
        number
            .or_else(|| ids::number_beside(Kind::Event, session, id))
            .and_then(Position::of_number)
    }

    fn number(self) -> u64 {
        let mut number = self.entry | ((self.which as u64) << ENTRY_BITS);
        let mut at = ENTRY_BITS + WHICH_BITS;
        for (slot, bits) in self.ahead.into_iter().zip(SLOT_BITS) {
            let code = match slot {
                Slot::Nothing => 0,
                Slot::Steps(Written::Message, steps) => steps,
                Slot::Steps(Written::Reasoning, steps) => MESSAGE_STEPS + steps,
            };
            number |= code << at;
            at += bits;
        }
        number
    }

    fn of_number(number: u64) -> Option<Position> {
        let low = |from: u32, bits: u32| (number >> from) & ((1 << bits) - 1);
        let mut at = ENTRY_BITS + WHICH_BITS;
        let ahead = SLOT_BITS.map(|bits| {
            let code = low(at, bits);
            at += bits;
            match code {
                0 => Slot::Nothing,
                1..=MESSAGE_STEPS => Slot::Steps(Written::Message, code),
                _ => Slot::Steps(Written::Reasoning, code - MESSAGE_STEPS),
            }
        });
        let which = usize::try_from(low(ENTRY_BITS, WHICH_BITS)).ok()?;
        // A step of an Item of which nothing was told is none.
        let is_one = which == 0 || ahead[which - 1] != Slot::Nothing;
        is_one.then_some(Position {
            entry: low(0, ENTRY_BITS),
            ahead,
            which,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::api::TurnStatus;

    fn session() -> SessionId {
        SessionId::parse(&format!("sess_{}", "a".repeat(26))).expect("well formed")
    }

    fn positions() -> impl Strategy<Value = Position> {
        let kinds = prop_oneof![Just(Written::Message), Just(Written::Reasoning)];
        let step = (0..AHEAD, kinds, any::<u64>());
        let steps = prop::collection::vec(step, 0..4);
        (1_u64..1 << ENTRY_BITS, steps).prop_map(|(entry, steps)| {
            let step = |at: Position, (ahead, kind, n): (usize, Written, u64)| {
                at.step(ahead, kind, 1 + n % Position::most_steps(ahead, kind))
            };
            steps.into_iter().fold(Position::behind(entry), step)
        })
    }

    proptest! {
        #[test]
        fn every_event_is_a_position(at in positions(), what in "[a-z]{0,9}") {
            let session = session();
            let beside = at.id_beside(&session, &what);
            prop_assert_eq!(Position::parse(&session, &at.id(&session)), Some(at));
            prop_assert_eq!(Position::parse(&session, &beside), Some(at));
            let other = SessionId::parse(&format!("sess_{}", "b".repeat(26))).expect("well formed");
            prop_assert_eq!(Position::parse(&other, &at.id(&session)), None);
        }

        #[test]
        fn different_events_have_different_ids(a in positions(), b in positions()) {
            prop_assert_eq!(a == b, a.id(&session()) == b.id(&session()));
        }
    }

    #[test]
    fn what_was_told_of_an_item_is_remembered_until_it_comes_or_its_turn_ends() {
        let entry = |n| Position::entry_number(7, n);
        let (message, reasoning) = (Written::Message, Written::Reasoning);
        let at = Position::behind(entry(0))
            .step(0, reasoning, 4)
            .step(1, message, 2);
        let steps = |at: Position| {
            (
                at.steps(0, reasoning),
                at.steps(0, message),
                at.steps(1, message),
            )
        };
        assert_eq!(steps(at), (4, 0, 2));
        let queued = Entry::Turn {
            t: 2,
            s: TurnStatus::Queued,
        };
        let between = at.told(entry(1), &queued, None);
        assert_eq!(steps(between), (4, 0, 2));
        assert!(between.has_told(entry(1)) && !between.has_told(entry(2)));
        assert_ne!(
            between.id(&session()),
            Position::behind(entry(1)).id(&session())
        );
        let added = Entry::Added { i: 5 };
        let came = between.told(entry(2), &added, Some(reasoning));
        assert_eq!(steps(came), (0, 2, 0), "the next one is first now");
        let over = Entry::Turn {
            t: 1,
            s: TurnStatus::Cancelled,
        };
        let nothing = Position::behind(entry(2));
        assert_eq!(between.told(entry(2), &over, None), nothing);
        for other in [Some(message), None] {
            assert_eq!(
                between.told(entry(2), &added, other),
                nothing,
                "something else came"
            );
        }
        let untold = Position::behind(entry(0)).step(1, message, 2);
        assert_eq!(steps(untold.told(entry(2), &added, None)), (0, 2, 0));
    }
}
