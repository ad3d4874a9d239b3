//! Inputs: what `POST …/events` takes, and the messages that a new Session may start with.
//!
//! Two fields are this project's own: `delivery` on a message, and `turn_id` on a cancel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::words::{tagged, words};
use crate::api::{FunctionOutput, InputContent, Secret};

mod read;

/// Body of `POST …/events`. The batch is taken whole or not at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventCreateParams {
    /// In order, not empty.
    pub events: Vec<InputEvent>,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum InputEvent {
    /// Messages of the user: they start a Turn, or steer the one at work.
    #[serde(rename = "agent.session.input.message")]
    Message(MessageInput),
    /// Ends a Turn.
    #[serde(rename = "agent.session.input.cancel")]
    Cancel(CancelInput),
    /// The result of a function call.
    #[serde(rename = "agent.session.input.tool_result")]
    ToolResult(ToolResultInput),
    /// The answer to an MCP approval.
    #[serde(rename = "agent.session.input.mcp_approval_request_result")]
    McpApprovalRequestResult(McpApprovalInput),
    /// The answer to a browser approval.
    #[serde(rename = "agent.session.input.computer_use_approval_request_result")]
    ComputerUseApprovalRequestResult(ComputerUseApprovalInput),
}

/// Messages of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageInput {
    /// In order, not empty.
    pub input: Vec<InputMessage>,
    /// How they meet a Turn at work; steer if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
}

/// One message of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InputMessage {
    /// Its parts, not empty.
    pub content: Vec<InputContent>,
    /// Always `user`.
    pub role: UserRole,
    /// Always `message`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MessageKind>,
}

impl InputMessage {
    /// A message of one text.
    pub fn text(text: impl Into<String>) -> InputMessage {
        InputMessage {
            content: vec![InputContent::InputText { text: text.into() }],
            role: UserRole::User,
            kind: Some(MessageKind::Message),
        }
    }
}

/// Ends a Turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelInput {
    /// Only this Turn: if another one is at work, nothing happens. Without it, whichever is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// The result of a function call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResultInput {
    /// The call.
    pub call_id: String,
    /// Whether the function succeeded.
    pub success: bool,
    /// The Turn that waits.
    pub turn_id: String,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<FunctionOutput>,
}

/// The answer to an MCP approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpApprovalInput {
    /// The request.
    pub request_id: String,
    /// The answer.
    pub response: McpApprovalResponse,
}

/// What was decided about an MCP call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "mcp_tool_call")]
#[schemars(rename = "McpApprovalResponse", transform = tagged("mcp_tool_call"))]
pub struct McpApprovalResponse {
    /// The decision.
    pub decision: Decision,
}

/// The answer to a browser approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputerUseApprovalInput {
    /// The request.
    pub request_id: String,
    /// The answer.
    pub response: ComputerUseResponse,
}

/// What was decided in the browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ComputerUseResponse {
    /// About a login.
    BrowserAuthentication(BrowserAuthenticationAnswer),
    /// About access to an origin.
    BrowserOriginAccess {
        /// The decision.
        decision: Decision,
    },
}

/// A login form, filled in or dismissed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum BrowserAuthenticationAnswer {
    /// Filled in.
    Submit {
        /// At most 6.
        fields: Vec<BrowserAuthenticationValue>,
        /// The way to log in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        selected_option: Option<String>,
    },
    /// Dismissed.
    Cancel,
}

/// A field of a login form, filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrowserAuthenticationValue {
    /// Which field.
    pub field_id: String,
    /// Write-only.
    pub value: Secret,
}

words! {
    /// How a message meets a Turn at work.
    #[derive(Default)]
    pub enum Delivery {
        /// It joins that Turn at its next step.
        #[default]
        Steer = "steer",
        /// It waits and becomes the next Turn.
        NextTurn = "next_turn",
    }

    /// An approval.
    pub enum Decision {
        /// Do it.
        Approve = "approve",
        /// Don't, and tell the agent so.
        Deny = "deny",
        /// Dismiss the question.
        Cancel = "cancel",
    }

    /// The role of every input message.
    pub enum UserRole {
        /// The user.
        User = "user",
    }

    /// The type of every input message.
    pub enum MessageKind {
        /// A message.
        Message = "message",
    }

    /// The `type` of an input.
    pub enum InputKind {
        /// See [`InputEvent::Message`].
        Message = "agent.session.input.message",
        /// See [`InputEvent::Cancel`].
        Cancel = "agent.session.input.cancel",
        /// See [`InputEvent::ToolResult`].
        ToolResult = "agent.session.input.tool_result",
        /// See [`InputEvent::McpApprovalRequestResult`].
        McpApprovalRequestResult = "agent.session.input.mcp_approval_request_result",
        /// See [`InputEvent::ComputerUseApprovalRequestResult`].
        ComputerUseApprovalRequestResult = "agent.session.input.computer_use_approval_request_result",
    }
}

impl InputEvent {
    /// Its `type`.
    pub fn kind(&self) -> InputKind {
        match self {
            InputEvent::Message(_) => InputKind::Message,
            InputEvent::Cancel(_) => InputKind::Cancel,
            InputEvent::ToolResult(_) => InputKind::ToolResult,
            InputEvent::McpApprovalRequestResult(_) => InputKind::McpApprovalRequestResult,
            InputEvent::ComputerUseApprovalRequestResult(_) => {
                InputKind::ComputerUseApprovalRequestResult
            }
        }
    }
}
