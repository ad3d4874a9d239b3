//! An Item: one saved entry of the transcript, and what the model needs to see it again.

use serde::{Deserialize, Serialize};

use super::ids::Kind;
use super::input::Body;
use crate::api::CallStatus;

/// Where a tool call is that the harness runs itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CallState {
    /// Claimed: it may be happening.
    Running,
    /// Over.
    Done {
        /// completed, failed or incomplete.
        status: CallStatus,
        /// If the command exited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Shown in the Item.
        output: Body,
        /// What the model was told, when it differs from `output`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<Told>,
        /// Wall time.
        duration_ms: u64,
    },
    /// Its worker was lost: it may have happened, and is never repeated by itself (I6).
    Unknown,
}

/// What the model was told of a call that ended, where that is not just its output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// These words, and then the output, which is not stored twice.
    Before(String),
    /// Something else.
    Instead(Body),
}

/// The content of an Item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(
    clippy::large_enum_variant,
    reason = "rows live for one commit; boxing the most common variant would cost more than it saves"
)]
pub enum ItemBody {
    /// A message of the user: its content is the input's.
    User {
        /// The accepted input.
        input: u64,
    },
    /// A message of the agent.
    Message {
        /// Its text.
        text: Body,
        /// `commentary` or `final_answer`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        /// Whether the output stopped early.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        incomplete: bool,
    },
    /// Reasoning.
    Reasoning {
        /// Summary texts.
        summary: Vec<String>,
        /// The provider's item, given back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Body>,
    },
    /// A tool call that the harness ran.
    Call {
        /// The model's call id.
        call_id: String,
        /// Tool name as the model called it.
        tool: String,
        /// Arguments exactly as the model wrote them.
        arguments: Body,
        /// The command as an operator reads it; of an MCP call, the tool's own name.
        command: String,
        /// Its working directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// What it does to other agents, if it is a call of that kind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delegates: Option<Box<Delegation>>,
        /// The MCP server that was asked, by its label; `None` for what ran in the environment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server_label: Option<String>,
        /// Where it is.
        #[serde(flatten)]
        state: CallState,
    },
    /// A search on the web that the model's provider made.
    WebSearch {
        /// The provider's item, given back unchanged.
        native: Body,
    },
    /// A call of one of the Agent's functions.
    Function {
        /// The model's call id.
        call_id: String,
        /// Function name.
        name: String,
        /// Arguments exactly as the model wrote them.
        arguments: Body,
        /// Whether its answer was handed over, or it was closed without one.
        status: CallStatus,
        /// The agent does not wait for the answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
    },
    /// A client's answer to a function call: its content is the input's.
    FunctionOutput {
        /// The item of the call.
        call: u64,
        /// The model's call id.
        call_id: String,
        /// The accepted input.
        input: u64,
    },
    /// What another agent of the Session told the one whose Item this is.
    FromAgent {
        /// Who told it: a subagent's number, or 0 for the root agent.
        from: u64,
        /// In its words.
        text: Body,
    },
}

/// What a call does to other agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Delegation {
    /// It starts one.
    Create {
        /// What that is told.
        text: Body,
        /// The model that was asked for, if one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The effort that was asked for, if any was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
    },
    /// It tells one something.
    Send {
        /// Which one. Its id; what the agent called it if there is none of that name.
        to: String,
        /// What it is told.
        text: Body,
    },
    /// It has one go on that was closed.
    Resume {
        /// Which one.
        to: String,
    },
    /// It waits for some.
    Wait {
        /// Which ones.
        to: Vec<String>,
    },
    /// It interrupts one.
    Interrupt {
        /// Which one.
        to: String,
    },
    /// It closes one.
    Close {
        /// Which one.
        to: String,
    },
}

impl Delegation {
    /// What is told to somebody.
    pub fn text(&self) -> Option<&Body> {
        match self {
            Delegation::Create { text, .. } | Delegation::Send { text, .. } => Some(text),
            Delegation::Resume { .. }
            | Delegation::Wait { .. }
            | Delegation::Interrupt { .. }
            | Delegation::Close { .. } => None,
        }
    }
}

/// Row `item/<n>`, or `subagent-item/<subagent>/<n>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemRow {
    /// The Turn it belongs to.
    pub turn: u64,
    /// Position among the Turn's output items; `None` for what the user gave.
    #[serde(
        rename = "o",
        alias = "output_index",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub output_index: Option<u64>,
    /// Recorded at. Unix ms.
    #[serde(rename = "at", alias = "at_ms")]
    pub at_ms: u64,
    /// What it is.
    #[serde(flatten)]
    pub body: ItemBody,
}

impl ItemBody {
    /// Which prefix its id has.
    pub fn id_kind(&self) -> Kind {
        match self {
            ItemBody::User { .. } | ItemBody::Message { .. } | ItemBody::FromAgent { .. } => {
                Kind::Message
            }
            ItemBody::Reasoning { .. } => Kind::Reasoning,
            ItemBody::Call {
                delegates: Some(_), ..
            } => Kind::SubagentCall,
            ItemBody::Call { server_label, .. } => match server_label {
                Some(_) => Kind::McpCall,
                None => Kind::Command,
            },
            ItemBody::WebSearch { .. } => Kind::WebSearch,
            ItemBody::Function { .. } => Kind::FunctionCall,
            ItemBody::FunctionOutput { .. } => Kind::FunctionOutput,
        }
    }

    /// Whether nothing about it will change any more.
    pub fn is_final(&self) -> bool {
        match self {
            ItemBody::Call { state, .. } => !matches!(state, CallState::Running),
            ItemBody::Function { status, .. } => *status != CallStatus::InProgress,
            ItemBody::User { .. }
            | ItemBody::Message { .. }
            | ItemBody::Reasoning { .. }
            | ItemBody::WebSearch { .. }
            | ItemBody::FunctionOutput { .. }
            | ItemBody::FromAgent { .. } => true,
        }
    }
}
