//! Strict reading of requests about Agents.

use serde_json::{Map, Value};

use crate::api::strict::{Node, Read};
use crate::api::words::words;
use crate::api::{
    AgentCreateParams, AgentReasoningParam, AgentTextParam, AgentUpdateParams, ApiError,
    CompactionParam, ExperimentalParam, MultiAgentConfigParam, TextFormat,
};

impl Read for AgentCreateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = AgentCreateParams {
            model: fields.required("model")?,
            compaction: fields.nullable("compaction")?,
            experimental: fields.optional("experimental")?,
            harness: fields.nullable("harness")?,
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
            harness: fields.patch("harness")?,
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
            effort: fields.nullable("effort")?,
            summary: fields.nullable("summary")?,
        };
        fields.end()?;
        Ok(param)
    }
}

impl Read for AgentTextParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let param = AgentTextParam {
            format: fields.nullable("format")?,
            verbosity: fields.nullable("verbosity")?,
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
        let mut fields = node.fields()?;
        let format = match fields.tag("type")? {
            TextFormatKind::Text => TextFormat::Text,
            TextFormatKind::JsonSchema => TextFormat::JsonSchema {
                schema: fields.required::<Map<String, Value>>("schema")?,
            },
        };
        fields.end()?;
        Ok(format)
    }
}
