//! Deliveries: what is owed has its entry, what is not has none, and the head knows the first of them (I9, I13).

use std::collections::BTreeMap;

use super::facts::SessionFacts;
use super::finding::{Invariant, Report};
use crate::engine::ids::{Kind, well_formed};
use crate::engine::keys;
use crate::engine::session::Head;

pub(super) fn check(facts: &SessionFacts, head: &Head, report: &mut Report) {
    let mut owed: BTreeMap<&str, u64> = BTreeMap::new();
    for (due_ms, id) in &facts.owed {
        let once = owed.insert(id, *due_ms).is_none();
        report.must(
            once,
            Invariant::I9,
            || keys::owed(*due_ms, id),
            || "this delivery is owed twice".to_owned(),
        );
    }
    let first = facts.owed.first().map(|(due_ms, _)| *due_ms);
    let said = head.deliveries_due_ms;
    report.must(
        said.is_some() == first.is_some() && said <= first,
        Invariant::I13,
        || keys::HEAD.to_owned(),
        || format!("the first delivery is due {first:?}, and the head says {said:?}"),
    );
    for (id, row) in &facts.deliveries {
        let sort = || keys::delivery(id);
        report.must(
            well_formed(Kind::Delivery, id),
            Invariant::Form,
            sort,
            || "this is no id of a delivery".to_owned(),
        );
        let entry = owed.remove(id.as_str());
        let expected = row.state.is_owed().then_some(row.due_ms);
        report.must(entry == expected, Invariant::I9, sort, || {
            let state = row.state;
            format!("it is {state}, due {expected:?}, and its entry is at {entry:?}")
        });
        report.must(row.tries <= row.attempts, Invariant::I6, sort, || {
            format!(
                "{} of {} attempts are said to be the last",
                row.tries, row.attempts
            )
        });
    }
    for (id, due_ms) in owed {
        report.must(
            false,
            Invariant::I9,
            || keys::owed(due_ms, id),
            || "it is owed, and there is no such delivery".to_owned(),
        );
    }
}
