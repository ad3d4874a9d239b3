//! What the harness kept of its own: no newer than the records, whose cache it is (I4, I7).

use super::facts::SessionFacts;
use super::finding::{Invariant, Repair, Report};
use crate::engine::keys;
use crate::engine::session::Head;

pub(super) fn check(facts: &SessionFacts, head: &Head, report: &mut Report) {
    let Some(kept) = &facts.checkpoint else {
        return;
    };
    if kept.generation > head.fence.generation {
        let what = format!(
            "it was kept by generation {}, and the fence is at {}",
            kept.generation, head.fence.generation
        );
        let sort = keys::CHECKPOINT.to_owned();
        report.add(Invariant::I4, sort, what, Repair::DropCheckpoint);
    }
    if !kept.position.is_within(head) {
        let what = format!(
            "it stands for the items before {}, and the next item is {}",
            kept.position.item, head.next.item
        );
        let sort = keys::CHECKPOINT.to_owned();
        report.add(Invariant::I7, sort, what, Repair::DropCheckpoint);
    }
}
