//! Turns: each is open in the head or has ended, once, with everything that belongs to its end (I8).

use std::collections::BTreeSet;

use super::facts::SessionFacts;
use super::finding::{Invariant, Report};
use crate::api::{TurnStatus, Words};
use crate::engine::keys;
use crate::engine::session::Head;

pub(super) fn check(facts: &SessionFacts, head: &Head, report: &mut Report) {
    let whole = facts.turns.keys().copied().eq(1..head.next.turn);
    report.must(
        whole,
        Invariant::I8,
        || keys::turn(head.next.turn),
        || format!("the turn rows are not those before {}", head.next.turn),
    );
    let active = head.turn.as_ref();
    let mut open: BTreeSet<u64> = head.queue.iter().map(|queued| queued.number).collect();
    open.extend(active.map(|turn| turn.number));
    for &number in &open {
        report.must(
            facts.turns.contains_key(&number),
            Invariant::I8,
            || keys::turn(number),
            || "the head holds this turn, and it has no row".to_owned(),
        );
    }
    for (&number, turn) in &facts.turns {
        let sort = || keys::turn(number);
        let over = turn.is_over();
        report.must(over != open.contains(&number), Invariant::I8, sort, || {
            let held = if over { "still holds" } else { "does not hold" };
            format!("it is {}, and the head {held} it", turn.status.as_str())
        });
        let complete = turn.completed == over
            && turn.counted == over
            && turn.end_item.is_some() == over
            && turn.failed == (turn.status == TurnStatus::Failed);
        report.must(complete, Invariant::I8, sort, || {
            format!("its end and its state do not belong together: {turn:?}")
        });
        report.must(
            turn.started == turn.runs.is_some(),
            Invariant::I4,
            sort,
            || format!("it began without a run, or the other way round: {turn:?}"),
        );
        if let Some((first, last)) = turn.runs {
            let known = first <= last
                && last <= head.fence.generation
                && facts.runs.contains_key(&first)
                && facts.runs.contains_key(&last);
            report.must(known, Invariant::I4, sort, || {
                format!("runs {first} to {last} worked on it, which are not recorded")
            });
        }
        if let Some(active) = active.filter(|active| active.number == number) {
            report.must(turn.status == active.status, Invariant::I8, sort, || {
                let (row, said) = (turn.status.as_str(), active.status.as_str());
                format!("it is {row}, and the head says that it is {said}")
            });
            let mine = turn.runs.is_none_or(|(_, last)| {
                head.fence.lease.is_none() || !active.begun || last == head.fence.generation
            });
            report.must(mine, Invariant::I4, sort, || {
                format!(
                    "{:?} works on it, and the lease is another run's",
                    turn.runs
                )
            });
        }
    }
}
