//! Order: messages reach the agent in the order of their acceptance (I3), within a Turn and from Turn to Turn.

use super::facts::{ItemKind, SessionFacts};
use super::finding::{Invariant, Report};
use crate::engine::keys;
use crate::engine::session::Head;

pub(super) fn check(facts: &SessionFacts, head: &Head, report: &mut Report) {
    // A Turn that was cancelled in the queue shows its messages and gave them to no agent.
    let began = |turn: u64| facts.turns.get(&turn).is_some_and(|turn| turn.started);
    let mut newest: Option<(u64, u64)> = None;
    for (&number, item) in &facts.items {
        let ItemKind::User { input } = item.kind else {
            continue;
        };
        if !began(item.turn) {
            continue;
        }
        let earlier = newest.filter(|(turn, _)| *turn == item.turn);
        report.must(
            earlier.is_none_or(|(_, before)| before < input),
            Invariant::I3,
            || keys::item(number),
            || format!("input {input} came to the agent behind a later one"),
        );
        newest = Some((item.turn, input));
    }
    let mut starts: Vec<(u64, u64, u64)> = facts
        .turns
        .iter()
        .filter(|(_, turn)| turn.started)
        .filter_map(|(number, turn)| Some((turn.first_item?, *number, turn.input)))
        .collect();
    starts.sort_unstable();
    for pair in starts.windows(2) {
        let (before, (_, number, input)) = (pair[0], pair[1]);
        report.must(
            before.2 < input,
            Invariant::I3,
            || keys::turn(number),
            || {
                format!(
                    "input {input} started it after the later input {}",
                    before.2
                )
            },
        );
    }
    // The front is taken from the queue in its order.
    if let (Some(first), Some(active)) = (head.queue.first(), &head.turn)
        && let Some(turn) = facts.turns.get(&active.number)
    {
        report.must(
            turn.input < first.input,
            Invariant::I3,
            || keys::HEAD.to_owned(),
            || format!("turn {} waits behind a later one", first.number),
        );
    }
}
