//! Every situation of a Session against every input, and against every reason to look at it.

use rat_things::engine::error::EngineError;
use rat_things::engine::fence::RunState;
use rat_things::engine::observe::Op;
use rat_things::engine::ports::ExecutionId;
use rat_things::engine::prepare::Prepared;
use rat_things::engine::receipt::Outcome;
use rat_things::engine::recover::{Step, step};
use rat_things::engine::session::{Head, QUARANTINE_PROBE_MS};
use rat_things::engine::settle::Ending;
use rat_things::engine::turn::Failure;

use super::bench::{Bench, answer, queued, steer};
use super::matrix::table;
use super::records::assert_sound;

/// Turns of a situation that inputs may name.
struct Named {
    active: u64,
    queued: u64,
    finished: u64,
}

/// A Session whose Turn 1 is over and whose Turn 2 is at the front, if one is.
fn finished_once() -> Bench {
    let mut bench = Bench::new();
    bench.say("first");
    bench.claim().expect("due");
    bench.take_all();
    bench.settle(&Ending::Completed);
    bench
}

fn running() -> Bench {
    let mut bench = finished_once();
    bench.say("second");
    bench.claim().expect("due");
    bench.take_all();
    bench
}

fn waiting() -> Bench {
    let mut bench = running();
    bench.call("c1");
    bench.call("c2");
    assert!(bench.pause());
    bench
}

fn doomed() -> Bench {
    let mut bench = running();
    for _ in 0..bench.settings.turn_attempts {
        bench.lose();
        if bench.head().turn.is_some_and(|turn| turn.doomed.is_none()) {
            bench.now_ms += 60_000;
            bench.claim().expect("due");
        }
    }
    bench
}

fn situations() -> Vec<(&'static str, Bench)> {
    let mut not_begun = finished_once();
    not_begun.say("second");
    let mut lapsed = running();
    lapsed.now_ms += lapsed.settings.lease_ms + 1;
    let mut calling = running();
    calling.call("c1");
    calling.call("c2");
    let mut promoted = finished_once();
    promoted.say("second");
    promoted.queue("third");
    promoted.claim().expect("due");
    promoted.take_all();
    promoted.end(&Ending::Completed);
    let mut released = running();
    released.leave();
    let mut one_answered = waiting();
    one_answered
        .accept(&[answer(2, "c1", "a")])
        .expect("awaited");
    let mut with_environment = running();
    with_environment.observe(&[Op::Opened { lost: false }]);
    with_environment.call("c1");
    with_environment.pause();
    let mut cancelling = running();
    cancelling.cancel(None);
    let mut with_queue = running();
    with_queue.queue("third");
    with_queue.queue("fourth");
    let mut quarantined = running();
    quarantined.now_ms += quarantined.settings.lease_ms + 1;
    quarantined.lose_sight();
    let mut deleted = running();
    deleted.delete();
    let mut deleted_idle = finished_once();
    deleted_idle.delete();
    vec![
        ("idle", finished_once()),
        ("queued, not begun", not_begun),
        ("in progress, leased", running()),
        ("in progress, two calls open already", calling),
        ("in progress, lease lapsed", lapsed),
        ("in progress, no lease", released),
        ("waiting for two calls", waiting()),
        ("waiting, one of two answered", one_answered),
        ("waiting, environment opened", with_environment),
        ("cancelling", cancelling),
        ("doomed", doomed()),
        ("in progress, two queued", with_queue),
        ("the next turn, not begun, in a run", promoted),
        ("quarantined", quarantined),
        ("deleted", deleted),
        ("deleted while idle", deleted_idle),
    ]
}

fn inputs(named: &Named) -> Vec<(&'static str, Prepared)> {
    let cancel = |turn| Prepared::Cancel { turn };
    vec![
        ("message", steer("m")),
        ("message, next turn", queued("m")),
        ("cancel", cancel(None)),
        ("cancel the active turn", cancel(Some(named.active))),
        ("cancel a queued turn", cancel(Some(named.queued))),
        ("cancel a finished turn", cancel(Some(named.finished))),
        ("cancel a turn that never was", cancel(Some(99))),
        ("result, other call", answer(named.active, "c9", "a")),
        ("result of c1", answer(named.active, "c1", "a")),
        ("another result of c1", answer(named.active, "c1", "b")),
        ("result of c2", answer(named.active, "c2", "a")),
        ("result, finished turn", answer(named.finished, "c1", "a")),
    ]
}

