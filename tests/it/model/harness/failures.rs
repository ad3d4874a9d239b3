//! What fails, what is repeated, and what is bounded.

use pretty_assertions::assert_eq;

use super::*;

#[tokio::test(start_paused = true)]
async fn retryable_errors_are_repeated_and_half_a_response_leaves_nothing() {
    let model = model([
        fails("server_overloaded", true),
        Reply::Stream(vec![
            Play::Event(ModelEvent::TextDelta("half".into())),
            Play::Event(ModelEvent::Item(shell("c0", "never"))),
            Play::Fail(scripted::error("connection_failed", true)),
        ]),
        Reply::Stream(vec![Play::Event(ModelEvent::TextDelta("cut".into()))]),
        scripted::says("done"),
    ]);
    let environment = ok_environment();
    let (end, seen) = Setup::new(model.clone())
        .told("hi")
        .within(environment.clone())
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(facts(&seen), [took(&[1]), said("done", "final_answer")]);
    assert_eq!(environment.commands(), [""; 0]);
    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|request| *request == requests[0]));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_lasts_fails_the_turn_with_its_code() {
    let model = model((0..10).map(|_| fails("rate_limit_exceeded", true)));
    let (end, _) = Setup::new(model.clone()).told("hi").run().await;
    let expect = TurnEnd::Failed {
        code: "rate_limit_exceeded".into(),
        message: "scripted rate_limit_exceeded".into(),
    };
    assert_eq!(end, expect);
    assert_eq!(model.requests().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_asked_for_is_kept() {
    let asked = |ms| {
        Reply::Refuse(ModelError {
            retry_after_ms: Some(ms),
            ..scripted::error("rate_limit_exceeded", true)
        })
    };
    let begun = tokio::time::Instant::now();
    let (end, _) = Setup::new(model([asked(20_000), scripted::says("done")]))
        .told("hi")
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(begun.elapsed().as_secs(), 20);

    let model = model([asked(3_600_000), scripted::says("done")]);
    let (end, _) = Setup::new(model.clone()).told("hi").run().await;
    assert!(matches!(end, TurnEnd::Failed { code, .. } if code == "rate_limit_exceeded"));
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn an_environment_that_stays_broken_fails_the_turn() {
    let environment = FakeEnvironment::new(|_| Act::Error(EnvironmentError::Lost("gone".into())));
    let replies = (0..5).map(|n| scripted::items([shell(&format!("c{n}"), "a")]));
    let (end, seen) = Setup::new(model(replies))
        .told("hi")
        .within(environment)
        .run()
        .await;
    assert!(matches!(end, TurnEnd::Failed { code, .. } if code == "sandbox_error"));
    assert_eq!(tool_outputs(&seen).len(), 3);
}

#[tokio::test]
async fn output_that_stops_early_fails_the_turn_and_is_kept() {
    let ends = |incomplete: &str| {
        Play::Event(ModelEvent::Done {
            response_id: None,
            usage: None,
            incomplete: Some(incomplete.into()),
        })
    };
    let half = Seen::Saw(Observation::Message {
        text: "so ".into(),
        phase: None,
        incomplete: true,
    });
    let environment = ok_environment();
    for (reason, code) in [
        ("max_output_tokens", "max_output_tokens"),
        ("content_filter", "invalid_request"),
        ("unknown", "max_output_tokens"),
    ] {
        let reply = Reply::Stream(vec![
            Play::Event(ModelEvent::Item(shell("c1", "never"))),
            Play::Event(ModelEvent::TextDelta("so ".into())),
            ends(reason),
        ]);
        let setup = Setup::new(model([reply]))
            .told("hi")
            .within(environment.clone());
        let (end, seen) = setup.run().await;
        assert!(
            matches!(end, TurnEnd::Failed { code: found, .. } if found == code),
            "{reason}"
        );
        assert_eq!(facts(&seen), [took(&[1]), half.clone()], "{reason}");
    }
    assert_eq!(environment.commands(), [""; 0]);
}

#[tokio::test]
async fn model_calls_of_a_turn_are_bounded_over_all_its_workers() {
    let model = model((0..9).map(|n| scripted::items([shell(&format!("c{n}"), "a")])));
    let mut setup = Setup::new(model.clone())
        .told("hi")
        .within(ok_environment());
    setup.options.max_model_calls = 5;
    setup.model_calls = 3;
    let (end, _) = setup.run().await;
    assert!(matches!(end, TurnEnd::Failed { code, .. } if code == "usage_limit_exceeded"));
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn history_that_the_model_finds_too_long_is_shortened() {
    let too_long = || fails("context_length_exceeded", false);
    let model = model([too_long(), too_long(), scripted::says("done")]);
    let past = (0..40).map(|_| past_user(&"x".repeat(10_000))).collect();
    let (end, seen) = Setup::new(model.clone())
        .after(past)
        .told("task")
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(facts(&seen), [took(&[1]), said("done", "final_answer")]);
    let sizes: Vec<usize> = model
        .requests()
        .iter()
        .map(|request| request.input.len())
        .collect();
    assert_eq!(sizes[0], 41);
    assert!(sizes[1] < 25 && sizes[2] < 13, "{sizes:?}");
    let input = &model.inputs()[2];
    assert_eq!(input[0]["role"], "system");
    assert_eq!(input[input.len() - 1]["content"][0]["text"], "task");

    let hopeless = Arc::new(ScriptedModel::new((0..30).map(|_| too_long())));
    let (end, _) = Setup::new(hopeless.clone())
        .told(&"x".repeat(100_000))
        .run()
        .await;
    assert!(matches!(end, TurnEnd::Failed { code, .. } if code == "context_length_exceeded"));
    assert_eq!(hopeless.requests().len(), 1);
}
