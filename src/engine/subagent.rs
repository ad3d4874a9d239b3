//! A subagent: an agent that another agent of the same Session started. It has Turns and Items of its own, in rows of their own, and it lives no longer than the
//! process in which its Turn is worked on.
//!
//! What surprises: rows of subagents are numbered like all others, with the subagent's number in the upper half ([`within`]). So a number says whose it is, and
//! whoever stores, claims, ends or shows an Item by its number needs not know.

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use super::input::Body;
use super::item::{CallState, ItemBody, ItemRow};
use super::journal::Entry;
use super::keys;
use super::session::Head;
use super::turn::{Failure, TurnRow};
use crate::api::TurnStatus;

/// Subagents of a Session that may be open at once: the head names each of them.
pub const MAX_OPEN_SUBAGENTS: usize = 8;
/// Subagents that one commit closes: each is its row, its Turn's, and that of what it was doing.
const CLOSED_PER_COMMIT: usize = 4;
/// Bits of a number that are the row's own.
const OWN_BITS: u32 = 32;

/// The number of the n-th Turn or Item of a subagent. Both are numbered from 1, and 0 is the root agent.
pub fn within(subagent: u64, n: u64) -> u64 {
    (subagent << OWN_BITS) | n
}

/// The subagent whose row has this number, and the row's own; `None` for a row of the root agent.
pub fn split(number: u64) -> Option<(u64, u64)> {
    let subagent = number >> OWN_BITS;
    (subagent > 0).then_some((subagent, number & ((1 << OWN_BITS) - 1)))
}

/// Whose row it is; 0 is the root agent.
pub fn of(number: u64) -> u64 {
    number >> OWN_BITS
}

/// What is told of a subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubagentState {
    /// It was started.
    Created,
    /// A Turn of its own began, or it can be given work again.
    Active,
    /// It is over.
    Closed,
}

/// Row `subagent/<n>`. It is rewritten with every Item, so its names are short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubagentRow {
    /// The harness's name for it.
    #[serde(rename = "k")]
    pub key: String,
    /// Who started it: a subagent's number, or 0.
    #[serde(rename = "p", default, skip_serializing_if = "is_zero")]
    pub parent: u64,
    /// The root agent's Turn in which it was started.
    #[serde(rename = "t")]
    pub root_turn: u64,
    /// For people.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it was told first.
    #[serde(rename = "say", default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Body>,
    /// Unix ms.
    #[serde(rename = "at")]
    pub opened_ms: u64,
    /// Over since. Unix ms.
    #[serde(rename = "end", default, skip_serializing_if = "Option::is_none")]
    pub closed_ms: Option<u64>,
    /// Turns so far.
    #[serde(rename = "n", default)]
    pub turns: u64,
    /// Items so far.
    #[serde(rename = "m", default)]
    pub items: u64,
    /// Output items of its last Turn so far.
    #[serde(rename = "o", default, skip_serializing_if = "is_zero")]
    pub outputs: u64,
    /// Its last Turn goes on.
    #[serde(rename = "w", default, skip_serializing_if = "std::ops::Not::not")]
    pub working: bool,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl SubagentRow {
    /// The number of its last Turn, while that goes on.
    pub fn turn(&self, number: u64) -> Option<u64> {
        self.working.then(|| within(number, self.turns))
    }
}

/// Rows of one subagent, to be stored together.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentRows {
    /// Its number.
    pub number: u64,
    /// As it is now.
    pub row: SubagentRow,
    /// What of it is told.
    pub told: Vec<SubagentState>,
    /// A Turn of it that changed.
    pub turn: Option<(u64, TurnRow)>,
    /// An Item of it that is new or changed.
    pub item: Option<(u64, ItemRow)>,
}

impl SubagentRows {
    /// Stores them, under the Run of the root agent's Turn.
    pub(super) fn put(&self, draft: &mut Draft) {
        draft.put(keys::subagent(self.number), &self.row);
        for state in &self.told {
            draft.note(Entry::Subagent {
                n: self.number,
                s: *state,
            });
        }
        let next = &mut draft.head.next.subagent;
        *next = (*next).max(self.number + 1);
        if let Some(active) = &mut draft.head.turn {
            active.subagents.retain(|open| *open != self.number);
            if self.row.closed_ms.is_none() {
                active.subagents.push(self.number);
            }
        }
        if let Some((number, row)) = &self.turn {
            draft.put(keys::turn(*number), row);
        }
        if let Some((number, row)) = &self.item {
            draft.put(keys::item(*number), row);
            if let Some(active) = &mut draft.head.turn {
                active.running.retain(|running| running != number);
                if is_running(row) {
                    active.running.push(*number);
                }
            }
        }
    }
}

