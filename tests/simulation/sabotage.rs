//! Deliberate faults of the engine: each turns a world's programs into ones that break one rule, from the outside, so that
//! nothing of it can ever be in the program itself. They show that the checker bites.

use std::sync::Arc;

use rat_things::engine::ports::{Change, Commit, Guard, Write};
use serde_json::{Value, json};

use super::life::{Life, Role};

/// What is wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Nothing.
    None,
    /// A worker writes without asking whether the head is still the one that it knows.
    SkipFence,
    /// A client is answered before its input is stored.
    AnswerBeforeCommit,
    /// Every third agenda entry is forgotten.
    DropAgendaRow,
    /// An effect happens first and is claimed afterwards.
    ClaimAfterEffect,
    /// A Turn's end is published before its artifacts are stored.
    PublishBeforeCapture,
    /// A commit that is repeated has another id each time.
    ForgetCommitId,
    /// A harness does not look at what was done already.
    ReplayCompletedCall,
    /// A cancel that names a Turn which is over stops the one that is active.
    LateCancelHitsActive,
    /// A refusal is remembered under its key.
    StoreRefusal,
    /// A notification is sent twice.
    DeliverTwice,
    /// A worker that nobody can see is taken for dead.
    TrustSilence,
    /// Some events are not told to those who follow.
    SkipEvents,
    /// A deleted Session stays in its owner's list.
    StayListed,
    /// A lease is judged by the clock of whoever looks at it.
    JudgeByClock,
    /// Nobody looks at what is not due by his clock.
    WaitForClock,
}

/// Each of them.
pub const ALL: [Sabotage; 15] = [
    Sabotage::SkipFence,
    Sabotage::AnswerBeforeCommit,
    Sabotage::DropAgendaRow,
    Sabotage::ClaimAfterEffect,
    Sabotage::PublishBeforeCapture,
    Sabotage::ForgetCommitId,
    Sabotage::ReplayCompletedCall,
    Sabotage::LateCancelHitsActive,
    Sabotage::StoreRefusal,
    Sabotage::DeliverTwice,
    Sabotage::TrustSilence,
    Sabotage::SkipEvents,
    Sabotage::StayListed,
    Sabotage::JudgeByClock,
    Sabotage::WaitForClock,
];

/// A commit as it reaches the store.
pub enum Trick {
    /// At once, and it gives the answer.
    Now(Commit),
    /// Behind everybody's back.
    Later(Commit),
}

impl Sabotage {
    /// What becomes of a program's commit.
    pub fn on_commit(self, life: &Life, mut commit: Commit) -> Vec<Trick> {
        match self {
            Sabotage::SkipFence if life.role == Role::Worker => {
                for write in Arc::make_mut(&mut commit.writes) {
                    write.guard = Guard::Any;
                }
            }
            Sabotage::AnswerBeforeCommit if life.role == Role::Client => {
                return vec![Trick::Later(commit)];
            }
            Sabotage::DropAgendaRow => {
                let before = commit.writes.len();
                Arc::make_mut(&mut commit.writes).retain(|write| {
                    let entry = write.key.partition.starts_with("A/");
                    !entry || write.change == Change::Delete || !commit.id.0[0].is_multiple_of(3)
                });
                if commit.writes.len() < before {
                    life.shared.note(format_args!("an entry is forgotten"));
                }
            }
            Sabotage::PublishBeforeCapture => return publish_first(commit),
            Sabotage::LateCancelHitsActive => misroute(&mut commit),
            Sabotage::StayListed => Arc::make_mut(&mut commit.writes).retain(|write| {
                let listing = write.key.partition.starts_with("O/");
                !(listing && write.change == Change::Delete)
            }),
            _ => {}
        }
        vec![Trick::Now(commit)]
    }
}

fn publish_first(mut commit: Commit) -> Vec<Trick> {
    let is_artifact = |write: &Write| write.key.sort.starts_with("artifact/");
    let (late, now): (Vec<Write>, Vec<Write>) = Arc::unwrap_or_clone(commit.writes)
        .into_iter()
        .partition(is_artifact);
    commit.writes = now.into();
    let mut tricks = Vec::new();
    if !late.is_empty() {
        let mut id = commit.id;
        id.0[15] ^= 1;
        tricks.push(Trick::Later(Commit {
            id,
            writes: late.into(),
        }));
    }
    if !commit.writes.is_empty() {
        tricks.push(Trick::Now(commit));
    }
    tricks
}

/// Makes a cancel that found another Turn than the one it names stop that other one.
fn misroute(commit: &mut Commit) {
    let json = |write: &Write| match &write.change {
        Change::Put(value) => serde_json::from_slice::<Value>(value).ok(),
        Change::Delete | Change::Check => None,
    };
    let head = commit.writes.iter().position(|w| w.key.sort == "head");
    let cancel = commit.writes.iter().position(|w| {
        w.key.sort.starts_with("input/")
            && json(w).is_some_and(|row| row["result"] == "another_turn_active")
    });
    let (Some(head), Some(cancel)) = (head, cancel) else {
        return;
    };
    let (Some(mut head_row), Some(mut row)) =
        (json(&commit.writes[head]), json(&commit.writes[cancel]))
    else {
        return;
    };
    // Where a run goes on the agenda stays as it is, and nothing else gives the fault away.
    if head_row["fence"]["l"].is_null() {
        return;
    }
    let input = commit.writes[cancel].key.sort[6..]
        .parse::<u64>()
        .unwrap_or(0);
    head_row["turn"]["x"] = json!(input);
    let turn = head_row["turn"]["n"].clone();
    row["state"] = json!("applied");
    row["turn"] = turn;
    if let Some(fields) = row.as_object_mut() {
        fields.remove("result");
    }
    Arc::make_mut(&mut commit.writes)[head].change = Change::Put(head_row.to_string().into_bytes());
    Arc::make_mut(&mut commit.writes)[cancel].change = Change::Put(row.to_string().into_bytes());
}
