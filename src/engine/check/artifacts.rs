//! Artifacts: those that a Turn counts are stored with it (I8). More may be stored: of a capture that was repeated.

use super::facts::SessionFacts;
use super::finding::{Invariant, Report};
use crate::engine::keys;

pub(super) fn check(facts: &SessionFacts, report: &mut Report) {
    for (&number, turn) in &facts.turns {
        let stored = facts.artifacts.range((number, 0)..(number, turn.artifacts));
        let stored = stored.count() as u64;
        report.must(
            stored == turn.artifacts,
            Invariant::I8,
            || keys::turn(number),
            || {
                format!(
                    "it counts {} artifacts, and {stored} are stored",
                    turn.artifacts
                )
            },
        );
    }
    for &(turn, n) in &facts.artifacts {
        report.must(
            facts.turns.contains_key(&turn),
            Invariant::I8,
            || keys::artifact(turn, n),
            || "it belongs to no turn".to_owned(),
        );
    }
}
