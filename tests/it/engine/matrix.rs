//! Every state against every event, as tables: a rule that changes shows up as a changed cell.

use std::fmt::Debug;

use rat_things::api::TurnStatus;
use rat_things::engine::delivery::{self, DeliveryEvent, DeliveryState};
use rat_things::engine::fence::{self, RunEvent, RunState};
use rat_things::engine::input::{self, InputEvent, InputState, NoOp};
use rat_things::engine::ports::Liveness;
use rat_things::engine::recover::verdict;
use rat_things::engine::turn::{self, TurnEvent};

/// Rows of cells as text, columns aligned.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter()
            .filter_map(|row| row.get(at))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(cells.join(" | ").trim_end());
        text.push('\n');
    }
    text
}

/// The table of a total function; `-` is a refusal.
fn matrix<S: Debug, E: Debug>(
    states: &[S],
    events: &[E],
    next: impl Fn(&S, &E) -> Option<String>,
) -> String {
    let mut header = vec![String::new()];
    header.extend(events.iter().map(|event| format!("{event:?}")));
    let mut rows = vec![header];
    for state in states {
        let mut row = vec![format!("{state:?}")];
        row.extend(
            events
                .iter()
                .map(|e| next(state, e).unwrap_or_else(|| "-".into())),
        );
        rows.push(row);
    }
    table(&rows)
}

#[test]
fn a_turn_goes_from_state_to_state() {
    use TurnEvent::{Answered, Cancel, Claim, Complete, Fail, Wait};
    use TurnStatus::{Cancelled, Completed, Failed, InProgress, Queued, Waiting};
    let states = [Queued, InProgress, Waiting, Completed, Failed, Cancelled];
    let events = [Claim, Wait, Answered, Complete, Fail, Cancel];
    let next = |state: &TurnStatus, event: &TurnEvent| {
        turn::next(*state, *event)
            .ok()
            .map(|state| format!("{state:?}"))
    };
    insta::assert_snapshot!(matrix(&states, &events, next));
}

#[test]
fn a_terminal_turn_refuses_everything_and_says_what() {
    let refused = turn::next(TurnStatus::Failed, TurnEvent::Claim).expect_err("terminal");
    assert_eq!(refused.to_string(), "a turn that is Failed refuses Claim");
}

#[test]
fn an_input_goes_from_state_to_state() {
    use InputEvent::{Apply, Claim, Discard, Ignore, Take, TurnEnded};
    let states = [
        InputState::Accepted,
        InputState::Claimed,
        InputState::Delivered { turn: 7 },
        InputState::Applied { turn: 7 },
        InputState::NoOp {
            result: NoOp::AlreadyFinished,
        },
        InputState::Failed {
            reason: "why".into(),
        },
    ];
    let events = [Claim, Take, TurnEnded, Apply, Ignore, Discard];
    let next = |state: &InputState, event: &InputEvent| {
        input::next(state, *event, 9)
            .ok()
            .map(|state| format!("{state:?}"))
    };
    insta::assert_snapshot!(matrix(&states, &events, next));
}

#[test]
fn a_run_goes_from_state_to_state() {
    use RunEvent::{Claim, LostSight, OperatorRelease, ProvenGone, Release, Renew};
    let states = [RunState::Free, RunState::Leased, RunState::Quarantined];
    let events = [
        Claim,
        Renew,
        Release,
        ProvenGone,
        LostSight,
        OperatorRelease,
    ];
    let next = |state: &RunState, event: &RunEvent| {
        fence::next(*state, *event)
            .ok()
            .map(|state| format!("{state:?}"))
    };
    insta::assert_snapshot!(matrix(&states, &events, next));
}

#[test]
fn a_delivery_goes_from_state_to_state() {
    use DeliveryEvent::{Arrived, Claim, GiveUp, LostSight, Refused, SendAgain, TryLater};
    use DeliveryState::{Delivered, Failed, Pending, Sending, Uncertain};
    let states = [Pending, Sending, Delivered, Failed, Uncertain];
    let events = [
        Claim, Arrived, TryLater, Refused, LostSight, SendAgain, GiveUp,
    ];
    let next = |state: &DeliveryState, event: &DeliveryEvent| {
        delivery::next(*state, *event)
            .ok()
            .map(|state| format!("{state:?}"))
    };
    insta::assert_snapshot!(matrix(&states, &events, next));
}

#[test]
fn an_inspection_leads_to_a_verdict() {
    let states = [Liveness::Running, Liveness::Gone, Liveness::Unknown];
    let next = |state: &Liveness, lapsed: &bool| Some(format!("{:?}", verdict(*state, *lapsed)));
    insta::assert_snapshot!(matrix(&states, &[false, true], next));
}
