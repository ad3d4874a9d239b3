//! The loop of a Turn: what is reported, claimed and sent, and how it ends.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use rat_things::api::CallStatus;
use rat_things::backend::harness::responses::OUTCOME_UNKNOWN;
use rat_things::backend::model::scripted::{self, Play, Reply, ScriptedModel};
use rat_things::engine::ports::{
    Claim, Delta, EnvironmentError, FunctionAnswer, ModelEvent, ModelUsage, Observation, Past,
    Signal, ToolEnd, ToolOutcome, TurnEnd,
};
use serde_json::{Value, json};

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

#[tokio::test]
async fn steering_is_given_to_the_next_call_and_taken_once() {
    let model = model([
        scripted::items([shell("c1", "ls")]),
        scripted::says("first answer"),
        scripted::says("second answer"),
    ]);
    let environment = FakeEnvironment::new(|_| Act::Hang);
    let mut running = Setup::new(model.clone())
        .told("hi")
        .within(environment)
        .start();
    running
        .until(|seen| seen.contains(&claimed("c1", "ls")))
        .await;
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
    // Hanging until cancelled is only how this command waits; a Leave lets it end by itself, so it is cancelled here.
    running.signal.send_replace(Signal::Cancel);
    let (end, seen) = running.end().await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert_eq!(
        seen.iter()
            .filter(|seen| matches!(seen, Seen::Saw(Observation::Took(_))))
            .count(),
        1
    );
}
