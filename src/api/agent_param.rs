//! Requests that create and change saved Agents, and the parts that Session requests share with them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::strict::{Fields, Node, Read};
use crate::api::words::words;
use crate::api::{
    AgentReasoning, AgentText, ApiError, Compaction, Metadata, MultiAgentConfig, Patch,
    PersistedAgentToolParam, ReasoningEffort, ReasoningSummary, ServiceTier, TextFormat, Verbosity,
};

/// Body of `POST /agents`. A null field means the same as an absent one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentCreateParams {
    /// Model name, free text, not empty.
    pub model: String,
    /// How a long history is shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionParam>,
    /// Behaviour that may go away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<ExperimentalParam>,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentUpdateParams {
    /// Replaced whole.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub compaction: Patch<CompactionParam>,
    /// Merged by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental: Option<ExperimentalParam>,
    /// What the model is told before everything else.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub instructions: Patch<String>,
    /// Replaced whole.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub metadata: Patch<Metadata>,
    /// Model name; it can't be cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the agent may use subagents.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub multi_agent: Patch<MultiAgentConfigParam>,
    /// For people.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub name: Patch<String>,
    /// How much the model thinks; each part that is given is changed.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub reasoning: Patch<AgentReasoningParam>,
    /// How fast and how dear.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub service_tier: Patch<ServiceTier>,
    /// The form of the output; each part that is given is changed.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub text: Patch<AgentTextParam>,
    /// Replaced whole.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub tools: Patch<Vec<PersistedAgentToolParam>>,
}

/// How a long history is shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionParam {
    /// Beside the Turn instead of in it; false if not given.
    #[serde(rename = "async", default, skip_serializing_if = "Option::is_none")]
    pub is_async: Option<bool>,
}

/// Behaviour that may go away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentalParam {
    /// Whether the model is told the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_awareness: Option<bool>,
}

/// Whether the agent may use subagents, and how many at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MultiAgentConfigParam {
    /// Whether it may.
    pub enabled: bool,
    /// At once, the coordinator not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent_subagents: Option<u64>,
}

/// How much the model thinks, and what of it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReasoningParam {
    /// Null: the model chooses.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub effort: Patch<ReasoningEffort>,
    /// Null: no summaries are asked for.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub summary: Patch<ReasoningSummary>,
}

/// The form of the agent's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentTextParam {
    /// Null: free text.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub format: Patch<TextFormat>,
    /// Null: medium.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub verbosity: Patch<Verbosity>,
}

impl CompactionParam {
    /// With its default filled in.
    pub fn resolved(self) -> Compaction {
        Compaction {
            is_async: self.is_async.unwrap_or_default(),
        }
    }
}

impl MultiAgentConfigParam {
    /// With its default filled in; a number beside `enabled: false` means nothing and is dropped.
    pub fn resolved(self) -> MultiAgentConfig {
        let most = self
            .max_concurrent_subagents
            .unwrap_or(MultiAgentConfig::DEFAULT_SUBAGENTS);
        MultiAgentConfig {
            enabled: self.enabled,
            max_concurrent_subagents: self.enabled.then_some(most),
        }
    }
}

impl AgentReasoningParam {
    /// Changes what is given.
    pub fn apply(self, to: &mut AgentReasoning) {
        self.effort.apply(&mut to.effort);
        self.summary.apply(&mut to.summary);
    }
}

impl AgentTextParam {
    /// Changes what is given.
    pub fn apply(self, to: &mut AgentText) {
        self.format.apply_or_default(&mut to.format);
        self.verbosity.apply_or_default(&mut to.verbosity);
    }
}

impl Read for AgentCreateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = AgentCreateParams {
            model: fields.required("model")?,
            compaction: fields.nullable("compaction")?,
            experimental: fields.optional("experimental")?,
            instructions: fields.nullable("instructions")?,
            metadata: fields.nullable("metadata")?,
            multi_agent: fields.nullable("multi_agent")?,
            name: fields.nullable("name")?,
            reasoning: fields.nullable("reasoning")?,
            service_tier: fields.nullable("service_tier")?,
            text: fields.nullable("text")?,
            tools: fields.nullable("tools")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for AgentUpdateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = AgentUpdateParams {
            compaction: fields.patch("compaction")?,
            experimental: fields.optional("experimental")?,
            instructions: fields.patch("instructions")?,
            metadata: fields.patch("metadata")?,
            model: fields.optional("model")?,
            multi_agent: fields.patch("multi_agent")?,
            name: fields.patch("name")?,
            reasoning: fields.patch("reasoning")?,
            service_tier: fields.patch("service_tier")?,
            text: fields.patch("text")?,
            tools: fields.patch("tools")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for CompactionParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let param = CompactionParam {
            is_async: fields.nullable("async")?,
        };
        fields.end()?;
        Ok(param)
    }
}

impl Read for ExperimentalParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let param = ExperimentalParam {
            time_awareness: fields.optional("time_awareness")?,
        };
        fields.end()?;
        Ok(param)
    }
}

impl Read for MultiAgentConfigParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let param = MultiAgentConfigParam {
            enabled: fields.required("enabled")?,
            max_concurrent_subagents: fields.optional("max_concurrent_subagents")?,
        };
        fields.end()?;
        Ok(param)
    }
}

impl Read for AgentReasoningParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let param = AgentReasoningParam {
            effort: fields.patch("effort")?,
            summary: fields.patch("summary")?,
        };
        fields.end()?;
        Ok(param)
    }
}

impl Read for AgentTextParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let param = AgentTextParam {
            format: fields.patch("format")?,
            verbosity: fields.patch("verbosity")?,
        };
        fields.end()?;
        Ok(param)
    }
}

words! {
    /// The `type` of a text format.
    enum TextFormatKind {
        Text = "text",
        JsonSchema = "json_schema",
    }
}

impl Read for TextFormat {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields: Fields = node.fields()?;
        let format = match fields.required("type")? {
            TextFormatKind::Text => TextFormat::Text,
            TextFormatKind::JsonSchema => TextFormat::JsonSchema {
                schema: fields.required::<Map<String, Value>>("schema")?,
            },
        };
        fields.end()?;
        Ok(format)
    }
}
