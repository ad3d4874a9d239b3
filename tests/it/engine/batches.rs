//! Batches of inputs: whole or not at all, whatever is in them.

use pretty_assertions::assert_eq;
use rat_things::api::TurnStatus;
use rat_things::engine::error::EngineError;
use rat_things::engine::input::NoOp;
use rat_things::engine::keys;
use rat_things::engine::prepare::{MAX_BATCH, Prepared};
use rat_things::engine::receipt::Outcome;
use rat_things::engine::settle::Ending;
use rat_things::engine::turn::TurnRow;

use super::bench::{Bench, answer, queued, steer};
use super::records::assert_sound;

const CANCEL: Prepared = Prepared::Cancel { turn: None };

fn turn(bench: &Bench, number: u64) -> TurnRow {
    bench.row(&keys::turn(number)).expect("a turn")
}

#[test]
fn a_second_cancel_in_a_batch_ends_the_turn_that_is_active_by_then() {
    let mut bench = Bench::new();
    bench.say("one");
    bench.queue("two");
    let outcomes = bench.accept(&[CANCEL, CANCEL, CANCEL]).expect("accepted");
    // The second Turn's rows were not read for this batch, so a worker ends it.
    assert_eq!(
        outcomes,
        [
            Outcome::Cancelled { turn: 1 },
            Outcome::Cancelling { turn: 2 },
            Outcome::Cancelling { turn: 2 },
        ]
    );
    assert_eq!(turn(&bench, 1).input, 1);
    assert_eq!(turn(&bench, 2).input, 2);
    assert_sound(&bench.records(), bench.now_ms);
}

#[test]
fn a_cancel_that_names_the_next_turn_behind_one_that_ends_this_cancels_it_at_once() {
    let mut bench = Bench::new();
    bench.say("one");
    bench.queue("two");
    bench.queue("three");
    let named = Prepared::Cancel { turn: Some(2) };
    let outcomes = bench.accept(&[CANCEL, named]).expect("accepted");
    let cancelled = |turn| Outcome::Cancelled { turn };
    assert_eq!(outcomes, [cancelled(1), cancelled(2)]);
    assert_eq!(turn(&bench, 2).input, 2);
    assert_eq!(turn(&bench, 3).status, TurnStatus::Queued);
    assert_sound(&bench.records(), bench.now_ms);
}

#[test]
fn more_than_a_commit_holds_is_refused_whole() {
    let mut bench = Bench::new();
    bench.say("active");
    bench.claim().expect("due");
    for n in 0..MAX_BATCH {
        bench.queue(&format!("{n}"));
    }
    let cancels: Vec<Prepared> = (2..2 + MAX_BATCH as u64)
        .map(|turn| Prepared::Cancel { turn: Some(turn) })
        .collect();
    let before = bench.records();
    let refused = bench.accept(&cancels).expect_err("too much at once");
    assert!(
        matches!(&refused, EngineError::Invalid { param: Some(param), .. } if param == "events"),
        "{refused:?}"
    );
    assert_eq!(bench.records(), before);
    for half in cancels.chunks(MAX_BATCH / 2) {
        bench.accept(half).expect("accepted in parts");
    }
    assert_eq!(bench.head().queue, []);
    assert_sound(&bench.records(), bench.now_ms);
}

#[test]
fn eight_messages_for_eight_turns_fit_one_batch() {
    let mut bench = Bench::new();
    let batch: Vec<Prepared> = (0..MAX_BATCH).map(|n| queued(&n.to_string())).collect();
    let outcomes = bench.accept(&batch).expect("accepted");
    assert_eq!(outcomes.len(), MAX_BATCH);
    assert_eq!(bench.head().queue.len(), MAX_BATCH - 1);
    assert_sound(&bench.records(), bench.now_ms);
}

#[test]
fn one_refused_input_refuses_the_batch() {
    let mut bench = Bench::new();
    bench.say("one");
    let before = bench.records();
    let batch = [steer("fine"), answer(1, "nobody asked", "x")];
    assert!(bench.accept(&batch).is_err());
    assert_eq!(bench.records(), before);
}

#[test]
fn a_cancel_and_the_message_behind_it_are_one_change() {
    let mut bench = Bench::new();
    bench.say("wrong");
    bench.claim().expect("due");
    bench.take_all();
    let outcomes = bench.accept(&[CANCEL, steer("right")]).expect("accepted");
    assert_eq!(
        outcomes,
        [
            Outcome::Cancelling { turn: 1 },
            Outcome::Queued {
                turn: 2,
                position: 1
            }
        ]
    );
    let again = bench.cancel(Some(9));
    assert_eq!(
        again,
        Outcome::Nothing {
            result: NoOp::AnotherTurnActive,
            turn: Some(1)
        }
    );
}

/// One event with several messages.
fn event(messages: usize) -> Vec<Prepared> {
    let mut batch = vec![queued("first")];
    batch.resize_with(messages, || match queued("more") {
        Prepared::Message {
            content, next_turn, ..
        } => Prepared::Message {
            content,
            next_turn,
            joins: true,
        },
        other => other,
    });
    batch
}

#[test]
fn messages_of_one_event_share_the_fate_of_the_turn_they_start() {
    for (messages, begun) in [(2, false), (2, true), (MAX_BATCH, false), (MAX_BATCH, true)] {
        let mut bench = Bench::new();
        bench.accept(&event(messages)).expect("accepted");
        if begun {
            bench.claim().expect("due");
        }
        bench.cancel(None);
        if bench.head().turn.is_some() {
            if !begun {
                bench.claim().expect("due");
            }
            bench.settle(&Ending::Cancelled);
        }
        assert_eq!(
            bench.head().turn,
            None,
            "{messages} messages, begun: {begun}"
        );
        assert_eq!(bench.head().next.turn, 2);
        assert_sound(&bench.records(), bench.now_ms);
    }
}

#[test]
fn a_queued_turn_of_many_messages_is_cancelled_without_a_worker() {
    let mut bench = Bench::new();
    bench.say("active");
    bench.claim().expect("due");
    bench.accept(&event(MAX_BATCH)).expect("accepted");
    let outcome = bench.cancel(Some(2));
    assert_eq!(outcome, Outcome::Cancelled { turn: 2 });
    assert_eq!(bench.head().queue, []);
    assert_sound(&bench.records(), bench.now_ms);
}

#[test]
fn a_steer_outlives_the_turn_that_was_cancelled_before_it_was_taken() {
    for messages in [1, 3, MAX_BATCH] {
        let mut bench = Bench::new();
        bench.accept(&event(messages)).expect("accepted");
        bench.say("and this");
        assert_eq!(bench.cancel(None), Outcome::Cancelled { turn: 1 });
        let head = bench.head();
        assert_eq!(head.turn.map(|turn| turn.number), Some(2));
        let waiting: Vec<u64> = head.pending.iter().map(|p| p.input).collect();
        assert_eq!(waiting, [messages as u64 + 1]);
        assert_sound(&bench.records(), bench.now_ms);
    }
}
