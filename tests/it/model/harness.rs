//! The loop of a Turn: what is reported, claimed and sent, and how it ends.

use std::sync::{Arc, Mutex};

use pretty_assertions::assert_eq;
use rat_things::api::CallStatus;
use rat_things::backend::harness::responses::OUTCOME_UNKNOWN;
use rat_things::backend::model::scripted::{self, Play, Reply, ScriptedModel};
use rat_things::engine::ports::{
    Claim, Delta, EnvironmentError, ExecHow, FunctionAnswer, ModelError, ModelEvent, ModelUsage,
    Observation, Past, Program, Signal, ToolEnd, ToolOutcome, TurnEnd,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::world::{Act, FakeEnvironment, Seen, Setup, history, message};

fn model(replies: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(replies))
}

fn shell(call_id: &str, command: &str) -> Value {
    scripted::call(call_id, "shell", &json!({"command": command}).to_string())
}

fn fails(code: &str, retryable: bool) -> Reply {
    Reply::Refuse(scripted::error(code, retryable))
}

fn streams_then(play: Play) -> Reply {
    Reply::Stream(vec![Play::Event(ModelEvent::TextDelta("so ".into())), play])
}

fn ok_environment() -> Arc<FakeEnvironment> {
    FakeEnvironment::new(|_| Act::Exit(0, "out\n"))
}

/// Everything but deltas and token counts.
fn facts(seen: &[Seen]) -> Vec<Seen> {
    let live = |seen: &&Seen| {
        !matches!(
            seen,
            Seen::Saw(Observation::Delta(_) | Observation::ModelCall(_))
        )
    };
    seen.iter().filter(live).cloned().collect()
}

fn took(inputs: &[u64]) -> Seen {
    Seen::Saw(Observation::Took(inputs.to_vec()))
}

fn said(text: &str, phase: &str) -> Seen {
    Seen::Saw(Observation::Message {
        text: text.into(),
        phase: Some(phase.into()),
        incomplete: false,
    })
}

fn claimed(call_id: &str, command: &str) -> Seen {
    Seen::Claimed(Claim {
        call_id: call_id.into(),
        name: "shell".into(),
        arguments: json!({"command": command}).to_string(),
        command: command.into(),
        cwd: Some("/workspace".into()),
    })
}

fn ended(call_id: &str, status: CallStatus, code: Option<i32>, output: &str, told: &str) -> Seen {
    Seen::Saw(Observation::ToolEnded {
        call_id: call_id.into(),
        end: ToolEnd {
            status,
            exit_code: code,
            output: output.into(),
            duration_ms: 7,
        },
        output: told.into(),
    })
}

fn tool_outputs(seen: &[Seen]) -> Vec<String> {
    seen.iter()
        .filter_map(|seen| match seen {
            Seen::Saw(Observation::ToolEnded { output, .. }) => Some(output.clone()),
            _ => None,
        })
        .collect()
}

fn past_user(text: &str) -> Past {
    Past::User {
        content: message(1, text).content,
    }
}

