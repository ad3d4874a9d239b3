//! The Harness port: what drives an agent through one Turn, and its link to the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};

use super::checkpoint::{SavedCheckpoint, TakenCheckpoint};
use super::environment::Environment;
use super::model::ModelUsage;
use super::subagent::{Delegates, SubagentNews};
use crate::api::Secret;
use crate::engine::weight::json_bytes;

/// What is asked of the harness and the run while a Turn goes on. Later values replace earlier ones; none is lost that matters,
/// because each is stronger than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Go on.
    #[default]
    None,
    /// Stop at the next safe point (between calls); the Turn will be resumed elsewhere.
    Leave,
    /// Stop now: end the model stream and every process of this Turn.
    Cancel,
}

/// A message for the agent that was claimed for this Turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feed {
    /// The accepted input's number.
    pub input: u64,
    /// Its content parts, as the wire has them (`input_text`, `input_image`).
    pub content: Vec<serde_json::Value>,
}

/// One entry of the history that the engine gives a harness: what it recorded, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Past {
    /// A message of the user.
    User {
        /// Content parts.
        content: Vec<serde_json::Value>,
    },
    /// A message of the agent.
    Assistant {
        /// Its text.
        text: String,
        /// `commentary` or `final_answer`, if the model said.
        phase: Option<String>,
    },
    /// Reasoning, with what the provider wants back.
    Reasoning {
        /// Summary texts.
        summary: Vec<String>,
        /// The provider's item, given back unchanged (holds `encrypted_content`).
        native: Option<serde_json::Value>,
    },
    /// A search on the web that the model's provider made.
    WebSearch {
        /// The provider's item, given back unchanged.
        native: serde_json::Value,
    },
    /// A tool that the harness ran itself.
    Tool {
        /// The model's call id.
        call_id: String,
        /// Tool name as the model called it.
        name: String,
        /// Arguments exactly as the model wrote them.
        arguments: String,
        /// How it ended.
        outcome: ToolOutcome,
    },
    /// A function tool of the Agent, answered by the client.
    Function {
        /// The model's call id.
        call_id: String,
        /// Function name.
        name: String,
        /// Arguments exactly as the model wrote them.
        arguments: String,
        /// The client's answer; `None` while it is awaited or if its Turn ended without one.
        output: Option<FunctionAnswer>,
    },
    /// A function tool of the Agent whose answer the agent did not wait for.
    Background {
        /// The model's call id.
        call_id: String,
        /// Function name.
        name: String,
        /// Arguments exactly as the model wrote them.
        arguments: String,
        /// Whether the answer is still to come. One that came is a later [`Past::Answered`].
        open: bool,
    },
    /// The client's answer to a [`Past::Background`], where the agent was given it.
    Answered {
        /// The model's call id.
        call_id: String,
        /// Function name.
        name: String,
        /// The answer.
        answer: FunctionAnswer,
    },
}

impl Past {
    /// About the bytes that it takes in a request to a model.
    pub fn size_bytes(&self) -> usize {
        /// Names of fields, ids, and what is said in place of an answer.
        const FRAME_BYTES: usize = 128;
        FRAME_BYTES
            + match self {
                Past::User { content } => content.iter().map(json_bytes).sum(),
                Past::Assistant { text, .. } => text.len(),
                Past::Reasoning { native, .. } => native.as_ref().map_or(0, json_bytes),
                Past::WebSearch { native } => json_bytes(native),
                Past::Tool {
                    arguments, outcome, ..
                } => {
                    arguments.len()
                        + match outcome {
                            ToolOutcome::Done { output } => output.len(),
                            ToolOutcome::Unknown => 0,
                        }
                }
                Past::Function {
                    arguments, output, ..
                } => {
                    let answer = output.as_ref();
                    arguments.len() + answer.map_or(0, |answer| json_bytes(&answer.output))
                }
                Past::Background { arguments, .. } => arguments.len(),
                Past::Answered { answer, .. } => json_bytes(&answer.output),
            }
    }
}

/// What is handed to a harness while it works.
#[derive(Clone, Debug, PartialEq)]
pub enum Steer {
    /// A message of the user.
    Message(Feed),
    /// The answer to a function call that the agent did not wait for. It is recorded as given already.
    Answer {
        /// The model's call id.
        call_id: String,
        /// Function name.
        name: String,
        /// The answer.
        answer: FunctionAnswer,
    },
}

/// How a tool call that the harness ran ended, as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It is over and this is what the model is told.
    Done {
        /// The text for the model.
        output: String,
    },
    /// It was claimed, then the worker was lost. It may have happened. It is never run again by itself.
    Unknown,
}

/// A client's answer to a function call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionAnswer {
    /// Whether the function succeeded.
    pub success: bool,
    /// Text, or content parts.
    pub output: serde_json::Value,
    /// The error's text when it did not succeed.
    pub error: Option<String>,
}

