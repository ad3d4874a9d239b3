//! What is remembered of a Session's rows: what the rules compare, and no bodies.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Invariant, Repair, Report};
use super::{
    agenda, artifacts, checkpoint, deliveries, head, inputs, items, journal, order, receipts, runs,
    subagents, turns,
};
use crate::api::{CallStatus, TurnStatus};
use crate::engine::checkpoint::Position;
use crate::engine::delivery::DeliveryState;
use crate::engine::ids::SessionId;
use crate::engine::input::InputState;
use crate::engine::journal::Entry;
use crate::engine::keys::{self, Group};
use crate::engine::ports::{BlobRef, ExecutionId};
use crate::engine::receipt::ReceiptRow;
use crate::engine::session::Head;

/// What other partitions say about a Session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// It is in its owner's list by time, under its creation time.
    pub listed_by_time: bool,
    /// It is in its owner's list by id.
    pub listed_by_id: bool,
    /// Its agenda entries: group and due time (Unix ms).
    pub agenda: BTreeSet<(Group, u64)>,
}

/// An accepted input.
#[derive(Clone, Debug)]
pub(super) struct InputFact {
    pub kind: InputKind,
    pub meant_for: Option<u64>,
    pub state: InputState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputKind {
    Message,
    Cancel,
    ToolResult,
}

/// A Turn's row, without words.
#[derive(Clone, Debug)]
pub(super) struct TurnFact {
    pub status: TurnStatus,
    pub input: u64,
    pub started: bool,
    pub completed: bool,
    pub failed: bool,
    pub counted: bool,
    pub first_item: Option<u64>,
    pub end_item: Option<u64>,
    pub unknown_calls: u32,
    pub runs: Option<(u64, u64)>,
    pub artifacts: u64,
}

impl TurnFact {
    pub(super) fn is_over(&self) -> bool {
        matches!(
            self.status,
            TurnStatus::Completed | TurnStatus::Failed | TurnStatus::Cancelled
        )
    }
}

/// An Item's row, without content.
#[derive(Clone, Debug)]
pub(super) struct ItemFact {
    pub turn: u64,
    pub output_index: Option<u64>,
    pub kind: ItemKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    User { input: u64 },
    Words,
    Call { running: bool, unknown: bool },
    Function { call: String, status: CallStatus },
    Output { of: u64, call: String, input: u64 },
}

impl ItemFact {
    pub(super) fn is_final(&self) -> bool {
        match &self.kind {
            ItemKind::Call { running, .. } => !running,
            ItemKind::Function { status, .. } => *status != CallStatus::InProgress,
            ItemKind::User { .. } | ItemKind::Words | ItemKind::Output { .. } => true,
        }
    }
}

/// A subagent's row.
#[derive(Clone, Debug)]
pub(super) struct SubagentFact {
    pub parent: u64,
    pub root_turn: u64,
    pub closed: bool,
    pub turns: u64,
    pub items: u64,
    pub outputs: u64,
    pub working: bool,
}

/// A Run's row.
#[derive(Clone, Debug)]
pub(super) struct RunFact {
    pub execution: ExecutionId,
    pub turn: u64,
    pub ended: bool,
}

/// What the harness kept.
#[derive(Clone, Debug)]
pub(super) struct CheckpointFact {
    pub generation: u64,
    pub position: Position,
}

/// A delivery's row.
#[derive(Clone, Debug)]
pub(super) struct DeliveryFact {
    pub state: DeliveryState,
    pub due_ms: u64,
    pub attempts: u32,
    pub tries: u32,
}

/// A Session's head, with what its record says beside it.
#[derive(Clone, Debug)]
pub(super) struct HeadFact {
    pub head: Head,
    pub size_bytes: usize,
}

/// Everything about one Session that the rules compare.
#[derive(Clone, Debug, Default)]
pub struct SessionFacts {
    pub(super) head: Option<HeadFact>,
    pub(super) configured: bool,
    pub(super) checkpoint: Option<CheckpointFact>,
    pub(super) inputs: BTreeMap<u64, InputFact>,
    pub(super) ends: BTreeMap<u64, InputState>,
    pub(super) turns: BTreeMap<u64, TurnFact>,
    pub(super) items: BTreeMap<u64, ItemFact>,
    pub(super) subagents: BTreeMap<u64, SubagentFact>,
    /// Turns and Items of subagents, by their numbers.
    pub(super) subagent_turns: BTreeMap<u64, TurnFact>,
    pub(super) subagent_items: BTreeMap<u64, ItemFact>,
    pub(super) journal: BTreeMap<u64, Vec<Entry>>,
    pub(super) runs: BTreeMap<u64, RunFact>,
    pub(super) receipts: BTreeMap<String, ReceiptRow>,
    pub(super) artifacts: BTreeSet<(u64, u64)>,
    pub(super) deliveries: BTreeMap<String, DeliveryFact>,
    pub(super) owed: BTreeSet<(u64, String)>,
    pub(super) blobs: BTreeMap<String, Vec<BlobRef>>,
    /// Rows that can't be read, and why.
    pub(super) bad: BTreeMap<String, String>,
}

impl SessionFacts {
    /// Of a Session of which no row was seen.
    pub fn new() -> SessionFacts {
        SessionFacts::default()
    }

