//! A Turn: one period of agent work, from the input that started it to its one terminal state.

use serde::{Deserialize, Serialize};

use super::ports::{LeftOut, ModelUsage};
use crate::api::TurnStatus;

/// What can happen to a Turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEvent {
    /// A Run begins to work on it, or goes on with it after a loss.
    Claim,
    /// The agent waits for function results.
    Wait,
    /// The last awaited result was accepted, or a message for an agent that need not wait for it.
    Answered,
    /// The agent is done.
    Complete,
    /// It can't go on.
    Fail,
    /// Its cancellation is complete.
    Cancel,
}

/// Why an event does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a turn that is {state:?} refuses {event:?}")]
pub struct TurnRefusal {
    /// The state that refused.
    pub state: TurnStatus,
    /// What it refused.
    pub event: TurnEvent,
}

/// The life of a Turn: total over state and event. A terminal Turn never changes (I8).
pub fn next(state: TurnStatus, event: TurnEvent) -> Result<TurnStatus, TurnRefusal> {
    use TurnEvent::{Answered, Cancel, Claim, Complete, Fail, Wait};
    use TurnStatus::{Cancelled, Completed, Failed, InProgress, Queued, Waiting};
    let refused = Err(TurnRefusal { state, event });
    match (state, event) {
        (Queued | InProgress, Claim) => Ok(InProgress),
        (Waiting, Claim) => refused,
        (InProgress, Wait) => Ok(Waiting),
        (Queued | Waiting, Wait) => refused,
        // A result may be accepted before the agent says that it waits.
        (Waiting | InProgress, Answered) => Ok(InProgress),
        (Queued, Answered | Complete) => refused,
        (InProgress, Complete) => Ok(Completed),
        (Waiting, Complete) => refused,
        (Queued | InProgress | Waiting, Fail) => Ok(Failed),
        (Queued | InProgress | Waiting, Cancel) => Ok(Cancelled),
        (Completed | Failed | Cancelled, Claim | Wait | Answered | Complete | Fail | Cancel) => {
            refused
        }
    }
}

/// Why a Turn failed, as the wire has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// One of the Agents API's turn error codes.
    pub code: String,
    /// In words.
    pub message: String,
}

/// What became of the output files of a Turn. A problem here never changes how the Turn ended (I8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Artifacts kept, numbered from 0.
    #[serde(default)]
    pub artifacts: u64,
    /// What was not kept, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Why capturing as a whole did not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Row `turn/<n>`. It is rewritten several times, so its names are short; rows with the long ones are read too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnRow {
    /// Where it is in its life.
    #[serde(rename = "s", alias = "status")]
    pub status: TurnStatus,
    /// The input that started it.
    #[serde(rename = "i", alias = "input")]
    pub input: u64,
    /// How many inputs, numbered behind it, started it with it: further messages of one event.
    #[serde(
        rename = "j",
        alias = "joined",
        default,
        skip_serializing_if = "is_zero64"
    )]
    pub joined: u64,
    /// Accepted at. Unix ms.
    #[serde(rename = "at", alias = "created_ms")]
    pub created_ms: u64,
    /// First claimed at. Unix ms.
    #[serde(
        rename = "on",
        alias = "started_ms",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub started_ms: Option<u64>,
    /// Terminal since. Unix ms.
    #[serde(
        rename = "end",
        alias = "completed_ms",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub completed_ms: Option<u64>,
    /// Set when it failed.
    #[serde(
        rename = "err",
        alias = "error",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub error: Option<Failure>,
    /// Tokens of all its model calls; set when it ends.
    #[serde(
        rename = "u",
        alias = "usage",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub usage: Option<ModelUsage>,
    /// Model calls that it took; set when it ends, and 0 in rows of old.
    #[serde(rename = "k", default, skip_serializing_if = "is_zero")]
    pub model_calls: u32,
    /// Its Items are among those numbered from here.
    #[serde(
        rename = "m",
        alias = "first_item",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub first_item: Option<u64>,
    /// And below this, once it has ended.
    #[serde(
        rename = "z",
        alias = "end_item",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub end_item: Option<u64>,
    /// Tool calls whose outcome was lost with a worker.
    #[serde(
        rename = "x",
        alias = "unknown_calls",
        default,
        skip_serializing_if = "is_zero"
    )]
    pub unknown_calls: u32,
    /// Generations that worked on it: the first and the last.
    #[serde(
        rename = "r",
        alias = "runs",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub runs: Option<(u64, u64)>,
    /// How commands were isolated, when they were not in the sandbox.
    #[serde(
        rename = "iso",
        alias = "isolation",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub isolation: Option<String>,
    /// Set when it ended and had an environment.
    #[serde(
        rename = "cap",
        alias = "capture",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub capture: Option<Capture>,
}

impl TurnRow {
    /// The row of a Turn that `input` starts, and the `joined` ones behind it.
    pub fn queued(input: u64, joined: u64, now_ms: u64) -> TurnRow {
        TurnRow {
            status: TurnStatus::Queued,
            input,
            joined,
            created_ms: now_ms,
            started_ms: None,
            completed_ms: None,
            error: None,
            usage: None,
            model_calls: 0,
            first_item: None,
            end_item: None,
            unknown_calls: 0,
            runs: None,
            isolation: None,
            capture: None,
        }
    }

    /// Whether this input is one of those that started it. They share its fate; a steer that came too late does not.
    pub fn starts_with(&self, input: u64) -> bool {
        (self.input..=self.input + self.joined).contains(&input)
    }
}

fn is_zero64(n: &u64) -> bool {
    *n == 0
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
