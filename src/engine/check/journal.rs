//! The journal: every change once, in order, and nothing that did not happen (I16); a Turn's end is its last word (I8).

use std::collections::BTreeMap;

use super::facts::SessionFacts;
use super::finding::{Invariant, Report};
use super::subagents;
use crate::api::{EnvironmentStatus, SessionStatus, TurnStatus, Words};
use crate::engine::journal::Entry;
use crate::engine::keys;
use crate::engine::session::Head;
use crate::engine::subagent::SubagentState;

/// What the journal told, in order.
#[derive(Default)]
struct Told {
    added: Vec<u64>,
    done: Vec<u64>,
    turns: BTreeMap<u64, Vec<TurnStatus>>,
    status: Option<SessionStatus>,
    environment: Option<EnvironmentStatus>,
    resets: u32,
    subagents: BTreeMap<u64, Vec<SubagentState>>,
}

pub(super) fn check(facts: &SessionFacts, head: &Head, report: &mut Report) {
    let mut told = Told::default();
    for (&revision, events) in &facts.journal {
        let sort = || keys::journal(revision);
        report.must(revision <= head.revision, Invariant::I16, sort, || {
            format!("it is ahead of the head's revision {}", head.revision)
        });
        for event in events {
            listen(&mut told, revision, event, report);
        }
    }
    let here = || keys::HEAD.to_owned();
    let created = facts.journal.get(&1).and_then(|events| events.first());
    report.must(
        created == Some(&Entry::Created),
        Invariant::I16,
        here,
        || "the journal does not begin with the session's creation".to_owned(),
    );
    report.must(
        told.added.iter().copied().eq(1..head.next.item),
        Invariant::I16,
        here,
        || format!("items were announced as {:?}", told.added),
    );
    told.done.sort_unstable();
    let finals = facts
        .items
        .iter()
        .filter(|(_, item)| item.output_index.is_some() && item.is_final());
    report.must(
        finals.clone().map(|(n, _)| n).eq(&told.done),
        Invariant::I16,
        here,
        || {
            let finals: Vec<u64> = finals.map(|(n, _)| *n).collect();
            format!("items {finals:?} are final, and {:?} were told", told.done)
        },
    );
    report.must(
        told.status.unwrap_or(SessionStatus::Idle) == head.status(),
        Invariant::I16,
        here,
        || format!("it is {:?}, told was {:?}", head.status(), told.status),
    );
    report.must(
        told.environment == head.environment_status,
        Invariant::I16,
        here,
        || {
            format!(
                "the environment is {:?}, told was {:?}",
                head.environment_status, told.environment
            )
        },
    );
    report.must(told.resets == head.resets, Invariant::I16, here, || {
        format!(
            "{} resets happened, and {} were told",
            head.resets, told.resets
        )
    });
    turns(facts, told.turns, report);
    subagents::told(facts, told.subagents, report);
}

fn listen(told: &mut Told, revision: u64, event: &Entry, report: &mut Report) {
    let sort = || keys::journal(revision);
    match event {
        Entry::Created => report.must(revision == 1, Invariant::I16, sort, || {
            "the session was created before".to_owned()
        }),
        Entry::Session { s } => {
            report.must(told.status != Some(*s), Invariant::I16, sort, || {
                format!("it says again that the session is {s:?}")
            });
            told.status = Some(*s);
        }
        Entry::Turn { t, s } => told.turns.entry(*t).or_default().push(*s),
        Entry::Added { i } => told.added.push(*i),
        Entry::Done { i } => told.done.push(*i),
        Entry::Environment { s, .. } => {
            report.must(!is_over(told), Invariant::I16, sort, || {
                format!("it says that the environment is {s:?}, and it had expired")
            });
            report.must(told.environment != Some(*s), Invariant::I16, sort, || {
                format!("it says again that the environment is {s:?}")
            });
            told.environment = Some(*s);
        }
        Entry::Reset { .. } => {
            report.must(!is_over(told), Invariant::I16, sort, || {
                "it tells of a reset of an environment that had expired".to_owned()
            });
            told.resets += 1;
        }
        Entry::Subagent { n, s } => told.subagents.entry(*n).or_default().push(*s),
    }
}

/// Whether the last was told of the environment.
fn is_over(told: &Told) -> bool {
    told.environment == Some(EnvironmentStatus::Expired)
}

fn turns(facts: &SessionFacts, mut told: BTreeMap<u64, Vec<TurnStatus>>, report: &mut Report) {
    for (&number, turn) in &facts.turns {
        let said = told.remove(&number).unwrap_or_default();
        let ends = |status: &TurnStatus| {
            use TurnStatus::{Cancelled, Completed, Failed, InProgress, Queued, Waiting};
            match status {
                Completed | Failed | Cancelled => true,
                Queued | InProgress | Waiting => false,
            }
        };
        let fine = said.first() == Some(&TurnStatus::Queued)
            && said.last() == Some(&turn.status)
            && said.is_sorted_by(|a, b| a != b)
            && said.iter().rev().skip(1).all(|status| !ends(status));
        report.must(
            fine,
            Invariant::I8,
            || keys::turn(number),
            || format!("it is {}, and was told as {said:?}", turn.status.as_str()),
        );
    }
    for number in told.into_keys() {
        report.must(
            false,
            Invariant::I16,
            || keys::turn(number),
            || "the journal tells of this turn, which does not exist".to_owned(),
        );
    }
}
