//! The Model port: one streamed call of a Responses-API model.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use super::model_input::ModelItem;

/// One call of a Responses-API model. Cheap to clone: what is large is shared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelRequest {
    /// Model name, passed through.
    pub model: String,
    /// System instructions.
    pub instructions: Option<Arc<str>>,
    /// Input items, oldest first.
    pub input: Arc<Vec<ModelItem>>,
    /// Responses-API tools.
    pub tools: Arc<[serde_json::Value]>,
    /// Responses-API `reasoning` object.
    pub reasoning: Option<serde_json::Value>,
    /// Responses-API `text` object.
    pub text: Option<serde_json::Value>,
    /// Responses-API `service_tier`.
    pub service_tier: Option<String>,
    /// The same for every call of one Session: lets a provider reuse its cache.
    pub prompt_cache_key: Option<String>,
}

/// What a model stream yields.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// Text of the message that is being written.
    TextDelta(String),
    /// Text of a reasoning summary that is being written.
    ReasoningDelta {
        /// Its place among the item's summaries.
        summary: u64,
        /// The text.
        text: String,
    },
    /// A finished output item, exactly as the provider sent it.
    Item(serde_json::Value),
    /// The call is complete. Nothing follows.
    Done {
        /// The provider's id of the response.
        response_id: Option<String>,
        /// Tokens of this call.
        usage: Option<ModelUsage>,
        /// Why the output stops early (`max_output_tokens`, `content_filter`), if it does.
        incomplete: Option<String>,
    },
}

/// Tokens of one or more model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Tokens read.
    #[serde(rename = "i", alias = "input")]
    pub input: u64,
    /// Of those, from the provider's cache.
    #[serde(rename = "c", alias = "cached_input")]
    pub cached_input: u64,
    /// Tokens written.
    #[serde(rename = "o", alias = "output")]
    pub output: u64,
    /// Of those, reasoning.
    #[serde(rename = "r", alias = "reasoning")]
    pub reasoning: u64,
}

impl std::ops::AddAssign for ModelUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cached_input += other.cached_input;
        self.output += other.output;
        self.reasoning += other.reasoning;
    }
}

/// Why a model call failed. `retryable` ones have been retried by nobody yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// One of the Agents API's turn error codes (`rate_limit_exceeded`, `server_overloaded`, `authentication_error`, …).
    pub code: String,
    /// In words; never holds a key.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// What the provider asked to wait.
    pub retry_after_ms: Option<u64>,
}

/// Events of one call, ending with [`ModelEvent::Done`] or an error.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A model. Dropping the stream stops the call.
#[async_trait]
pub trait Model: Send + Sync {
    /// Starts one call.
    async fn call(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;

    /// Shown beside the Turn: `demo`, or the provider's base URL.
    fn name(&self) -> String;
}
