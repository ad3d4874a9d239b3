//! Cancel, leave and fences, at every point of a Turn.

use pretty_assertions::assert_eq;

use super::*;

#[tokio::test]
async fn cancel_in_the_middle_of_a_stream_ends_the_turn_at_once() {
    for stall in [Play::Stall, Play::Pause { ms: 3_600_000 }] {
        let mut running = Setup::new(model([streams_then(stall)])).told("hi").start();
        running.until_text().await;
        running.signal.send_replace(Signal::Cancel);
        let (end, seen) = running.end().await;
        assert_eq!(end, TurnEnd::Cancelled);
        assert_eq!(facts(&seen), [took(&[1])]);
    }
}

#[tokio::test]
async fn cancel_and_leave_are_noticed_before_the_model_answers() {
    for (signal, expect) in [
        (Signal::Cancel, TurnEnd::Cancelled),
        (Signal::Leave, TurnEnd::Left),
    ] {
        let model = model([Reply::Silence]);
        let running = Setup::new(model.clone()).told("hi").start();
        model.wait_for_calls(1).await;
        running.signal.send_replace(signal);
        let (end, seen) = running.end().await;
        assert_eq!((end, seen), (expect, vec![]));
    }
}

#[tokio::test]
async fn a_signal_that_is_there_first_starts_nothing() {
    for (signal, expect) in [
        (Signal::Cancel, TurnEnd::Cancelled),
        (Signal::Leave, TurnEnd::Left),
    ] {
        let model = model([scripted::says("never")]);
        let running = Setup::new(model.clone()).told("hi").start();
        // The task has not been polled yet: this test runs on one thread.
        running.signal.send_replace(signal);
        let (end, seen) = running.end().await;
        assert_eq!((end, seen), (expect, vec![]));
        assert_eq!(model.requests().len(), 0);
    }
}

#[tokio::test]
async fn cancel_in_the_middle_of_a_command_ends_it_and_is_told() {
    let model = model([scripted::items([
        shell("c1", "sleep"),
        shell("c2", "never"),
    ])]);
    let environment = FakeEnvironment::new(|_| Act::Hang);
    let mut running = Setup::new(model.clone())
        .told("hi")
        .within(environment.clone())
        .start();
    let begun = Seen::Saw(Observation::Delta(Delta::Command {
        call_id: "c1".into(),
        text: "begun\n".into(),
    }));
    running.until(|seen| seen.contains(&begun)).await;
    running.signal.send_replace(Signal::Cancel);
    let (end, seen) = running.end().await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert_eq!(
        facts(&seen),
        [
            took(&[1]),
            claimed("c1", "sleep"),
            ended(
                "c1",
                CallStatus::Incomplete,
                None,
                "begun\n",
                "cancelled by the user: it and all it started were ended after 7 ms\nbegun\n"
            ),
        ]
    );
    assert_eq!(environment.commands(), ["sleep"]);
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn leave_waits_for_the_command_and_starts_no_other() {
    let hold = Arc::new(Notify::new());
    let model = model([scripted::items([shell("c1", "a"), shell("c2", "b")])]);
    let mut running = Setup::new(model.clone())
        .told("hi")
        .within(held_environment(hold.clone()))
        .start();
    running.until(has_claimed("c1")).await;
    running.signal.send_replace(Signal::Leave);
    hold.notify_one();
    let (end, seen) = running.end().await;
    assert_eq!(end, TurnEnd::Left);
    assert_eq!(
        facts(&seen)[1..],
        [
            claimed("c1", "a"),
            ended(
                "c1",
                CallStatus::Completed,
                Some(0),
                "",
                "exit code 0 after 7 ms"
            ),
        ]
    );
}

#[tokio::test]
async fn cancel_after_leave_still_ends_the_command() {
    let model = model([scripted::items([shell("c1", "a")])]);
    let mut running = Setup::new(model)
        .told("hi")
        .within(FakeEnvironment::new(|_| Act::Hang))
        .start();
    running.until(has_claimed("c1")).await;
    running.signal.send_replace(Signal::Leave);
    running.signal.send_replace(Signal::Cancel);
    assert_eq!(running.end().await.0, TurnEnd::Cancelled);
}

#[tokio::test]
async fn leave_in_the_middle_of_a_stream_drops_it() {
    let mut running = Setup::new(model([streams_then(Play::Stall)]))
        .told("hi")
        .start();
    running.until_text().await;
    running.signal.send_replace(Signal::Leave);
    let (end, seen) = running.end().await;
    assert_eq!(end, TurnEnd::Left);
    assert_eq!(facts(&seen), [took(&[1])]);
}

#[tokio::test]
async fn without_an_engine_everything_ends() {
    let mut running = Setup::new(model([streams_then(Play::Stall)]))
        .told("hi")
        .start();
    running.until_text().await;
    running.drop_engine();
    assert_eq!(running.end().await.0, TurnEnd::Left);

    let environment = FakeEnvironment::new(|_| Act::Hang);
    let mut running = Setup::new(model([scripted::items([shell("c1", "a")])]))
        .told("hi")
        .within(environment.clone())
        .start();
    running.until(has_claimed("c1")).await;
    running.drop_engine();
    // The command hangs until it is cancelled, so an end proves that it was.
    assert_eq!(running.end().await.0, TurnEnd::Left);
}

#[tokio::test]
async fn a_fenced_claim_runs_nothing() {
    let environment = ok_environment();
    let mut setup = Setup::new(model([scripted::items([shell("c1", "a")])]))
        .told("hi")
        .within(environment.clone());
    setup.fenced = true;
    let (end, _) = setup.run().await;
    assert_eq!(end, TurnEnd::Left);
    assert_eq!(environment.commands(), [""; 0]);
}

#[tokio::test]
async fn cancel_and_leave_end_the_wait_between_attempts() {
    for (signal, expect) in [
        (Signal::Cancel, TurnEnd::Cancelled),
        (Signal::Leave, TurnEnd::Left),
    ] {
        let model = model([fails("server_error", true), scripted::says("never")]);
        let mut setup = Setup::new(model.clone()).told("hi");
        setup.options.retry.base_ms = 3_600_000;
        setup.options.retry.cap_ms = 3_600_000;
        let running = setup.start();
        model.wait_for_calls(1).await;
        running.signal.send_replace(signal);
        assert_eq!(running.end().await.0, expect);
        assert_eq!(model.requests().len(), 1);
    }
}
