//! What a Turn is told: its first messages, those that come while it runs, and answers of functions.

use pretty_assertions::assert_eq;

use super::*;

#[tokio::test]
async fn a_turn_takes_its_input_runs_commands_and_answers() {
    let model = model([
        scripted::items([
            json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"}),
            scripted::message("let me see"),
            shell("c1", "ls"),
        ]),
        scripted::says("done"),
    ]);
    let environment = ok_environment();
    let (end, seen) = Setup::new(model.clone())
        .told("hi")
        .within(environment.clone())
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    let reasoning = Seen::Saw(Observation::Reasoning {
        summary: vec!["hm".into()],
        native: Some(
            json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"}),
        ),
    });
    assert_eq!(
        facts(&seen),
        [
            took(&[1]),
            reasoning,
            said("let me see", "commentary"),
            claimed("c1", "ls"),
            ended(
                "c1",
                CallStatus::Completed,
                Some(0),
                "out\n",
                "exit code 0 after 7 ms\nout\n"
            ),
            said("done", "final_answer"),
        ]
    );
    let live = Seen::Saw(Observation::Delta(Delta::Command {
        call_id: "c1".into(),
        text: "out\n".into(),
    }));
    assert!(seen.contains(&live));
    let calls = seen.iter().filter(|seen| {
        matches!(
            seen,
            Seen::Saw(Observation::ModelCall(ModelUsage { input: 10, .. }))
        )
    });
    assert_eq!(calls.count(), 2);
    let requests = model.requests();
    let inputs = model.inputs();
    assert_eq!(kinds(&inputs[0]), ["message"]);
    assert_eq!(
        kinds(&inputs[1]),
        [
            "message",
            "reasoning",
            "message",
            "function_call",
            "function_call_output"
        ]
    );
    assert_eq!(requests[1].prompt_cache_key.as_deref(), Some("sess_test"));
}

#[tokio::test]
async fn steering_is_given_to_the_next_call_and_taken_once() {
    let hold = Arc::new(Notify::new());
    let model = model([scripted::items([shell("c1", "ls")]), scripted::says("done")]);
    let mut running = Setup::new(model.clone())
        .told("hi")
        .within(held_environment(hold.clone()))
        .start();
    running.until(has_claimed("c1")).await;
    running
        .steer
        .send(Steer::Message(message(2, "also")))
        .await
        .expect("it runs");
    running
        .steer
        .send(Steer::Message(message(3, "and")))
        .await
        .expect("it runs");
    hold.notify_one();
    let (end, seen) = running.end().await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(
        facts(&seen),
        [
            took(&[1]),
            claimed("c1", "ls"),
            ended(
                "c1",
                CallStatus::Completed,
                Some(0),
                "",
                "exit code 0 after 7 ms"
            ),
            took(&[2, 3]),
            said("done", "final_answer"),
        ]
    );
    assert_eq!(
        kinds(&model.inputs()[1]),
        [
            "message",
            "function_call",
            "function_call_output",
            "message",
            "message"
        ]
    );
}

#[tokio::test]
async fn steering_that_comes_with_the_last_answer_goes_on_instead_of_ending() {
    let told = Arc::new(Notify::new());
    let model = model([
        Reply::Stream(vec![
            Play::Event(ModelEvent::TextDelta("x".into())),
            Play::Until(told.clone()),
            Play::Event(ModelEvent::Item(scripted::message("one"))),
            Play::Event(scripted::done()),
        ]),
        scripted::says("two"),
    ]);
    let mut running = Setup::new(model).told("hi").start();
    running.until_text().await;
    running
        .steer
        .send(Steer::Message(message(2, "also")))
        .await
        .expect("it runs");
    told.notify_one();
    let (end, seen) = running.end().await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(
        facts(&seen),
        [
            took(&[1]),
            said("one", "final_answer"),
            took(&[2]),
            said("two", "final_answer"),
        ]
    );
}

#[tokio::test]
async fn a_message_that_no_model_was_given_is_not_taken() {
    let model = model([fails("invalid_request", false)]);
    let (end, seen) = Setup::new(model).told("hi").run().await;
    assert!(matches!(end, TurnEnd::Failed { .. }));
    assert_eq!(seen, []);
}

#[tokio::test]
async fn functions_pause_the_turn_after_the_commands_beside_them() {
    let reply = scripted::items([
        shell("c1", "a"),
        scripted::call("f1", "lookup", "{\"id\":1}"),
        shell("c2", "b"),
    ]);
    let environment = ok_environment();
    let (end, seen) = Setup::new(model([reply]))
        .with_functions(&["lookup"])
        .told("hi")
        .within(environment.clone())
        .run()
        .await;
    assert_eq!(end, TurnEnd::Waiting);
    let function = Seen::Saw(Observation::FunctionCall {
        call_id: "f1".into(),
        name: "lookup".into(),
        arguments: "{\"id\":1}".into(),
        background: false,
    });
    let facts = facts(&seen);
    assert_eq!(facts.len(), 6);
    assert_eq!(facts[1], claimed("c1", "a"));
    assert_eq!(facts[3], function);
    assert_eq!(facts[4], claimed("c2", "b"));
    assert_eq!(environment.commands(), ["a", "b"]);

    // A worker that is asked to go on before the answer is there has nothing to do.
    let mut past = history(&[message(1, "hi")], &seen);
    let early = model([]);
    let setup = Setup::new(early.clone()).with_functions(&["lookup"]);
    assert_eq!(
        setup.after(past.clone()).run().await,
        (TurnEnd::Waiting, vec![])
    );

    for entry in &mut past {
        if let Past::Function { output, .. } = entry {
            *output = Some(FunctionAnswer {
                success: true,
                output: json!("found"),
                error: None,
            });
        }
    }
    let later = model([scripted::says("done")]);
    let (end, _) = Setup::new(later.clone())
        .with_functions(&["lookup"])
        .after(past)
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    let input = &later.inputs()[0];
    assert_eq!(input[4]["output"], "found");
}

#[tokio::test]
async fn a_message_while_an_answer_is_awaited_goes_on_without_it() {
    let past = vec![
        past_user("hi"),
        Past::Function {
            call_id: "f1".into(),
            name: "lookup".into(),
            arguments: "{}".into(),
            output: None,
        },
    ];
    let model = model([scripted::says("done")]);
    let (end, _) = Setup::new(model.clone())
        .after(past)
        .told("never mind")
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    let input = &model.inputs()[0];
    assert_eq!(
        kinds(input),
        [
            "message",
            "function_call",
            "function_call_output",
            "message"
        ]
    );
    assert!(
        input[2]["output"]
            .as_str()
            .is_some_and(|text| text.starts_with("no answer"))
    );
}
