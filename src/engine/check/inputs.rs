//! Inputs: each waits in the head or has ended in one way (I1), and control inputs went where they were meant to go (I5).

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{InputFact, InputKind, ItemKind, SessionFacts};
use super::finding::{Invariant, Report};
use crate::engine::input::InputState;
use crate::engine::keys;
use crate::engine::session::Head;

pub(super) fn check(facts: &SessionFacts, head: &Head, report: &mut Report) {
    let whole = facts.inputs.keys().copied().eq(1..head.next.input);
    report.must(
        whole,
        Invariant::I1,
        || keys::input(head.next.input),
        || format!("the input rows are not those before {}", head.next.input),
    );
    for &number in facts.ends.keys() {
        report.must(
            facts.inputs.contains_key(&number),
            Invariant::I1,
            || keys::input_end(number),
            || "the end of an input that does not exist".to_owned(),
        );
    }
    let mut waiting: BTreeSet<u64> = head.pending.iter().map(|p| p.input).collect();
    let calls = head.turn.iter().flat_map(|turn| &turn.calls);
    waiting.extend(calls.filter_map(|call| call.answer));
    let shown = shown_in(facts);
    for (&number, input) in &facts.inputs {
        fate(facts, number, input, waiting.contains(&number), report);
        aim(facts, head, number, input, report);
        let places = shown.get(&number).map_or(&[][..], Vec::as_slice);
        shown_once(facts, head, number, input, places, report);
    }
}

/// Which Items show an input, and in which Turns.
fn shown_in(facts: &SessionFacts) -> BTreeMap<u64, Vec<(u64, u64)>> {
    let mut shown: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for (&number, item) in &facts.items {
        if let ItemKind::User { input } | ItemKind::Output { input, .. } = item.kind {
            shown.entry(input).or_default().push((number, item.turn));
        }
    }
    shown
}

fn last<'f>(facts: &'f SessionFacts, number: u64, input: &'f InputFact) -> &'f InputState {
    facts.ends.get(&number).unwrap_or(&input.state)
}

/// It waits or it has ended, and it ended once.
fn fate(facts: &SessionFacts, number: u64, input: &InputFact, waits: bool, report: &mut Report) {
    let sort = || keys::input(number);
    let last = last(facts, number, input);
    let ended = !matches!(last, InputState::Accepted | InputState::Claimed);
    report.must(ended != waits, Invariant::I1, sort, || match waits {
        true => format!("it still waits, and is {last:?}"),
        false => "it neither waits nor has it ended".to_owned(),
    });
    let once = !facts.ends.contains_key(&number) || input.state == InputState::Accepted;
    report.must(once, Invariant::I1, sort, || {
        format!(
            "it was {:?} at once, and ended again as {last:?}",
            input.state
        )
    });
    let possible = match (input.kind, last) {
        (_, InputState::Claimed) => false,
        (InputKind::Cancel, InputState::Applied { .. } | InputState::NoOp { .. }) => true,
        (InputKind::Cancel, _) => false,
        (_, InputState::Applied { .. }) | (InputKind::Message, InputState::NoOp { .. }) => false,
        (InputKind::Message | InputKind::ToolResult, _) => true,
    };
    report.must(possible, Invariant::I1, sort, || {
        format!("a {:?} can't be {last:?}", input.kind)
    });
}

/// A control input did its work on the Turn it was meant for, and on no other.
fn aim(facts: &SessionFacts, head: &Head, number: u64, input: &InputFact, report: &mut Report) {
    let sort = || keys::input(number);
    let touched = match last(facts, number, input) {
        InputState::Applied { turn } => Some(*turn),
        InputState::Delivered { turn } if input.kind == InputKind::ToolResult => Some(*turn),
        _ => None,
    };
    report.must(
        touched.is_none() || touched == input.meant_for,
        Invariant::I5,
        sort,
        || {
            format!(
                "it was meant for {:?}, and went to {touched:?}",
                input.meant_for
            )
        },
    );
    let (Some(turn), InputKind::Cancel) = (touched, input.kind) else {
        return;
    };
    let active = head.turn.as_ref().filter(|active| active.number == turn);
    let heard = active.is_none_or(|active| active.cancel.is_some());
    let queued = head.queue.iter().any(|queued| queued.number == turn);
    report.must(heard && !queued, Invariant::I5, sort, || {
        format!("it was applied to turn {turn}, which goes on")
    });
}

/// What was delivered is in the transcript once, in its Turn; what was not is not, unless it waits there.
fn shown_once(
    facts: &SessionFacts,
    head: &Head,
    number: u64,
    input: &InputFact,
    shows: &[(u64, u64)],
    report: &mut Report,
) {
    let pending = head.pending.iter().find(|p| p.input == number);
    let last = last(facts, number, input);
    let fine = match (last, pending) {
        (InputState::Delivered { turn }, _) => {
            shows.len() == 1 && shows[0].1 == *turn && input.kind != InputKind::Cancel
        }
        (_, Some(pending)) => {
            input.kind == InputKind::Message
                && shows.len() <= 1
                && shows.first().map(|(item, _)| *item) == pending.item
        }
        _ => shows.is_empty(),
    };
    report.must(
        fine,
        Invariant::I1,
        || keys::input(number),
        || format!("it is {last:?}, and the items (with their turns) {shows:?} show it"),
    );
}
