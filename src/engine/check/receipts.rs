//! Receipts: each names inputs of its own (I2), and says of each what its row says, too.

use std::collections::BTreeSet;

use super::facts::{InputFact, InputKind, SessionFacts};
use super::finding::{Invariant, Report};
use crate::engine::input::InputState;
use crate::engine::keys;
use crate::engine::receipt::Outcome;
use crate::engine::session::Head;

pub(super) fn check(facts: &SessionFacts, head: &Head, report: &mut Report) {
    let mut taken: BTreeSet<u64> = BTreeSet::new();
    for (hash, receipt) in &facts.receipts {
        let sort = || keys::receipt(hash);
        report.must(!receipt.outcomes.is_empty(), Invariant::I2, sort, || {
            "it is a receipt for nothing".to_owned()
        });
        for (at, outcome) in (0..).zip(&receipt.outcomes) {
            let input = receipt.first_input + at;
            let fresh = taken.insert(input) && (1..head.next.input).contains(&input);
            report.must(fresh, Invariant::I2, sort, || {
                format!("it names input {input}, which another receipt names or nobody sent")
            });
            if let Some(row) = facts.inputs.get(&input) {
                report.must(agree(outcome, row), Invariant::I2, sort, || {
                    format!("it says {outcome:?} of input {input}, which is {row:?}")
                });
            }
        }
    }
}

fn agree(outcome: &Outcome, input: &InputFact) -> bool {
    let meant = |turn: &u64| input.meant_for == Some(*turn);
    match outcome {
        Outcome::Started { turn } | Outcome::Steered { turn } | Outcome::Queued { turn, .. } => {
            input.kind == InputKind::Message && meant(turn)
        }
        Outcome::Cancelled { turn } | Outcome::Cancelling { turn } => {
            input.kind == InputKind::Cancel && input.state == InputState::Applied { turn: *turn }
        }
        Outcome::Answered { turn } => input.kind == InputKind::ToolResult && meant(turn),
        Outcome::Nothing { result, .. } => input.state == InputState::NoOp { result: *result },
    }
}
