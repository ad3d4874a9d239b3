//! Items of work shared among agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{AgentContent, CallStatus, Item};

/// A message between agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMessageItem {
    /// Its id.
    pub id: String,
    /// Its parts.
    pub content: Vec<AgentContent>,
    /// To whom: id or name.
    pub recipient_agent_id: String,
    /// From whom.
    pub sender_agent_id: String,
    /// Its Turn.
    pub turn_id: String,
}

/// A subagent was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreateSubagentCallItem {
    /// Its id.
    pub id: String,
    /// Who asked for it.
    pub agent_id: String,
    /// What it was told.
    pub content: Vec<AgentContent>,
    /// Its model.
    pub model: Option<String>,
    /// How much it thinks, free text.
    pub reasoning_effort: Option<String>,
    /// Where it stands.
    pub status: CallStatus,
    /// Its Turn.
    pub turn_id: String,
}

/// A subagent was given more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendSubagentInputCallItem {
    /// Its id.
    pub id: String,
    /// What it was told.
    pub content: Vec<AgentContent>,
    /// To whom.
    pub recipient_agent_id: String,
    /// From whom.
    pub sender_agent_id: String,
    /// Where it stands.
    pub status: CallStatus,
    /// Its Turn.
    pub turn_id: String,
}

/// A subagent was told to go on, was interrupted or was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentCallItem {
    /// Its id.
    pub id: String,
    /// To whom.
    pub recipient_agent_id: String,
    /// From whom.
    pub sender_agent_id: String,
    /// Where it stands.
    pub status: CallStatus,
    /// Its Turn.
    pub turn_id: String,
}

/// Subagents were waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitForSubagentsCallItem {
    /// Its id.
    pub id: String,
    /// For whom.
    pub recipient_agent_ids: Vec<String>,
    /// Who waits.
    pub sender_agent_id: String,
    /// Where it stands.
    pub status: CallStatus,
    /// Its Turn.
    pub turn_id: String,
}

impl Item {
    /// What agents of a Session did to one another, in words; `None` for other Items.
    pub fn between_agents(&self) -> Option<String> {
        Some(match self {
            Item::AgentMessage(message) => format!("heard: {}", agent_text(&message.content)),
            Item::CreateSubagentCall(call) => {
                format!("starts a subagent: {}", agent_text(&call.content))
            }
            Item::SendSubagentInputCall(call) => format!(
                "tells {}: {}",
                call.recipient_agent_id,
                agent_text(&call.content)
            ),
            Item::WaitForSubagentsCall(call) => {
                format!("waits for {}", call.recipient_agent_ids.join(", "))
            }
            Item::ResumeSubagentCall(call) => format!("resumes {}", call.recipient_agent_id),
            Item::InterruptSubagentCall(call) => {
                format!("interrupts {}", call.recipient_agent_id)
            }
            Item::CloseSubagentCall(call) => format!("closes {}", call.recipient_agent_id),
            _ => return None,
        })
    }
}

/// What one agent told another, as far as it can be read.
pub fn agent_text(parts: &[AgentContent]) -> String {
    let texts = parts.iter().map(|part| match part {
        AgentContent::OutputText { text } => text.as_str(),
        AgentContent::EncryptedContent { .. } => "[sealed]",
    });
    texts.collect::<Vec<_>>().join("\n")
}
