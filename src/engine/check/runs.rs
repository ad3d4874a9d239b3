//! Runs: none is ahead of the fence, and whoever holds the lease is recorded and not over (I4).

use super::facts::SessionFacts;
use super::finding::{Invariant, Report};
use crate::engine::keys;
use crate::engine::session::Head;

pub(super) fn check(facts: &SessionFacts, head: &Head, report: &mut Report) {
    for (&generation, run) in &facts.runs {
        let sort = || keys::run(generation);
        report.must(
            generation <= head.fence.generation,
            Invariant::I4,
            sort,
            || {
                format!(
                    "it is ahead of the fence, which is at {}",
                    head.fence.generation
                )
            },
        );
        report.must(
            facts.turns.contains_key(&run.turn),
            Invariant::I4,
            sort,
            || format!("it was claimed for turn {}, which does not exist", run.turn),
        );
    }
    if let Some(lease) = &head.fence.lease {
        let row = facts.runs.get(&head.fence.generation);
        let live = row.is_some_and(|run| !run.ended && run.execution == lease.execution);
        report.must(
            live,
            Invariant::I4,
            || keys::run(head.fence.generation),
            || match row {
                None => "it holds the lease, and is not recorded".to_owned(),
                Some(run) => format!(
                    "{} holds the lease, and the run of {} is recorded, ended: {}",
                    lease.execution, run.execution, run.ended
                ),
            },
        );
    }
}
