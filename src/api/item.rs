//! Items: the saved entries of a transcript.
//!
//! One enum serves both unions of the contract: history holds every variant, `item.done` events only those for which
//! [`Item::is_output`] holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::page::HasId;
use crate::api::words::words;
use crate::api::{MessageContent, SummaryText};

mod call;
mod computer;
mod subagents;

pub use call::*;
pub use computer::*;
pub use subagents::*;

/// One entry of the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// A message of the user or of the agent.
    Message(MessageItem),
    /// What is shown of the model's thinking.
    Reasoning(ReasoningItem),
    /// A function that the client is to call.
    FunctionCall(FunctionCallItem),
    /// The client's answer.
    FunctionCallOutput(FunctionCallOutputItem),
    /// A message between agents.
    AgentMessage(AgentMessageItem),
    /// A call of an MCP tool.
    McpCall(McpCallItem),
    /// A search on the web.
    WebSearchCall(WebSearchCallItem),
    /// A command in the environment.
    CommandExecution(CommandExecutionItem),
    /// A step in the browser.
    ComputerUseCall(ComputerUseCallItem),
    /// The browser wants a login.
    ComputerUseApprovalRequest(ComputerUseApprovalRequestItem),
    /// What became of that.
    ComputerUseApprovalRequestResult(ComputerUseApprovalRequestResultItem),
    /// A subagent was started.
    CreateSubagentCall(CreateSubagentCallItem),
    /// A subagent was given more.
    SendSubagentInputCall(SendSubagentInputCallItem),
    /// A subagent was told to go on.
    ResumeSubagentCall(SubagentCallItem),
    /// Subagents were waited for.
    WaitForSubagentsCall(WaitForSubagentsCallItem),
    /// A subagent was interrupted.
    InterruptSubagentCall(SubagentCallItem),
    /// A subagent was closed.
    CloseSubagentCall(SubagentCallItem),
}

/// A message of the user or of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageItem {
    /// `msg_…`; null for user messages of old.
    pub id: Option<String>,
    /// Its parts.
    pub content: Vec<MessageContent>,
    /// Null for the user's, and where the model does not say.
    pub phase: Option<Phase>,
    /// Whose.
    pub role: Role,
    /// The user's are always completed.
    pub status: OutputStatus,
    /// Its Turn.
    pub turn_id: String,
}

/// What is shown of the model's thinking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningItem {
    /// `rs_…`
    pub id: String,
    /// Null where the provider does not say.
    pub status: Option<OutputStatus>,
    /// Summaries.
    pub summary: Vec<SummaryText>,
    /// Its Turn.
    pub turn_id: String,
}

words! {
    /// Where a call stands.
    pub enum CallStatus {
        /// Running.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
        /// Done, and it did not work.
        Failed = "failed",
        /// Ended before it was done, or its outcome is unknown.
        Incomplete = "incomplete",
    }

    /// Where an output stands.
    pub enum OutputStatus {
        /// Being written.
        InProgress = "in_progress",
        /// Whole.
        Completed = "completed",
        /// Cut short.
        Incomplete = "incomplete",
    }

    /// What a message of the agent is for.
    pub enum Phase {
        /// On the way.
        Commentary = "commentary",
        /// The answer.
        FinalAnswer = "final_answer",
    }

    /// Whose message it is.
    pub enum Role {
        /// The user's.
        User = "user",
        /// The agent's.
        Assistant = "assistant",
    }
}

/// Evaluates an expression on the struct inside any variant.
macro_rules! each {
    ($item:expr, $inner:ident => $value:expr, message: $message:pat => $message_value:expr) => {
        match $item {
            Item::Message($message) => $message_value,
            Item::Reasoning($inner) => $value,
            Item::FunctionCall($inner) => $value,
            Item::FunctionCallOutput($inner) => $value,
            Item::AgentMessage($inner) => $value,
            Item::McpCall($inner) => $value,
            Item::WebSearchCall($inner) => $value,
            Item::CommandExecution($inner) => $value,
            Item::ComputerUseCall($inner) => $value,
            Item::ComputerUseApprovalRequest($inner) => $value,
            Item::ComputerUseApprovalRequestResult($inner) => $value,
            Item::CreateSubagentCall($inner) => $value,
            Item::SendSubagentInputCall($inner) => $value,
            Item::ResumeSubagentCall($inner) => $value,
            Item::WaitForSubagentsCall($inner) => $value,
            Item::InterruptSubagentCall($inner) => $value,
            Item::CloseSubagentCall($inner) => $value,
        }
    };
}

impl Item {
    /// Its Turn.
    pub fn turn_id(&self) -> &str {
        each!(self, item => &item.turn_id, message: item => &item.turn_id)
    }

    /// The `type` on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Item::Message(_) => "message",
            Item::Reasoning(_) => "reasoning",
            Item::FunctionCall(_) => "function_call",
            Item::FunctionCallOutput(_) => "function_call_output",
            Item::AgentMessage(_) => "agent_message",
            Item::McpCall(_) => "mcp_call",
            Item::WebSearchCall(_) => "web_search_call",
            Item::CommandExecution(_) => "command_execution",
            Item::ComputerUseCall(_) => "computer_use_call",
            Item::ComputerUseApprovalRequest(_) => "computer_use_approval_request",
            Item::ComputerUseApprovalRequestResult(_) => "computer_use_approval_request_result",
            Item::CreateSubagentCall(_) => "create_subagent_call",
            Item::SendSubagentInputCall(_) => "send_subagent_input_call",
            Item::ResumeSubagentCall(_) => "resume_subagent_call",
            Item::WaitForSubagentsCall(_) => "wait_for_subagents_call",
            Item::InterruptSubagentCall(_) => "interrupt_subagent_call",
            Item::CloseSubagentCall(_) => "close_subagent_call",
        }
    }

    /// Whether the agent made it: only such Items have an output index and an `item.done` event.
    pub fn is_output(&self) -> bool {
        match self {
            Item::Message(message) => message.role == Role::Assistant,
            Item::FunctionCallOutput(_)
            | Item::AgentMessage(_)
            | Item::ComputerUseApprovalRequestResult(_) => false,
            Item::Reasoning(_)
            | Item::FunctionCall(_)
            | Item::McpCall(_)
            | Item::WebSearchCall(_)
            | Item::CommandExecution(_)
            | Item::ComputerUseCall(_)
            | Item::ComputerUseApprovalRequest(_)
            | Item::CreateSubagentCall(_)
            | Item::SendSubagentInputCall(_)
            | Item::ResumeSubagentCall(_)
            | Item::WaitForSubagentsCall(_)
            | Item::InterruptSubagentCall(_)
            | Item::CloseSubagentCall(_) => true,
        }
    }
}

impl HasId for Item {
    fn id(&self) -> Option<&str> {
        each!(self, item => Some(&item.id), message: item => item.id.as_deref())
    }
}
