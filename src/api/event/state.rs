//! Shapes of events that tell a new state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{AgentSession, EnvironmentState, Subagent, TokenUsage, Turn};

/// An event with the whole Session, as it is behind the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionEvent {
    /// Unique.
    pub event_id: String,
    /// Its `required_actions` are correct in every event.
    pub session: Box<AgentSession>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// A Turn began or goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEvent {
    /// Unique.
    pub event_id: String,
    /// The Session.
    pub session_id: String,
    /// As it is behind the change.
    pub turn: Box<Turn>,
    /// The same as in `turn`.
    pub turn_id: String,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// A Turn is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEndEvent {
    /// Unique.
    pub event_id: String,
    /// The Session.
    pub session_id: String,
    /// As it stays.
    pub turn: Box<Turn>,
    /// The same as in `turn`.
    pub turn_id: String,
    /// The root agent's tokens.
    pub usage: Option<TokenUsage>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// The environment changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentEvent {
    /// As it is now.
    pub environment: EnvironmentState,
    /// Unique.
    pub event_id: String,
    /// The Session.
    pub session_id: String,
    /// The Turn at work, if any.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// The environment was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentResetEvent {
    /// It keeps its id.
    pub environment_id: String,
    /// Unique.
    pub event_id: String,
    /// How often it was replaced; a repeated notice carries the same number.
    pub reset_count: u64,
    /// The Session.
    pub session_id: String,
    /// The Turn at work, if any.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// A subagent changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentEvent {
    /// Unique.
    pub event_id: String,
    /// As it is now; it names its Session.
    pub subagent: Subagent,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// Something went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorEvent {
    /// What.
    pub error: SessionError,
    /// Unique.
    pub event_id: String,
    /// The Session.
    pub session_id: String,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// What went wrong in a Session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionError {
    /// For programs.
    pub code: Option<String>,
    /// For people.
    pub message: String,
    /// The request field at fault.
    pub param: Option<String>,
    /// Its family.
    #[serde(rename = "type")]
    pub kind: String,
}