    /// Whether no row is known.
    pub fn is_empty(&self) -> bool {
        self.first_sort().is_none()
    }

    /// The head, if it was seen and could be read.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref().map(|fact| &fact.head)
    }

    /// Whether this row was taken and could be read.
    pub fn knows(&self, sort: &str) -> bool {
        let (kind, rest) = sort.split_once('/').unwrap_or((sort, ""));
        let number = || rest.parse::<u64>().unwrap_or(u64::MAX);
        match kind {
            keys::HEAD => self.head.is_some(),
            keys::CONFIG => self.configured,
            keys::CHECKPOINT => self.checkpoint.is_some(),
            "input" => self.inputs.contains_key(&number()),
            "end" => self.ends.contains_key(&number()),
            "turn" => self.turns.contains_key(&number()),
            "item" => self.items.contains_key(&number()),
            "subagent" => self.subagents.contains_key(&number()),
            "subagent-turn" => self.subagent_turn(sort).is_some(),
            "subagent-item" => self.subagent_item(sort).is_some(),
            "journal" => self.journal.contains_key(&number()),
            "run" => self.runs.contains_key(&number()),
            "receipt" => self.receipts.contains_key(rest),
            "delivery" => self.deliveries.contains_key(rest),
            _ => false,
        }
    }

    /// Whether this row is history that never changes again: everything an input is, an Item in its final form, a Turn that has
    /// ended, a row of the journal.
    pub fn is_history(&self, sort: &str) -> bool {
        match sort.split_once('/') {
            Some(("input" | "end" | "receipt" | "journal", _)) => self.knows(sort),
            Some(("turn", rest)) => {
                let turn = rest.parse().ok().and_then(|n| self.turns.get(&n));
                turn.is_some_and(TurnFact::is_over)
            }
            Some(("item", rest)) => {
                let item = rest.parse().ok().and_then(|n| self.items.get(&n));
                item.is_some_and(ItemFact::is_final)
            }
            Some(("subagent-turn", _)) => self.subagent_turn(sort).is_some_and(TurnFact::is_over),
            Some(("subagent-item", _)) => self.subagent_item(sort).is_some_and(ItemFact::is_final),
            _ => false,
        }
    }

    fn subagent_turn(&self, sort: &str) -> Option<&TurnFact> {
        self.subagent_turns.get(&keys::parse_turn(sort)?)
    }

    fn subagent_item(&self, sort: &str) -> Option<&ItemFact> {
        self.subagent_items.get(&keys::parse_item(sort)?)
    }

