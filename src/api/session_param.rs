//! Requests that create and change Sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{
    AgentReasoningParam, AgentTextParam, AgentToolParam, CompactionParam, EnvironmentParam,
    ExperimentalParam, HarnessChoice, InputMessage, Metadata, MultiAgentConfigParam, Patch,
    PromptCacheOptions, PromptCacheTtl, ReasoningEffort, Review, ServiceTier,
};

mod read;

/// Body of `POST /agents/sessions`. A null field means the same as an absent one, except in `agent`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionCreateParams {
    /// Where commands shall run.
    pub environment: EnvironmentParam,
    /// The Agent itself, or what shall differ from the saved one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<SessionAgentParams>,
    /// The saved Agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// What to start with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<SessionInput>,
    /// Names and values for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// How long the provider keeps its prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache_options: Option<PromptCacheOptionsParam>,
    /// Who approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// What it may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend_control: Option<SpendControlParam>,
    /// Answer with a stream of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// About that stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,
    /// Vaults whose credentials it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault_ids: Option<Vec<String>>,
}

/// The Agent of one Session. Beside `agent_id`, an absent field keeps the saved Agent's value, null brings back the default,
/// and what is given replaces whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionAgentParams {
    /// How a long history is shortened.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub compaction: Patch<CompactionParam>,
    /// Behaviour that may go away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<ExperimentalParam>,
    /// This project's own; null: what the worker's profile says.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub harness: Patch<HarnessChoice>,
    /// What the model is told before everything else.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub instructions: Patch<String>,
    /// Model name; required without `agent_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the agent may use subagents.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub multi_agent: Patch<MultiAgentConfigParam>,
    /// How much the model thinks.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub reasoning: Patch<AgentReasoningParam>,
    /// How fast and how dear.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub service_tier: Patch<ServiceTier>,
    /// The form of the output.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub text: Patch<AgentTextParam>,
    /// Tools.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub tools: Patch<Vec<AgentToolParam>>,
}

/// What a Session starts with: text is one message of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SessionInput {
    /// One message.
    Text(String),
    /// Several.
    Messages(Vec<InputMessage>),
}

impl SessionInput {
    /// As messages.
    pub fn into_messages(self) -> Vec<InputMessage> {
        match self {
            SessionInput::Text(text) => vec![InputMessage::text(text)],
            SessionInput::Messages(messages) => messages,
        }
    }
}

/// How long the provider keeps its prompt cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptCacheOptionsParam {
    /// Half an hour if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<PromptCacheTtl>,
}

impl PromptCacheOptionsParam {
    /// With its default filled in: half an hour.
    pub fn resolved(self) -> PromptCacheOptions {
        PromptCacheOptions {
            ttl: self.ttl.unwrap_or(PromptCacheTtl::HalfHour),
        }
    }
}

/// What a Session may spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpendControlParam {
    /// Cents, positive; null: no limit.
    pub limit: Option<u64>,
}

/// About the stream that answers a creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamOptions {
    /// Whether events carry random padding; true if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_obfuscation: Option<bool>,
}

/// Body of `POST /agents/sessions/{id}`. An absent field keeps what there is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionUpdateParams {
    /// What shall change in the Agent's snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<SessionAgentUpdateParams>,
    /// Replaced whole; null empties it.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub metadata: Patch<Metadata>,
    /// Null: the provider's default.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub prompt_cache_options: Patch<PromptCacheOptionsParam>,
    /// Who approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// Null: no limit. What was spent stays spent.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub spend_control: Patch<SpendControlParam>,
}

/// What shall change in the Agent's snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionAgentUpdateParams {
    /// Model name, from the next Turn on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Only the effort can change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningEffortParam>,
    /// Null: the provider chooses.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub service_tier: Patch<ServiceTier>,
    /// Replaced whole; null removes all.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub tools: Patch<Vec<AgentToolParam>>,
}

/// How much the model shall think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningEffortParam {
    /// Null: the model chooses.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub effort: Patch<ReasoningEffort>,
}
