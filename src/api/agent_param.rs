//! Requests that create and change saved Agents, and the parts that Session requests share with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{
    HarnessChoice, Metadata, Patch, PersistedAgentToolParam, ReasoningEffort, ReasoningSummary,
    ServiceTier, TextFormat, Verbosity,
};

mod read;

/// Body of `POST /agents`. A null field means the same as an absent one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCreateParams {
    /// Model name, free text, not empty.
    pub model: String,
    /// How a long history is shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionParam>,
    /// Behaviour that may go away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<ExperimentalParam>,
    /// This project's own: what drives the agent; what the worker's profile says if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<HarnessChoice>,
    /// What the model is told before everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Names and values for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Whether the agent may use subagents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_agent: Option<MultiAgentConfigParam>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How much the model thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<AgentReasoningParam>,
    /// How fast and how dear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<ServiceTier>,
    /// The form of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<AgentTextParam>,
    /// Tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<PersistedAgentToolParam>>,
}

/// Body of `POST /agents/{agent_id}`. An absent field keeps what there is; null brings back nothing, or the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentUpdateParams {
    /// Replaced whole.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub compaction: Patch<CompactionParam>,
    /// Merged by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<ExperimentalParam>,
    /// This project's own; null: what the worker's profile says.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub harness: Patch<HarnessChoice>,
    /// What the model is told before everything else.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub instructions: Patch<String>,
    /// Replaced whole.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub metadata: Patch<Metadata>,
    /// Model name; it can't be cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Replaced whole; null forbids subagents.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub multi_agent: Patch<MultiAgentConfigParam>,
    /// For people.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub name: Patch<String>,
    /// Replaced whole.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub reasoning: Patch<AgentReasoningParam>,
    /// Null: auto.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub service_tier: Patch<ServiceTier>,
    /// Replaced whole.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub text: Patch<AgentTextParam>,
    /// Replaced whole.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub tools: Patch<Vec<PersistedAgentToolParam>>,
}

/// How a long history is shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionParam {
    /// Beside the Turn instead of in it; false if not given.
    #[serde(rename = "async", default, skip_serializing_if = "Option::is_none")]
    pub is_async: Option<bool>,
}

/// Behaviour that may go away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentalParam {
    /// Whether the model is told the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_awareness: Option<bool>,
}

/// Whether the agent may use subagents, and how many at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MultiAgentConfigParam {
    /// Whether it may.
    pub enabled: bool,
    /// At once, the coordinator not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent_subagents: Option<u64>,
}

/// How much the model thinks, and what of it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReasoningParam {
    /// Absent: the model chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// Absent: no summaries are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ReasoningSummary>,
}

/// The form of the agent's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentTextParam {
    /// Free text if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TextFormat>,
    /// Medium if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Verbosity>,
}