    /// The bytes that records name, with the sort key of the record.
    pub fn blobs(&self) -> impl Iterator<Item = (&str, &BlobRef)> {
        self.blobs
            .iter()
            .flat_map(|(sort, blobs)| blobs.iter().map(move |blob| (sort.as_str(), blob)))
    }

    /// Rows that can't be read, by sort key, and why.
    pub fn unreadable(&self) -> impl Iterator<Item = (&str, &str)> {
        let bad = self.bad.iter();
        bad.map(|(sort, why)| (sort.as_str(), why.as_str()))
    }

    /// Everything that is wrong with the Session at `now_ms`, the time at which its rows were read: only an agenda entry that
    /// comes too late depends on it.
    pub fn findings(&self, session: &SessionId, around: &Around, now_ms: u64) -> Vec<Finding> {
        let mut report = Report::new(session);
        for (sort, why) in &self.bad {
            report.add(Invariant::Form, sort.clone(), why.clone(), Repair::ByHand);
        }
        let Some(fact) = &self.head else {
            // Of a head that can't be read nothing is known, least of all that it is gone.
            if !self.bad.contains_key(keys::HEAD) {
                self.headless(around, &mut report);
            }
            return report.found;
        };
        agenda::check(fact, around, now_ms, &mut report);
        head::check_listing(&fact.head, around, &mut report);
        if fact.head.deleted_ms.is_some() {
            // What is being erased may be half gone; no more than this is promised of it.
            head::check_deleted(&fact.head, &mut report);
            return report.found;
        }
        head::check(self, fact, &mut report);
        turns::check(self, &fact.head, &mut report);
        inputs::check(self, &fact.head, &mut report);
        order::check(self, &fact.head, &mut report);
        items::check(self, &fact.head, &mut report);
        subagents::check(self, &fact.head, &mut report);
        artifacts::check(self, &mut report);
        journal::check(self, &fact.head, &mut report);
        runs::check(self, &fact.head, &mut report);
        checkpoint::check(self, &fact.head, &mut report);
        receipts::check(self, &fact.head, &mut report);
        deliveries::check(self, &fact.head, &mut report);
        report.found
    }

    fn headless(&self, around: &Around, report: &mut Report) {
        if let Some(sort) = self.first_sort() {
            let what = "this and other rows belong to no session: it was deleted".to_owned();
            report.add(Invariant::I14, sort, what, Repair::RemoveRows);
        }
        agenda::check_headless(around, report);
        if around.listed_by_id || around.listed_by_time {
            let what = "it is listed, and there is no such session".to_owned();
            report.add(Invariant::I14, keys::HEAD.to_owned(), what, Repair::ByHand);
        }
    }

    /// The sort key of one row beside the head.
    fn first_sort(&self) -> Option<String> {
        let numbered = [
            self.inputs.keys().next().map(|n| keys::input(*n)),
            self.ends.keys().next().map(|n| keys::input_end(*n)),
            self.turns.keys().next().map(|n| keys::turn(*n)),
            self.items.keys().next().map(|n| keys::item(*n)),
            self.subagents.keys().next().map(|n| keys::subagent(*n)),
            self.subagent_turns.keys().next().map(|n| keys::turn(*n)),
            self.subagent_items.keys().next().map(|n| keys::item(*n)),
            self.journal.keys().next().map(|n| keys::journal(*n)),
            self.runs.keys().next().map(|n| keys::run(*n)),
            self.receipts.keys().next().map(|hash| keys::receipt(hash)),
            self.artifacts.first().map(|(t, n)| keys::artifact(*t, *n)),
            self.deliveries.keys().next().map(|id| keys::delivery(id)),
            self.owed
                .first()
                .map(|(due_ms, id)| keys::owed(*due_ms, id)),
            self.configured.then(|| keys::CONFIG.to_owned()),
            self.checkpoint
                .as_ref()
                .map(|_| keys::CHECKPOINT.to_owned()),
            self.bad.keys().next().cloned(),
        ];
        numbered.into_iter().flatten().next()
    }
}
