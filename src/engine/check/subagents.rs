//! Subagents: each is open in the head or closed, with its Turns and Items whole; what they do is known to the head (I6), and they were told of (I16).

use std::collections::BTreeMap;

use super::facts::{ItemKind, SessionFacts, SubagentFact};
use super::finding::{Invariant, Report};
use crate::engine::keys;
use crate::engine::session::Head;
use crate::engine::subagent::{SubagentState, of, split, within};

pub(super) fn check(facts: &SessionFacts, head: &Head, report: &mut Report) {
    report.must(
        facts.subagents.keys().copied().eq(1..head.next.subagent),
        Invariant::I16,
        || keys::subagent(head.next.subagent),
        || {
            format!(
                "the subagent rows are not those before {}",
                head.next.subagent
            )
        },
    );
    let known = head.turn.as_ref();
    for open in known.iter().flat_map(|turn| &turn.subagents) {
        report.must(
            facts.subagents.contains_key(open),
            Invariant::I8,
            || keys::subagent(*open),
            || "the head holds this subagent, and it has no row".to_owned(),
        );
    }
    for (&number, fact) in &facts.subagents {
        one(facts, head, (number, fact), report);
    }
    let running = known.iter().flat_map(|turn| &turn.running);
    let running: Vec<u64> = running.copied().filter(|number| of(*number) > 0).collect();
    for (&number, item) in &facts.subagent_items {
        let runs = matches!(item.kind, ItemKind::Call { running: true, .. });
        report.must(
            runs == running.contains(&number),
            Invariant::I6,
            || keys::item(number),
            || match runs {
                true => "it is running, and the head knows nothing of it".to_owned(),
                false => "the head has it as running, and it is not".to_owned(),
            },
        );
    }
    let numbers = facts
        .subagent_items
        .keys()
        .chain(facts.subagent_turns.keys());
    for number in numbers {
        report.must(
            facts.subagents.contains_key(&of(*number)),
            Invariant::I8,
            || keys::subagent(of(*number)),
            || "it has turns or items, and no row".to_owned(),
        );
    }
}

fn one(
    facts: &SessionFacts,
    head: &Head,
    (number, fact): (u64, &SubagentFact),
    report: &mut Report,
) {
    let sort = || keys::subagent(number);
    let active = head.turn.as_ref();
    let open = active.is_some_and(|turn| turn.subagents.contains(&number));
    report.must(open != fact.closed, Invariant::I8, sort, || {
        let held = if open { "holds" } else { "does not hold" };
        format!("it is closed: {}, and the head {held} it", fact.closed)
    });
    let fine =
        fact.parent < number && fact.root_turn < head.next.turn && !(fact.closed && fact.working);
    report.must(fine, Invariant::I8, sort, || {
        format!("its row contradicts itself: {fact:?}")
    });
    let mine = within(number, 0)..within(number + 1, 0);
    let turns = facts.subagent_turns.range(mine.clone());
    let items = facts.subagent_items.range(mine);
    let whole = turns
        .clone()
        .map(|(n, _)| *n)
        .eq((1..=fact.turns).map(|n| within(number, n)))
        && items
            .clone()
            .map(|(n, _)| *n)
            .eq((1..=fact.items).map(|n| within(number, n)));
    report.must(whole, Invariant::I16, sort, || {
        format!(
            "it has {} turns and {} items, and other ones are stored",
            fact.turns, fact.items
        )
    });
    for (&at, turn) in turns {
        let last = split(at).is_some_and(|(_, n)| n == fact.turns);
        let complete =
            turn.completed == turn.is_over() && turn.end_item.is_some() == turn.is_over();
        let goes_on = last && fact.working;
        report.must(
            complete && turn.is_over() != goes_on,
            Invariant::I8,
            || keys::turn(at),
            || format!("its end and its state do not belong together: {turn:?}"),
        );
    }
    let mut outputs: BTreeMap<u64, u64> = BTreeMap::new();
    let mut unknown: BTreeMap<u64, u32> = BTreeMap::new();
    for (&at, item) in items {
        let turn = facts.subagent_turns.get(&item.turn);
        let inside = turn.is_some_and(|turn| {
            turn.first_item.is_some_and(|first| first <= at)
                && turn.end_item.is_none_or(|end| at < end)
        });
        report.must(
            inside,
            Invariant::I8,
            || keys::item(at),
            || "it is outside of its turn".to_owned(),
        );
        if let Some(index) = item.output_index {
            let next = outputs.entry(item.turn).or_default();
            report.must(
                index == *next,
                Invariant::I16,
                || keys::item(at),
                || format!("it is output {index} of its turn, where {next} comes next"),
            );
            *next = index + 1;
        }
        if let ItemKind::Call { unknown: true, .. } = item.kind {
            *unknown.entry(item.turn).or_default() += 1;
        }
    }
    let last = within(number, fact.turns);
    let seen = outputs.get(&last).copied().unwrap_or_default();
    report.must(seen == fact.outputs, Invariant::I16, sort, || {
        format!("it counts {} outputs, and {seen} are stored", fact.outputs)
    });
    for (at, marked) in unknown {
        let counted = facts.subagent_turns.get(&at).map(|turn| turn.unknown_calls);
        report.must(
            counted == Some(marked),
            Invariant::I6,
            || keys::turn(at),
            || format!("it counts {counted:?} unknown calls and has {marked}"),
        );
    }
}

/// What the journal told of each: that it was created, first, and at the end what is true.
pub(super) fn told(
    facts: &SessionFacts,
    mut told: BTreeMap<u64, Vec<SubagentState>>,
    report: &mut Report,
) {
    for (&number, fact) in &facts.subagents {
        let said = told.remove(&number).unwrap_or_default();
        let created = |state: &&SubagentState| **state == SubagentState::Created;
        let closed = said.last() == Some(&SubagentState::Closed);
        let fine = said.first() == Some(&SubagentState::Created)
            && said.iter().filter(created).count() == 1
            && closed == fact.closed;
        report.must(
            fine,
            Invariant::I16,
            || keys::subagent(number),
            || format!("it is closed: {}, and was told as {said:?}", fact.closed),
        );
    }
    for number in told.into_keys() {
        report.must(
            false,
            Invariant::I16,
            || keys::subagent(number),
            || "the journal tells of this subagent, which does not exist".to_owned(),
        );
    }
}
