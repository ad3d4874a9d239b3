//! The saved Agent, and the snapshot of one that a Session carries.
//!
//! Requests that create and change Agents are in `agent_param`, tools in `tool`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::page::HasId;
use crate::api::words::{object_name, words};
use crate::api::{AgentTool, PersistedAgentTool};

/// Names and values that a client attaches to a resource; `limits` bounds them.
pub type Metadata = BTreeMap<String, String>;

object_name!(AgentObject = "agent", AgentDeletedObject = "agent.deleted");

/// A saved Agent: the configuration that Sessions are created from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// `agent_…`
    pub id: String,
    /// Unix seconds.
    pub created_at: u64,
    /// What the model is told before everything else.
    pub instructions: Option<String>,
    /// Never null in answers.
    pub metadata: Metadata,
    /// Model name, free text.
    pub model: String,
    /// Whether the agent may use subagents.
    pub multi_agent: MultiAgentConfig,
    /// For people.
    pub name: Option<String>,
    /// Always `agent`.
    pub object: AgentObject,
    /// How much the model thinks.
    pub reasoning: AgentReasoning,
    /// How fast and how dear.
    pub service_tier: ServiceTier,
    /// The form of the output.
    pub text: AgentText,
    /// Tools, without secrets.
    pub tools: Vec<PersistedAgentTool>,
    /// Unix seconds.
    pub updated_at: u64,
    /// How a long history is shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
    /// Behaviour that may go away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Experimental>,
    /// This project's own: what drives the agent, if it is not what the worker's profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<HarnessChoice>,
}

/// The answer to deleting an Agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentDeleted {
    /// What was deleted.
    pub id: String,
    /// Always true.
    pub deleted: bool,
    /// Always `agent.deleted`.
    pub object: AgentDeletedObject,
}

impl AgentDeleted {
    /// The answer for this Agent.
    pub fn of(id: impl Into<String>) -> AgentDeleted {
        AgentDeleted {
            id: id.into(),
            deleted: true,
            object: AgentDeletedObject::Only,
        }
    }
}

/// The Agent as a Session holds it: frozen at the Session's creation, changed only through the Session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionAgent {
    /// The saved Agent's id, or one that belongs to this Session alone.
    pub id: String,
    /// What the model is told before everything else.
    pub instructions: Option<String>,
    /// Model name, free text.
    pub model: String,
    /// Whether the agent may use subagents.
    pub multi_agent: MultiAgentConfig,
    /// The Agent's name when the Session was created.
    pub name: Option<String>,
    /// How much the model thinks.
    pub reasoning: AgentReasoning,
    /// How fast and how dear.
    pub service_tier: ServiceTier,
    /// The form of the output.
    pub text: AgentText,
    /// Tools, without secrets.
    pub tools: Vec<AgentTool>,
    /// How a long history is shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
    /// Behaviour that may go away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Experimental>,
    /// This project's own: what drives the agent, if it is not what the worker's profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<HarnessChoice>,
}

words! {
    /// What drives an agent.
    pub enum HarnessChoice {
        /// A loop of this project over the model.
        Responses = "responses",
        /// OpenAI's Codex.
        Codex = "codex",
    }
}

/// Whether the agent may use subagents, and how many at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MultiAgentConfig {
    /// Whether it may.
    pub enabled: bool,
    /// At once, the coordinator not counted; null when disabled.
    pub max_concurrent_subagents: Option<u64>,
}

impl MultiAgentConfig {
    /// Subagents at once when nothing else was asked for.
    pub const DEFAULT_SUBAGENTS: u64 = 6;
}

/// How much the model thinks, and what of it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReasoning {
    /// Null: the model chooses.
    pub effort: Option<ReasoningEffort>,
    /// Null: no summaries are asked for.
    pub summary: Option<ReasoningSummary>,
}

/// The form of the agent's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentText {
    /// Free text, or JSON by a schema.
    pub format: TextFormat,
    /// How wordy.
    pub verbosity: Verbosity,
}

/// Free text, or JSON by a schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TextFormat {
    /// Free text.
    #[default]
    Text,
    /// JSON that matches a schema.
    JsonSchema {
        /// A JSON Schema.
        schema: Map<String, Value>,
    },
}

/// How a long history is shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// Beside the Turn instead of in it.
    #[serde(rename = "async")]
    pub is_async: bool,
}

/// Behaviour that may go away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Experimental {
    /// Whether the model is told the time.
    pub time_awareness: bool,
}

words! {
    /// How fast and how dear a model call is.
    #[derive(Default)]
    pub enum ServiceTier {
        /// The provider chooses.
        #[default]
        Auto = "auto",
        /// The ordinary tier.
        Default = "default",
        /// Slower and cheaper.
        Flex = "flex",
        /// Faster and dearer.
        Priority = "priority",
        /// Faster.
        Fast = "fast",
        /// Fastest.
        Ultrafast = "ultrafast",
    }

    /// How much the model thinks.
    pub enum ReasoningEffort {
        /// Not at all.
        None = "none",
        /// As little as possible.
        Minimal = "minimal",
        /// A little.
        Low = "low",
        /// The middle.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Very much.
        Xhigh = "xhigh",
        /// As much as possible.
        Max = "max",
    }

    /// What is shown of the model's thinking.
    pub enum ReasoningSummary {
        /// Short summaries.
        Concise = "concise",
        /// Long summaries.
        Detailed = "detailed",
        /// The model chooses.
        Auto = "auto",
    }

    /// How wordy the output is.
    #[derive(Default)]
    pub enum Verbosity {
        /// Terse.
        Low = "low",
        /// The middle.
        #[default]
        Medium = "medium",
        /// Wordy.
        High = "high",
    }
}

impl HasId for Agent {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}
