//! Items: in their Turns, numbered without a gap; calls are running, known, or unknown (I6), and what was answered is answered
//! once (I7).

use std::collections::BTreeMap;

use super::facts::{ItemKind, SessionFacts};
use super::finding::{Invariant, Report};
use crate::api::CallStatus;
use crate::engine::keys;
use crate::engine::session::Head;

pub(super) fn check(facts: &SessionFacts, head: &Head, report: &mut Report) {
    let whole = facts.items.keys().copied().eq(1..head.next.item);
    report.must(
        whole,
        Invariant::I16,
        || keys::item(head.next.item),
        || format!("the item rows are not those before {}", head.next.item),
    );
    let mut outputs: BTreeMap<u64, u64> = BTreeMap::new();
    let mut unknown: BTreeMap<u64, u32> = BTreeMap::new();
    for (&number, item) in &facts.items {
        let sort = || keys::item(number);
        let inside = facts.turns.get(&item.turn).is_some_and(|turn| {
            turn.first_item.is_some_and(|first| first <= number)
                && turn.end_item.is_none_or(|end| number < end)
        });
        report.must(inside, Invariant::I8, sort, || {
            format!("it is outside of its turn {}", item.turn)
        });
        if let Some(index) = item.output_index {
            let next = outputs.entry(item.turn).or_default();
            report.must(index == *next, Invariant::I16, sort, || {
                format!("it is output {index} of its turn, where {next} comes next")
            });
            *next = index + 1;
        }
        if let ItemKind::Call { unknown: true, .. } = item.kind {
            *unknown.entry(item.turn).or_default() += 1;
        }
        in_the_head(number, item.turn, &item.kind, head, report);
    }
    for (&number, turn) in &facts.turns {
        let marked = unknown.remove(&number).unwrap_or_default();
        report.must(
            marked == turn.unknown_calls,
            Invariant::I6,
            || keys::turn(number),
            || {
                format!(
                    "it counts {} unknown calls and has {marked}",
                    turn.unknown_calls
                )
            },
        );
    }
    if let Some(active) = &head.turn {
        let seen = outputs.get(&active.number).copied().unwrap_or_default();
        report.must(
            seen == active.outputs,
            Invariant::I16,
            || keys::HEAD.to_owned(),
            || {
                format!(
                    "it counts {} outputs, and {seen} are stored",
                    active.outputs
                )
            },
        );
    }
    answers(facts, report);
}

/// What runs or waits is known to the head, and the other way round.
fn in_the_head(number: u64, turn: u64, kind: &ItemKind, head: &Head, report: &mut Report) {
    let active = head.turn.as_ref().filter(|active| active.number == turn);
    let runs = matches!(kind, ItemKind::Call { running: true, .. });
    let known = active.is_some_and(|active| active.running.contains(&number));
    report.must(
        runs == known,
        Invariant::I6,
        || keys::item(number),
        || match runs {
            true => "it is running, and its turn knows nothing of it".to_owned(),
            false => "its turn has it as running, and it is not".to_owned(),
        },
    );
    let waits =
        matches!(kind, ItemKind::Function { status, .. } if *status == CallStatus::InProgress);
    let open = active.is_some_and(|active| active.calls.iter().any(|call| call.item == number));
    report.must(
        waits == open,
        Invariant::I7,
        || keys::item(number),
        || match waits {
            true => "it waits for an answer that its turn will not take".to_owned(),
            false => "its turn waits for an answer to it, and it needs none".to_owned(),
        },
    );
}

/// Every answer belongs to one call before it, and every call that was completed has one.
fn answers(facts: &SessionFacts, report: &mut Report) {
    let mut answered: BTreeMap<u64, u64> = BTreeMap::new();
    for (&number, item) in &facts.items {
        let ItemKind::Output { of, call, .. } = &item.kind else {
            continue;
        };
        let of_call = facts
            .items
            .get(of)
            .filter(|_| *of < number)
            .is_some_and(|asked| {
                let completed = ItemKind::Function {
                    call: call.clone(),
                    status: CallStatus::Completed,
                };
                asked.turn == item.turn && asked.kind == completed
            });
        let first = answered.insert(*of, number).is_none();
        report.must(
            of_call && first,
            Invariant::I7,
            || keys::item(number),
            || format!("it answers item {of}, which is no completed call without an answer"),
        );
    }
    for (&number, item) in &facts.items {
        let completed = matches!(&item.kind, ItemKind::Function { status, .. } if *status == CallStatus::Completed);
        report.must(
            !completed || answered.contains_key(&number),
            Invariant::I7,
            || keys::item(number),
            || "it is completed, and nothing answers it".to_owned(),
        );
    }
}
