//! Strict reading of requests about Sessions.

use crate::api::strict::{Node, Read};
use crate::api::{
    ApiError, PromptCacheOptionsParam, ReasoningEffortParam, SessionAgentParams,
    SessionAgentUpdateParams, SessionCreateParams, SessionInput, SessionUpdateParams,
    SpendControlParam, StreamOptions,
};

impl Read for SessionCreateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = SessionCreateParams {
            environment: fields.required("environment")?,
            agent: fields.optional("agent")?,
            agent_id: fields.optional("agent_id")?,
            input: fields.nullable("input")?,
            metadata: fields.nullable("metadata")?,
            prompt_cache_options: fields.nullable("prompt_cache_options")?,
            review: fields.optional("review")?,
            spend_control: fields.nullable("spend_control")?,
            stream: fields.optional("stream")?,
            stream_options: fields.optional("stream_options")?,
            vault_ids: fields.nullable("vault_ids")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for SessionAgentParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = SessionAgentParams {
            compaction: fields.patch("compaction")?,
            experimental: fields.optional("experimental")?,
            harness: fields.patch("harness")?,
            instructions: fields.patch("instructions")?,
            model: fields.optional("model")?,
            multi_agent: fields.patch("multi_agent")?,
            reasoning: fields.patch("reasoning")?,
            service_tier: fields.patch("service_tier")?,
            text: fields.patch("text")?,
            tools: fields.patch("tools")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for SessionInput {
    fn read(node: Node) -> Result<Self, ApiError> {
        node.text_or_array(SessionInput::Text, SessionInput::Messages)
    }
}

impl Read for PromptCacheOptionsParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let options = PromptCacheOptionsParam {
            ttl: fields.optional("ttl")?,
        };
        fields.end()?;
        Ok(options)
    }
}

impl Read for SpendControlParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let control = SpendControlParam {
            limit: fields.required_nullable("limit")?,
        };
        fields.end()?;
        Ok(control)
    }
}

impl Read for StreamOptions {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let options = StreamOptions {
            include_obfuscation: fields.optional("include_obfuscation")?,
        };
        fields.end()?;
        Ok(options)
    }
}

impl Read for SessionUpdateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = SessionUpdateParams {
            agent: fields.optional("agent")?,
            metadata: fields.patch("metadata")?,
            prompt_cache_options: fields.patch("prompt_cache_options")?,
            review: fields.optional("review")?,
            spend_control: fields.patch("spend_control")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for SessionAgentUpdateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = SessionAgentUpdateParams {
            model: fields.optional("model")?,
            reasoning: fields.optional("reasoning")?,
            service_tier: fields.patch("service_tier")?,
            tools: fields.patch("tools")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for ReasoningEffortParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let param = ReasoningEffortParam {
            effort: fields.patch("effort")?,
        };
        fields.end()?;
        Ok(param)
    }
}
