//! The loop of a Turn: what is reported, claimed and sent, and how it ends.

/// Functions that the agent does not wait for.
mod background;
/// Tool calls: how they are read, run and told.
mod commands;
/// What fails, what is repeated, and what is bounded.
mod failures;
/// A Turn that goes on where another worker was lost.
mod resume;
/// Cancel, leave and fences, at every point of a Turn.
mod signals;
/// What a Turn is told: its first messages, those that come while it runs, and answers of functions.
mod steering;

use std::sync::{Arc, Mutex};

use rat_things::api::CallStatus;
use rat_things::backend::harness::responses::OUTCOME_UNKNOWN;
use rat_things::backend::model::scripted::{self, Play, Reply, ScriptedModel};
use rat_things::engine::ports::{
    Claim, Delta, EnvironmentError, ExecHow, FunctionAnswer, ModelError, ModelEvent, ModelUsage,
    Observation, Past, Program, Signal, Steer, ToolEnd, ToolOutcome, TurnEnd,
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
        server_label: None,
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