fn is_running(row: &ItemRow) -> bool {
    matches!(
        &row.body,
        ItemBody::Call {
            state: CallState::Running,
            ..
        }
    )
}

/// What is to be known of an open subagent before it can be closed.
#[derive(Clone, Debug)]
pub struct OpenSubagent {
    /// Its number.
    pub number: u64,
    /// Its row.
    pub row: SubagentRow,
    /// Its Turn that goes on.
    pub turn: Option<(u64, TurnRow)>,
    /// What it was doing.
    pub running: Vec<(u64, ItemRow)>,
}

/// Why subagents are closed that nobody closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The root agent's Turn ends, or waits.
    WithTurn,
    /// Their worker was lost: nobody knows what became of what they did (I6).
    Lost,
}

/// The open subagents that the next commit closes.
pub fn next_to_close(head: &Head) -> Vec<u64> {
    let open = head.turn.iter().flat_map(|turn| &turn.subagents);
    open.copied().take(CLOSED_PER_COMMIT).collect()
}

/// What of the active Turn runs and is this subagent's.
pub fn running_of(head: &Head, subagent: u64) -> Vec<u64> {
    let running = head.turn.iter().flat_map(|turn| &turn.running);
    let mine = running.copied().filter(|number| of(*number) == subagent);
    mine.collect()
}

/// Closes subagents: their Turns end, and what they were doing has an unknown outcome.
pub fn close(draft: &mut Draft, open: &[OpenSubagent], why: Closing) {
    let now_ms = draft.now_ms;
    for one in open {
        let mut unknown = 0;
        for (number, row) in &one.running {
            let mut row = row.clone();
            if let ItemBody::Call { state, .. } = &mut row.body
                && *state == CallState::Running
            {
                *state = CallState::Unknown;
                unknown += 1;
            }
            draft.put(keys::item(*number), &row);
            if let Some(active) = &mut draft.head.turn {
                active.running.retain(|running| running != number);
            }
        }
        let mut row = one.row.clone();
        row.closed_ms = Some(now_ms);
        row.working = false;
        let turn = one.turn.clone().map(|(number, mut turn)| {
            turn.unknown_calls += unknown;
            match why {
                Closing::WithTurn => end(&mut turn, &row, one.number, Ended::Cancelled, now_ms),
                Closing::Lost => {
                    let failure = Failure {
                        code: "internal_error".to_owned(),
                        message: "the worker was lost while this subagent worked".to_owned(),
                    };
                    end(&mut turn, &row, one.number, Ended::Failed(failure), now_ms);
                }
            }
            (number, turn)
        });
        let rows = SubagentRows {
            number: one.number,
            row,
            told: vec![SubagentState::Closed],
            turn,
            item: None,
        };
        rows.put(draft);
    }
}

/// How a Turn of a subagent ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// It is done.
    Completed,
    /// It could not go on.
    Failed(Failure),
    /// Somebody ended it.
    Cancelled,
}

/// Ends a Turn of subagent `number`, whose row is `row`.
pub fn end(turn: &mut TurnRow, row: &SubagentRow, number: u64, how: Ended, now_ms: u64) {
    turn.status = match how {
        Ended::Completed => TurnStatus::Completed,
        Ended::Failed(failure) => {
            turn.error = Some(failure);
            TurnStatus::Failed
        }
        Ended::Cancelled => TurnStatus::Cancelled,
    };
    turn.completed_ms = Some(now_ms);
    turn.usage.get_or_insert_default();
    turn.end_item = Some(within(number, row.items + 1));
}

/// A Turn of subagent `number` that begins behind what is in `row`.
pub fn begin(row: &SubagentRow, number: u64, now_ms: u64) -> TurnRow {
    let mut turn = TurnRow::queued(0, 0, now_ms);
    turn.status = TurnStatus::InProgress;
    turn.started_ms = Some(now_ms);
    turn.first_item = Some(within(number, row.items + 1));
    turn
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_says_whose_row_it_is(subagent in 0..1_u64 << 31, n in 1..1_u64 << OWN_BITS) {
            let number = within(subagent, n);
            prop_assert_eq!(split(number), (subagent > 0).then_some((subagent, n)));
            prop_assert_eq!(of(number), subagent);
            prop_assert_eq!(keys::parse_turn(&keys::turn(number)), Some(number));
            prop_assert_eq!(keys::parse_item(&keys::item(number)), Some(number));
        }
    }
}
