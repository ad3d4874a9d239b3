//! The head by itself: its bounds, what it holds of Turns and messages that wait, and what is left of it after a deletion.

use super::facts::{Around, HeadFact, SessionFacts};
use super::finding::{Invariant, Report};
use crate::api::EnvironmentStatus;
use crate::engine::keys;
use crate::engine::open_call::MAX_OPEN_CALLS;
use crate::engine::session::{HEAD_BYTES, Head, MAX_PENDING};

fn here() -> String {
    keys::HEAD.to_owned()
}

/// Whether the Session's owner finds it.
pub(super) fn check_listing(head: &Head, around: &Around, report: &mut Report) {
    let lists = [
        (around.listed_by_time, "by time"),
        (around.listed_by_id, "by id"),
    ];
    for (listed, how) in lists {
        match head.deleted_ms {
            None => report.must(listed, Invariant::I11, here, || {
                format!("its owner's list {how} does not have it")
            }),
            Some(_) => report.must(!listed, Invariant::I14, here, || {
                format!("it is deleted, and its owner's list {how} still has it")
            }),
        }
    }
}

pub(super) fn check_deleted(head: &Head, report: &mut Report) {
    report.must(head.fence.lease.is_none(), Invariant::I14, here, || {
        format!("it is deleted, and a run holds a lease: {:?}", head.fence)
    });
}

/// One that has expired is worked in no more.
fn check_expired(head: &Head, report: &mut Report) {
    let told = head.environment_status == Some(EnvironmentStatus::Expired);
    report.must(told == head.expiry.is_some(), Invariant::I16, here, || {
        format!(
            "its environment is {:?}, and this is said of its expiry: {:?}",
            head.environment_status, head.expiry
        )
    });
    let Some(expiry) = &head.expiry else {
        return;
    };
    report.must(head.fence.lease.is_none(), Invariant::I4, here, || {
        format!(
            "its environment expired, and a run holds a lease: {:?}",
            head.fence
        )
    });
    let done = !expiry.erased || head.turn.is_none();
    report.must(done, Invariant::I13, here, || {
        "its environment is erased, and a turn is left open".to_owned()
    });
}

pub(super) fn check(facts: &SessionFacts, fact: &HeadFact, report: &mut Report) {
    let head = &fact.head;
    report.must(
        facts.configured,
        Invariant::Form,
        || keys::CONFIG.to_owned(),
        || "the session has no configuration".to_owned(),
    );
    report.must(fact.size_bytes < HEAD_BYTES, Invariant::I15, here, || {
        format!("it has {} bytes", fact.size_bytes)
    });
    check_expired(head, report);
    let fence = &head.fence;
    report.must(
        fence.lease.is_none() || fence.quarantine.is_none(),
        Invariant::I10,
        here,
        || format!("a run holds a lease beside a quarantine: {fence:?}"),
    );
    report.must(
        head.pending.len() <= MAX_PENDING,
        Invariant::I1,
        here,
        || format!("{} inputs wait", head.pending.len()),
    );
    let ordered = head.pending.is_sorted_by(|a, b| a.input < b.input);
    report.must(ordered, Invariant::I3, here, || {
        format!("inputs wait out of order: {:?}", head.pending)
    });
    let ordered = head.queue.is_sorted_by(|a, b| a.input < b.input);
    report.must(ordered, Invariant::I3, here, || {
        format!("turns are queued out of order: {:?}", head.queue)
    });
    let moves = head.queue.is_empty() || head.turn.is_some();
    report.must(moves, Invariant::I13, here, || {
        "turns are queued behind nothing".to_owned()
    });
    for queued in &head.queue {
        let mut waiting = head.pending.iter();
        let starts = waiting.any(|p| p.input == queued.input && p.turn == queued.number);
        report.must(starts, Invariant::I1, here, || {
            format!("nothing starts the queued turn {}", queued.number)
        });
    }
    for pending in &head.pending {
        let active = head.turn.as_ref().map(|turn| turn.number);
        let mut open = active
            .into_iter()
            .chain(head.queue.iter().map(|q| q.number));
        let waits = open.any(|turn| turn == pending.turn);
        report.must(waits, Invariant::I1, here, || {
            format!("{pending:?} waits for a turn that is not open")
        });
        let possible = pending.claimed <= fence.generation;
        report.must(possible, Invariant::I4, here, || {
            format!("{pending:?} is claimed by a generation to come")
        });
    }
    let open_calls = head.turn.as_ref().map_or(0, |turn| turn.calls.len());
    report.must(open_calls <= MAX_OPEN_CALLS, Invariant::I15, here, || {
        format!("{open_calls} calls are open")
    });
}