/// What a tool of the Agent may use and nobody may see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSecrets {
    /// Value of the `Authorization` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization: Option<Secret>,
    /// Further headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Secret>,
    /// Variables of its process.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Secret>,
}

impl ToolSecrets {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == ToolSecrets::default()
    }
}

/// Everything a harness needs for one Turn, or for the rest of one that was interrupted.
pub struct TurnTask {
    /// Session id.
    pub session: String,
    /// Turn id.
    pub turn: String,
    /// The Agent's snapshot: model, instructions, tools, reasoning, text, service tier.
    pub agent: Arc<crate::api::SessionAgent>,
    /// What its MCP servers are shown, by their labels.
    pub tool_secrets: BTreeMap<String, ToolSecrets>,
    /// What was recorded so far, oldest first; it ends with what this Turn already did when it is resumed.
    pub history: Arc<Vec<Past>>,
    /// The messages that start (or continue) this Turn, in acceptance order.
    pub feed: Vec<Feed>,
    /// Where commands run; `None` for environment `none`.
    pub environment: Option<Arc<dyn Environment>>,
    /// Whether an earlier worker had begun this Turn.
    pub resumed: bool,
    /// Model calls that this Turn already made; the harness stops a Turn that makes too many.
    pub model_calls: u32,
    /// The state of its own that a harness kept last, if it [keeps any](Harness::keeps_checkpoints).
    pub checkpoint: Option<SavedCheckpoint>,
}

/// What a harness saw. The engine makes Items and Turn states of it; nothing here is visible before it is committed.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// The model has been given these inputs (their numbers): they are delivered.
    Took(Vec<u64>),
    /// A message of the agent is complete.
    Message {
        /// Its text.
        text: String,
        /// `commentary` or `final_answer`.
        phase: Option<String>,
        /// Whether the output stopped early.
        incomplete: bool,
    },
    /// A reasoning item is complete.
    Reasoning {
        /// Summary texts.
        summary: Vec<String>,
        /// The provider's item.
        native: Option<serde_json::Value>,
    },
    /// The model's provider searched the web.
    WebSearch {
        /// The provider's item.
        native: serde_json::Value,
    },
    /// The model called a function tool of the Agent. The harness then returns [`TurnEnd::Waiting`]; after a call in the background
    /// only when the agent has nothing else to do.
    FunctionCall {
        /// The model's call id.
        call_id: String,
        /// Function name.
        name: String,
        /// Arguments exactly as the model wrote them.
        arguments: String,
        /// The agent does not wait for the answer.
        background: bool,
    },
    /// A claimed tool call ended.
    ToolEnded {
        /// The call.
        call_id: String,
        /// How the command ended, for the Item.
        end: ToolEnd,
        /// What the model is told.
        output: String,
    },
    /// A model call ended, with its tokens.
    ModelCall(ModelUsage),
    /// What drives the agent, where that is another program. It is kept with the Run.
    DrivenBy {
        /// The program.
        program: HarnessProgram,
        /// Why it began from the recorded Items, though there was a state of its own to go on from.
        anew: Option<String>,
    },
    /// The harness's own state as it is now. It is kept in place of the one before with the next commit; if it can't be, the Turn goes on without.
    Checkpoint(Box<TakenCheckpoint>),
    /// Text as it is being written: shown live, never stored.
    Delta(Delta),
    /// Something of a subagent.
    Subagent {
        /// The harness's name for it, which no other one of the Session has.
        key: String,
        /// What.
        news: SubagentNews,
    },
    /// A subagent told the Turn's own agent something.
    Heard {
        /// The harness's name of the subagent.
        from: String,
        /// In its words.
        text: String,
    },
}

/// A program of others that drives an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HarnessProgram {
    /// `codex`, …
    pub name: String,
    /// As it says itself.
    pub version: String,
    /// Of its file, in hexadecimal digits.
    pub sha256: String,
}

/// How a tool call ended, for its Item.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEnd {
    /// The Item's status: completed, failed or incomplete.
    pub status: crate::api::CallStatus,
    /// Exit code, if the command exited.
    pub exit_code: Option<i32>,
    /// Output shown in the Item.
    pub output: String,
    /// Wall time.
    pub duration_ms: u64,
}

/// Live text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Of the message being written.
    Text {
        /// Outputs of the same model call that will be reported before it, and are not yet.
        ahead: u64,
        /// The text.
        text: String,
    },
    /// Of a reasoning summary being written.
    Reasoning {
        /// Outputs of the same model call that will be reported before it, and are not yet.
        ahead: u64,
        /// Its place among the item's summaries.
        summary: u64,
        /// The text.
        text: String,
    },
    /// The model call broke off and is made again: what was seen of its message and reasoning is void.
    Void,
    /// Of a command's output.
    Command {
        /// The call.
        call_id: String,
        /// Lossy text of the chunk.
        text: String,
    },
}