fn summary(head: &Head) -> String {
    let mut parts = vec![head.status().to_string()];
    if let Some(turn) = &head.turn {
        let mut front = format!("t{} {}", turn.number, turn.status);
        for (said, is) in [
            (" cancelling", turn.cancel.is_some()),
            (" doomed", turn.doomed.is_some()),
            (" begun", turn.begun),
        ] {
            if is {
                front.push_str(said);
            }
        }
        for call in &turn.calls {
            let answered = if call.answer.is_some() { "+" } else { "?" };
            front.push_str(&format!(" item{}{answered}", call.item));
        }
        parts.push(front);
    }
    if !head.queue.is_empty() {
        let queue: Vec<String> = head
            .queue
            .iter()
            .map(|q| format!("t{}", q.number))
            .collect();
        parts.push(format!("queue {}", queue.join(" ")));
    }
    if !head.pending.is_empty() {
        let pending = head
            .pending
            .iter()
            .map(|p| format!("i{}>t{}", p.input, p.turn));
        parts.push(format!("pending {}", pending.collect::<Vec<_>>().join(" ")));
    }
    match head.fence.state() {
        RunState::Free => {}
        state => parts.push(format!("{state:?}").to_lowercase()),
    }
    if head.agenda.execute.is_some() {
        parts.push("due".into());
    }
    parts.join("; ")
}

fn told(outcome: Result<Vec<Outcome>, EngineError>) -> String {
    match outcome {
        Ok(outcomes) => format!("{:?}", outcomes[0]),
        Err(EngineError::Conflict(why)) => format!("refused: {why}"),
        Err(EngineError::Invalid { message, .. }) => format!("invalid: {message}"),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn every_situation_meets_every_input() {
    let mut text = String::new();
    for (situation, bench) in situations() {
        let active = bench.head().turn.map_or(2, |turn| turn.number);
        let named = Named {
            active,
            queued: active + 1,
            finished: active - 1,
        };
        assert_sound(&bench.records(), bench.now_ms);
        text.push_str(&format!("{situation}: {}\n", summary(&bench.head())));
        // A deleted Session is not found; nothing is decided about it.
        if bench.head().deleted_ms.is_some() {
            continue;
        }
        let mut rows = Vec::new();
        for (input, prepared) in inputs(&named) {
            let mut bench = bench.clone();
            let before = bench.head();
            let outcome = bench.accept(&[prepared]);
            let after = match bench.head() {
                head if outcome.is_err() => {
                    assert_eq!(head, before, "a refusal changed something");
                    String::new()
                }
                head => summary(&head),
            };
            assert_sound(&bench.records(), bench.now_ms);
            rows.push(vec![format!("  {input}"), told(outcome), after]);
        }
        text.push_str(&table(&rows));
        text.push('\n');
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_situation_needs_something_or_nothing() {
    let mut rows = vec![
        [
            "situation",
            "looked at now",
            "after the lease",
            "suspected now",
            "suspected after",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let mut given_up = doomed();
    given_up
        .change(|draft| {
            if let Some(turn) = &mut draft.head.turn {
                turn.attempts += 3;
            }
            Ok(())
        })
        .expect("never refused");
    let mut backing_off = running();
    for _ in 0..2 {
        backing_off.lose();
        backing_off.claim().expect("claimed early");
    }
    backing_off.lose();
    let mut last = waiting();
    last.accept(&[answer(2, "c1", "a"), answer(2, "c2", "a")])
        .expect("awaited");
    let more = [
        ("lost too often, even over its outputs", given_up),
        (
            "lost three times, to be left alone for a moment",
            backing_off,
        ),
        ("waiting no more, all answered", last),
    ];
    for (situation, bench) in situations().into_iter().chain(more) {
        let head = bench.head();
        let lease_ms = bench.settings.lease_ms;
        let mut row = vec![situation.to_owned()];
        for (silent_ms, suspect) in [(0, false), (lease_ms, false), (0, true), (lease_ms, true)] {
            let now_ms = bench.now_ms + silent_ms;
            row.push(
                match step(&head, &bench.settings, now_ms, silent_ms, suspect) {
                    Step::Inspect { lapsed, .. } if lapsed => "Inspect, lapsed".into(),
                    Step::Inspect { .. } => "Inspect".into(),
                    step => format!("{step:?}"),
                },
            );
        }
        rows.push(row);
    }
    insta::assert_snapshot!(table(&rows));
}

#[test]
fn a_quarantine_is_looked_at_again_by_itself() {
    let mut bench = running();
    bench.lose_sight();
    assert_eq!(
        bench.head().agenda.execute,
        Some(bench.now_ms + QUARANTINE_PROBE_MS)
    );
}

#[test]
fn the_deepest_backoff_stays_below_a_minute() {
    let mut bench = running();
    for attempt in 1..=20 {
        bench.lose();
        let due = bench.head().turn.expect("a turn").not_before_ms;
        assert!(due <= bench.now_ms + 60_000, "attempt {attempt}: {due}");
        bench.now_ms = due.max(bench.now_ms);
        bench.claim().expect("due");
    }
}

#[test]
fn a_failure_that_was_decided_is_not_replaced_by_a_later_one() {
    let mut bench = doomed();
    let failure = |bench: &Bench| bench.head().turn.and_then(|turn| turn.doomed);
    let first: Option<Failure> = failure(&bench);
    bench.now_ms += 600_000;
    bench
        .claim()
        .expect("a doomed turn gets a run for its outputs");
    bench.lose();
    assert_eq!(failure(&bench), first);
    let execution = ExecutionId("none".into());
    assert!(!bench.head().fence.accepts(1, &execution));
}
