//! Subagents of a Session, and its traces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::AgentContent;
use crate::api::page::HasId;
use crate::api::words::{object_name, words};

object_name!(
    SubagentObject = "agent.session.subagent",
    TraceObject = "agent.session.trace",
);

/// An agent that another agent of the same Session started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subagent {
    /// Its id.
    pub id: String,
    /// Unix seconds; null while it is active.
    pub closed_at: Option<u64>,
    /// What it was told.
    pub instructions: Option<Vec<AgentContent>>,
    /// For people.
    pub name: Option<String>,
    /// Always `agent.session.subagent`.
    pub object: SubagentObject,
    /// Unix seconds.
    pub opened_at: u64,
    /// Who started it.
    pub parent_agent_id: String,
    /// Its Session.
    pub session_id: String,
    /// Whether it still works.
    pub status: SubagentStatus,
}

words! {
    /// Whether a subagent still works.
    pub enum SubagentStatus {
        /// It can be given work.
        Active = "active",
        /// It is over.
        Closed = "closed",
    }
}

/// A published trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionTrace {
    /// Its id.
    pub id: String,
    /// Unix seconds.
    pub created_at: u64,
    /// Always `agent.session.trace`.
    pub object: TraceObject,
    /// OTLP, as JSON.
    pub otlp: Map<String, Value>,
    /// Its Session.
    pub session_id: String,
}

impl HasId for Subagent {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl HasId for SessionTrace {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}