fn kinds(input: &[Value]) -> Vec<&str> {
    input
        .iter()
        .map(|item| item["type"].as_str().unwrap_or("?"))
        .collect()
}

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
    assert_eq!(kinds(&requests[0].input), ["message"]);
    assert_eq!(
        kinds(&requests[1].input),
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

/// A call of `shell` waits until the test says so.
fn held_environment(hold: Arc<Notify>) -> Arc<FakeEnvironment> {
    FakeEnvironment::new(move |_| Act::Wait(hold.clone()))
}

fn has_claimed(call_id: &str) -> impl FnMut(&Vec<Seen>) -> bool + use<> {
    let call_id = call_id.to_owned();
    move |seen| {
        seen.iter()
            .any(|seen| matches!(seen, Seen::Claimed(claim) if claim.call_id == call_id))
    }
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
        .send(message(2, "also"))
        .await
        .expect("it runs");
    running
        .steer
        .send(message(3, "and"))
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
        kinds(&model.requests()[1].input),
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
        .send(message(2, "also"))
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

#[tokio::test]
async fn a_turn_that_is_resumed_is_told_what_became_of_each_call() {
    let model = model([scripted::says("done")]);
    let environment = ok_environment();
    let tool = |call_id: &str, outcome| Past::Tool {
        call_id: call_id.into(),
        name: "shell".into(),
        arguments: "{\"command\":\"x\"}".into(),
        outcome,
    };
    let done = ToolOutcome::Done {
        output: "exit code 0".into(),
    };
    let (end, seen) = Setup::new(model.clone())
        .after(vec![
            past_user("hi"),
            tool("c1", done),
            tool("c2", ToolOutcome::Unknown),
        ])
        .within(environment.clone())
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(facts(&seen), [said("done", "final_answer")]);
    assert_eq!(environment.commands(), [""; 0]);
    let input = &model.requests()[0].input;
    assert_eq!(
        kinds(input),
        [
            "message",
            "function_call",
            "function_call_output",
            "function_call",
            "function_call_output"
        ]
    );
    assert_eq!(input[2]["output"], "exit code 0");
    assert_eq!(input[4]["output"], OUTCOME_UNKNOWN);
}

#[tokio::test]
async fn a_turn_that_was_answered_before_its_worker_was_lost_is_over() {
    let answered = |phase: &str| {
        vec![
            past_user("hi"),
            Past::Assistant {
                text: "x".into(),
                phase: Some(phase.into()),
            },
        ]
    };
    let over = model([]);
    let (end, seen) = Setup::new(over.clone())
        .after(answered("final_answer"))
        .run()
        .await;
    assert_eq!((end, seen), (TurnEnd::Completed, vec![]));

    let going_on = model([scripted::says("done")]);
    let (end, _) = Setup::new(going_on.clone())
        .after(answered("commentary"))
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(going_on.requests().len(), 1);

    let next_turn = model([scripted::says("done")]);
    let setup = Setup::new(next_turn.clone()).after(answered("final_answer"));
    let (_, seen) = setup.told("more").run().await;
    assert_eq!(facts(&seen), [took(&[1]), said("done", "final_answer")]);
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
    let input = &later.requests()[0].input;
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
    let input = &model.requests()[0].input;
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

#[tokio::test]
async fn calls_that_can_not_be_run_are_recorded_as_failed_and_run_nothing() {
    let environment = ok_environment();
    let reply = scripted::items([
        scripted::call("c1", "shell", "{\"command\":"),
        scripted::call("c2", "shell", "{}"),
        scripted::call("c3", "browse", "{}"),
        scripted::call("c4", "apply_patch", "{\"input\":\"hello\"}"),
    ]);
    let (end, seen) = Setup::new(model([reply, scripted::says("done")]))
        .told("hi")
        .within(environment.clone())
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(environment.commands(), [""; 0]);
    let outputs = tool_outputs(&seen);
    for (output, word) in outputs.iter().zip([
        "arguments of shell can't be read",
        "missing field `command`",
        "no tool named `browse`",
        "`*** Begin Patch` was expected",
    ]) {
        assert!(
            output.starts_with("failed: ") && output.contains(word),
            "{output}"
        );
    }
    let failed = seen.iter().filter(|seen| {
        matches!(seen, Seen::Saw(Observation::ToolEnded { end, .. }) if end.status == CallStatus::Failed)
    });
    assert_eq!((outputs.len(), failed.count()), (4, 4));
    assert_eq!(
        seen.iter()
            .filter(|seen| matches!(seen, Seen::Claimed(_)))
            .count(),
        4
    );
}

#[tokio::test]
async fn without_an_environment_there_are_no_commands() {
    let model = model([scripted::items([shell("c1", "ls")]), scripted::says("done")]);
    let (end, seen) = Setup::new(model.clone()).told("hi").run().await;
    assert_eq!(end, TurnEnd::Completed);
    assert_eq!(model.requests()[0].tools, Vec::<Value>::new());
    assert_eq!(
        tool_outputs(&seen),
        ["failed: there is no tool named `shell` here. Nothing was run."]
    );
}

#[tokio::test]
async fn commands_and_patches_reach_the_environment_as_they_were_written() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n";
    let reply = scripted::items([
        scripted::call(
            "c1",
            "shell",
            "{\"command\":\"ls\",\"workdir\":\"src\",\"timeout_ms\":5}",
        ),
        scripted::call("c2", "apply_patch", &json!({"input": patch}).to_string()),
    ]);
    let environment = ok_environment();
    let (_, seen) = Setup::new(model([reply, scripted::says("done")]))
        .told("hi")
        .within(environment.clone())
        .run()
        .await;
    {
        let ran = environment
            .ran
            .lock()
            .expect("no test panics while it holds this");
        assert_eq!(ran[0].program, Program::Shell("ls".into()));
        assert_eq!(
            (ran[0].cwd.as_str(), ran[0].timeout_ms),
            ("/workspace/src", 5)
        );
        assert_eq!(ran[1].program, Program::ApplyPatch);
        assert_eq!(ran[1].stdin, patch);
        assert_eq!(ran[1].output_limit_bytes, 64 << 10);
    }
    let shown: Vec<&str> = seen
        .iter()
        .filter_map(|seen| match seen {
            Seen::Claimed(claim) => Some(claim.command.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["ls", "apply_patch A a"]);
}

#[tokio::test]
async fn how_a_command_ended_is_told_to_the_model_and_in_its_item() {
    let lost = EnvironmentError::Lost("it was killed".into());
    for (act, status, code, words) in [
        (
            Act::Exit(3, "no\n"),
            CallStatus::Failed,
            Some(3),
            "exit code 3 after 7 ms\nno\n",
        ),
        (
            Act::End(ExecHow::Signalled(9)),
            CallStatus::Failed,
            None,
            "ended by signal 9 after 7 ms",
        ),
        (
            Act::End(ExecHow::TimedOut),
            CallStatus::Incomplete,
            None,
            "timed out: it and all it started were ended after 120000 ms",
        ),
        (
            Act::End(ExecHow::NotStarted("no such directory".into())),
            CallStatus::Failed,
            None,
            "not started: no such directory",
        ),
        (
            Act::Error(lost),
            CallStatus::Incomplete,
            None,
            "outcome unknown: the worker was lost",
        ),
        (
            Act::Error(EnvironmentError::Failed("no space".into())),
            CallStatus::Failed,
            None,
            "failed: the environment failed: no space. Nothing was run.",
        ),
    ] {
        let act = Mutex::new(Some(act));
        let environment = FakeEnvironment::new(move |_| {
            let act = act
                .lock()
                .expect("no test panics while it holds this")
                .take();
            act.unwrap_or(Act::Exit(0, ""))
        });
        let replies = [scripted::items([shell("c1", "a")]), scripted::says("done")];
        let (end, seen) = Setup::new(model(replies))
            .told("hi")
            .within(environment)
            .run()
            .await;
        assert_eq!(end, TurnEnd::Completed, "{words}");
        let found = seen.iter().find_map(|seen| match seen {
            Seen::Saw(Observation::ToolEnded { end, output, .. }) => {
                Some((end.clone(), output.clone()))
            }
            _ => None,
        });
        let (end, output) = found.expect("the call ended");
        assert_eq!((end.status, end.exit_code), (status, code), "{words}");
        assert!(output.starts_with(words), "{output}\nis not\n{words}");
    }
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
async fn call_ids_that_a_provider_repeats_or_omits_are_made_unique() {
    let past = Past::Tool {
        call_id: "call_0".into(),
        name: "shell".into(),
        arguments: "{}".into(),
        outcome: ToolOutcome::Unknown,
    };
    let long = "x".repeat(65);
    let reply = scripted::items([
        shell("call_0", "a"),
        shell("", "b"),
        shell("call_1", "c"),
        shell("call_1", "d"),
        shell(&long, "e"),
    ]);
    let (_, seen) = Setup::new(model([reply, scripted::says("done")]))
        .after(vec![past_user("hi"), past])
        .told("go on")
        .within(ok_environment())
        .run()
        .await;
    let ids: Vec<&str> = seen
        .iter()
        .filter_map(|seen| match seen {
            Seen::Claimed(claim) => Some(claim.call_id.as_str()),
            _ => None,
        })
        .collect();
    let mut unique = ids.clone();
    unique.push("call_0");
    unique.sort_unstable();
    unique.dedup();
    assert_eq!((ids.len(), unique.len()), (5, 6), "{ids:?}");
    assert!(ids.contains(&"call_1") && ids.iter().all(|id| !id.is_empty() && id.len() <= 64));
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
    let input = &model.requests()[2].input;
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