/// An effect that is about to happen. It is recorded as claimed first (I6).
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The model's call id; one call is claimed once.
    pub call_id: String,
    /// Tool name as the model called it.
    pub name: String,
    /// Arguments exactly as the model wrote them.
    pub arguments: String,
    /// The command as an operator should read it; of an MCP call, the tool's own name.
    pub command: String,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The MCP server that is asked, by its label; `None` for what runs in the environment. Such a call ends with the server's
    /// answer as its output: an object with `result` or `error`, as JSON.
    pub server_label: Option<String>,
}

/// A claim of a subagent, or of a call that does something to others.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimAs {
    /// Who acts, by the harness's name; `None`: the Turn's own agent.
    pub by: Option<String>,
    /// What it does to other agents, if it is a call of that kind.
    pub delegates: Option<Delegates>,
    /// The claim.
    pub claim: Claim,
}

/// What a harness sends while it works.
pub enum FromHarness {
    /// Something it saw, in order.
    Saw(Observation),
    /// It wants to begin an effect and waits for the answer. `Err` means: stop, you are not the live Run any more.
    Claim(Claim, oneshot::Sender<Result<(), Fenced>>),
    /// It waits until everything that it said before is recorded. No answer is no leave to go on.
    Record(oneshot::Sender<()>),
    /// The same among agents.
    ClaimAs(Box<ClaimAs>, oneshot::Sender<Result<(), Fenced>>),
}

/// This worker's authority ended; whatever it still does is invisible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a newer generation owns this Session")]
pub struct Fenced;

/// A harness's two-way link to the engine for one Turn.
pub struct TurnLink {
    /// To the engine; bounded, so that a fast harness waits for commits.
    pub to_engine: mpsc::Sender<FromHarness>,
    /// What arrives while the Turn runs: messages (steering), in acceptance order, of which those not taken before the Turn ends
    /// become the next Turn, and answers that the agent did not wait for.
    pub steer: mpsc::Receiver<Steer>,
    /// What is asked of the harness.
    pub signal: watch::Receiver<Signal>,
}

impl TurnLink {
    /// Reports something. `Err` when the engine is gone: stop.
    pub async fn saw(&self, what: Observation) -> Result<(), Fenced> {
        self.to_engine
            .send(FromHarness::Saw(what))
            .await
            .map_err(|_| Fenced)
    }

    /// Claims an effect; after `Ok` it is recorded durably and may happen, once.
    pub async fn claim(&self, claim: Claim) -> Result<(), Fenced> {
        let (answer, answered) = oneshot::channel();
        self.to_engine
            .send(FromHarness::Claim(claim, answer))
            .await
            .map_err(|_| Fenced)?;
        answered.await.unwrap_or(Err(Fenced))
    }

    /// Waits until everything that was reported is recorded durably, which is one commit at most. Whoever goes on after a lost worker
    /// knows it then.
    pub async fn recorded(&self) -> Result<(), Fenced> {
        let (answer, answered) = oneshot::channel();
        self.to_engine
            .send(FromHarness::Record(answer))
            .await
            .map_err(|_| Fenced)?;
        answered.await.map_err(|_| Fenced)
    }

    /// The same for a subagent, or for a call that does something to others.
    pub async fn claim_as(&self, claim: ClaimAs) -> Result<(), Fenced> {
        let (answer, answered) = oneshot::channel();
        self.to_engine
            .send(FromHarness::ClaimAs(Box::new(claim), answer))
            .await
            .map_err(|_| Fenced)?;
        answered.await.unwrap_or(Err(Fenced))
    }
}

/// How a harness's work on a Turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent is done.
    Completed,
    /// Function calls are pending; go on when they are answered.
    Waiting,
    /// It can't go on.
    Failed {
        /// One of the Agents API's turn error codes.
        code: String,
        /// In words.
        message: String,
    },
    /// It stopped because of [`Signal::Cancel`].
    Cancelled,
    /// It stopped at a safe point because of [`Signal::Leave`], or because it was fenced.
    Left,
}

/// Drives an agent through one Turn.
#[async_trait]
pub trait Harness: Send + Sync {
    /// Works until the Turn ends, waits or must be left. Everything that matters goes through `link` first.
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd;

    /// `responses`, `codex`, …
    fn name(&self) -> &'static str;

    /// Whether it keeps state of its own for such an Agent: only then it is looked for, and given to it.
    fn keeps_checkpoints(&self, _agent: &crate::api::SessionAgent) -> bool {
        false
    }

    /// How much of a long past it can use, by [`Past::size_bytes`]: it is told at least that much.
    fn useful_past_bytes(&self) -> usize {
        4 << 20
    }
}
