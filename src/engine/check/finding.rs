//! A finding: one broken rule, the record that shows it, and what may safely be done about it.

use std::fmt;

use crate::engine::ids::SessionId;
use crate::engine::keys::{self, Group};
use crate::engine::ports::{BlobRef, Key};

/// The promises that records can show to be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "`promise` says it, for people too")]
pub enum Invariant {
    Form,
    I1,
    I2,
    I3,
    I4,
    I5,
    I6,
    I7,
    I8,
    I9,
    I10,
    I11,
    I12,
    I13,
    I14,
    I15,
    I16,
}

impl Invariant {
    /// All of them, in order.
    pub const ALL: [Invariant; 17] = [
        Invariant::Form,
        Invariant::I1,
        Invariant::I2,
        Invariant::I3,
        Invariant::I4,
        Invariant::I5,
        Invariant::I6,
        Invariant::I7,
        Invariant::I8,
        Invariant::I9,
        Invariant::I10,
        Invariant::I11,
        Invariant::I12,
        Invariant::I13,
        Invariant::I14,
        Invariant::I15,
        Invariant::I16,
    ];

    /// A stable word for programs.
    pub fn code(self) -> &'static str {
        match self {
            Invariant::Form => "form",
            Invariant::I1 => "I1",
            Invariant::I2 => "I2",
            Invariant::I3 => "I3",
            Invariant::I4 => "I4",
            Invariant::I5 => "I5",
            Invariant::I6 => "I6",
            Invariant::I7 => "I7",
            Invariant::I8 => "I8",
            Invariant::I9 => "I9",
            Invariant::I10 => "I10",
            Invariant::I11 => "I11",
            Invariant::I12 => "I12",
            Invariant::I13 => "I13",
            Invariant::I14 => "I14",
            Invariant::I15 => "I15",
            Invariant::I16 => "I16",
        }
    }

    /// The promise in one sentence.
    pub fn promise(self) -> &'static str {
        match self {
            Invariant::Form => "every record can be read and is one that this program writes",
            Invariant::I1 => "an accepted input waits, or has ended in exactly one way",
            Invariant::I2 => "one key stands for one submission, and each input for one key",
            Invariant::I3 => "inputs reach the agent in acceptance order, in their owner's session",
            Invariant::I4 => "only the run of the highest generation writes",
            Invariant::I5 => "a control input touches no other turn than the one it was meant for",
            Invariant::I6 => {
                "an effect is recorded as claimed, and its outcome is known or unknown"
            }
            Invariant::I7 => "a completed call is history: answered once, never executed again",
            Invariant::I8 => "a turn ends once, in one commit with its results",
            Invariant::I9 => "each result goes to each destination once, apart from execution",
            Invariant::I10 => "a worker that can't be accounted for holds no authority",
            Invariant::I11 => "reading and accepting need no worker and no daemon",
            Invariant::I12 => "no passing storage trouble ends a turn",
            Invariant::I13 => "work that is owed is on the agenda, in time",
            Invariant::I14 => "of a deleted session nothing is visible and nothing stays",
            Invariant::I15 => "a session that owes nothing costs nothing",
            Invariant::I16 => "the journal tells every change once, in order",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// What may be done about a finding without looking further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Nothing: a person has to understand it first.
    ByHand,
    /// The head names this agenda entry and there is no such row: put it, in a commit that checks the head's version.
    PutEntry {
        /// Whose group.
        group: Group,
        /// As the head has it.
        due_ms: u64,
    },
    /// The head owes work and names no entry, or one that is too late: commit a draft that changes nothing else, with both
    /// groups' entries moved to where they are due.
    Reseal,
    /// No head names this agenda entry: remove it, in a commit that checks that the head still does not.
    RemoveEntry {
        /// Whose group.
        group: Group,
        /// As the row has it.
        due_ms: u64,
    },
    /// What the harness kept of its own can't be used, and nothing is lost without it: remove its row, in a commit that checks the head's version.
    DropCheckpoint,
    /// These rows belong to no Session any more: remove them.
    RemoveRows,
    /// No record names these bytes: remove them once they are old enough not to be on their way into a record.
    RemoveBlob,
}

impl Repair {
    /// Whether a program may do it by itself.
    pub fn is_safe(&self) -> bool {
        *self != Repair::ByHand
    }
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which promise.
    pub invariant: Invariant,
    /// The record that shows it, or where it should be.
    pub key: Key,
    /// What is wrong, in words.
    pub what: String,
    /// What may be done about it.
    pub repair: Repair,
}

impl Finding {
    /// A record names bytes that are not there, or that are not what it names (`why`).
    pub fn bad_blob(session: &SessionId, sort: &str, blob: &BlobRef, why: &str) -> Finding {
        Finding {
            invariant: Invariant::I1,
            key: Key::new(keys::session_partition(session), sort),
            what: format!("it names bytes with digest {}, which {why}", blob.sha256),
            repair: match sort == keys::CHECKPOINT {
                true => Repair::DropCheckpoint,
                false => Repair::ByHand,
            },
        }
    }

    /// No record of the Session names these bytes.
    pub fn orphan_blob(session: &SessionId, sha256: &str) -> Finding {
        Finding {
            invariant: Invariant::I14,
            key: Key::new(keys::session_partition(session), ""),
            what: format!("no record names its bytes with digest {sha256}"),
            repair: Repair::RemoveBlob,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.invariant, self.key, self.what)
    }
}

/// Findings of one Session as they are gathered.
pub(super) struct Report<'a> {
    session: &'a SessionId,
    /// So far.
    pub(super) found: Vec<Finding>,
}

impl<'a> Report<'a> {
    pub(super) fn new(session: &'a SessionId) -> Report<'a> {
        Report {
            session,
            found: Vec::new(),
        }
    }

    /// Unless the rule holds, the record of `sort` breaks it, and a person has to look.
    pub(super) fn must(
        &mut self,
        holds: bool,
        invariant: Invariant,
        sort: impl FnOnce() -> String,
        what: impl FnOnce() -> String,
    ) {
        if !holds {
            self.add(invariant, sort(), what(), Repair::ByHand);
        }
    }

    pub(super) fn add(&mut self, invariant: Invariant, sort: String, what: String, repair: Repair) {
        self.found.push(Finding {
            invariant,
            key: Key::new(keys::session_partition(self.session), sort),
            what,
            repair,
        });
    }

    /// A finding about a record of another partition.
    pub(super) fn elsewhere(
        &mut self,
        invariant: Invariant,
        key: Key,
        what: String,
        repair: Repair,
    ) {
        self.found.push(Finding {
            invariant,
            key,
            what,
            repair,
        });
    }

    pub(super) fn session(&self) -> &'a SessionId {
        self.session
    }
}
