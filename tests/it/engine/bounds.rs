//! What a Session holds at most, and what happens at the edge.

use pretty_assertions::assert_eq;
use rat_things::api::{CallStatus, TurnStatus};
use rat_things::engine::error::EngineError;
use rat_things::engine::item::{ItemBody, ItemRow};
use rat_things::engine::keys;
use rat_things::engine::open_call::MAX_OPEN_CALLS;
use rat_things::engine::prepare::Prepared;
use rat_things::engine::receipt::Outcome;
use rat_things::engine::session::MAX_PENDING;
use rat_things::engine::settle::Ending;

use super::bench::{Bench, answer, queued, steer};
use super::records::assert_sound;

fn running() -> Bench {
    let mut bench = Bench::new();
    bench.say("start");
    bench.claim().expect("due");
    bench.take_all();
    bench
}

#[test]
fn an_answer_is_accepted_however_many_messages_wait() {
    let mut bench = running();
    bench.call("c");
    assert!(bench.pause());
    for _ in 0..MAX_PENDING {
        bench.say("more");
    }
    let refused = bench.accept(&[steer("one too many")]);
    assert!(
        matches!(refused, Err(EngineError::Conflict(_))),
        "{refused:?}"
    );
    let outcomes = bench.accept(&[answer(1, "c", "42")]).expect("accepted");
    assert_eq!(outcomes, [Outcome::Answered { turn: 1 }]);
    bench.claim().expect("due");
    bench.take_all();
    assert_eq!(bench.head().pending, []);
    assert_sound(&bench.records(), bench.now_ms);
}

#[test]
fn a_cancel_is_accepted_however_many_messages_wait() {
    let mut bench = running();
    for _ in 0..MAX_PENDING {
        bench.say("more");
    }
    assert_eq!(bench.cancel(None), Outcome::Cancelling { turn: 1 });
}

#[test]
fn calls_beyond_the_bound_are_closed_and_the_rest_can_be_answered() {
    let mut bench = running();
    for n in 0..MAX_OPEN_CALLS + 3 {
        bench.call(&format!("c{n}"));
    }
    assert!(bench.pause());
    let status = |bench: &Bench, item: u64| match bench
        .row::<ItemRow>(&keys::item(item))
        .map(|row| row.body)
    {
        Some(ItemBody::Function { status, .. }) => status,
        other => panic!("{other:?}"),
    };
    let first = 2;
    let last = first + MAX_OPEN_CALLS as u64 + 2;
    assert_eq!(status(&bench, first), CallStatus::InProgress);
    assert_eq!(status(&bench, last), CallStatus::Incomplete);
    for n in 0..MAX_OPEN_CALLS {
        bench
            .accept(&[answer(1, &format!("c{n}"), "a")])
            .expect("awaited");
    }
    bench.claim().expect("all are answered");
    assert!(bench.head().turn.is_some_and(|turn| turn.calls.is_empty()));
    bench.settle(&Ending::Completed);
    assert_sound(&bench.records(), bench.now_ms);
}

#[test]
fn a_backlog_of_every_kind_is_carried_through_a_cancel_in_order() {
    let mut bench = running();
    // Steers and queued messages in turns: all of them are late once the Turn is cancelled.
    for n in 0..MAX_PENDING {
        match n % 3 {
            0 => bench.queue(&format!("{n}")),
            _ => bench.say(&format!("{n}")),
        };
    }
    bench.cancel(None);
    bench.settle(&Ending::Cancelled);
    assert_sound(&bench.records(), bench.now_ms);
    let mut given = Vec::new();
    while bench.head().turn.is_some() {
        bench.take_all();
        bench.settle(&Ending::Completed);
        assert_sound(&bench.records(), bench.now_ms);
    }
    for number in 1..bench.head().next.item {
        let row: ItemRow = bench.row(&keys::item(number)).expect("an item");
        if let ItemBody::User { input } = row.body {
            given.push(input);
        }
    }
    assert_eq!(given, (1..=1 + MAX_PENDING as u64).collect::<Vec<u64>>());
}

#[test]
fn a_full_queue_is_cancelled_turn_by_turn_without_a_worker() {
    let mut bench = Bench::new();
    let mut turns = Vec::new();
    for n in 0..MAX_PENDING {
        turns.push(match bench.queue(&format!("{n}")) {
            Outcome::Started { turn } | Outcome::Queued { turn, .. } => turn,
            other => panic!("{other:?}"),
        });
    }
    let refused = bench.accept(&[queued("one too many")]);
    assert!(
        matches!(refused, Err(EngineError::Conflict(_))),
        "{refused:?}"
    );
    for turn in turns.into_iter().rev() {
        let named = Prepared::Cancel { turn: Some(turn) };
        let outcomes = bench.accept(&[named]).expect("accepted");
        assert_eq!(outcomes, [Outcome::Cancelled { turn }]);
        let row: rat_things::engine::turn::TurnRow = bench.row(&keys::turn(turn)).expect("a turn");
        assert_eq!(row.status, TurnStatus::Cancelled);
    }
    assert_eq!(bench.head().turn, None);
    assert_sound(&bench.records(), bench.now_ms);
}
