//! A model behind any server that speaks the Responses API: `POST {base_url}/responses`, streamed, nothing stored there.
//!
//! Servers differ in what they send and in what they accept. What they leave out is done without. Fields that only some know
//! (`include`, `prompt_cache_key`, `phase`) are sent until the server refuses one by name; from then on this model does without it.

mod address;
pub(in crate::backend) mod caller;
pub(in crate::backend) mod events;
pub(in crate::backend) mod failure;
mod request;
mod stream;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};

use self::caller::{Caller, Posted};
use crate::api::TurnErrorCode;
use crate::backend::key::KeySource;
use crate::engine::ports::{Model, ModelError, ModelRequest, ModelStream};

/// Where and how to call.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Such as `https://api.openai.com/v1`; `/responses` is added.
    pub base_url: String,
    /// Where the key comes from.
    pub key: KeySource,
    /// How long connecting may take.
    pub connect_timeout_ms: u64,
    /// How long nothing at all may come: not the beginning of the answer, not one byte of the stream.
    pub idle_timeout_ms: u64,
}

impl HttpOptions {
    /// With the usual timeouts.
    pub fn new(base_url: impl Into<String>, key: KeySource) -> HttpOptions {
        HttpOptions {
            base_url: base_url.into(),
            key,
            connect_timeout_ms: 10_000,
            idle_timeout_ms: 300_000,
        }
    }
}

/// Why there can be no such model: the operator must mend the configuration or the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpModelError {
    /// Not an `http` or `https` address.
    #[error("base_url '{url}' can't be used: {reason}")]
    BaseUrl {
        /// As configured, without a password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// TLS could not be set up.
    #[error(
        "a client for '{url}' can't be made: {reason}; are the system's CA certificates installed?"
    )]
    Client {
        /// As configured, without a password.
        url: String,
        /// The library's reason.
        reason: String,
    },
}

/// A model behind a server.
pub struct HttpModel {
    caller: Caller,
    /// Optional fields that the server refused.
    without: Mutex<BTreeSet<&'static str>>,
}

impl HttpModel {
    /// Prepares the client; nothing is sent, and no key is read.
    pub fn new(options: HttpOptions) -> Result<HttpModel, HttpModelError> {
        Ok(HttpModel {
            caller: Caller::new(options)?,
            without: Mutex::default(),
        })
    }

    /// One answer with a good status, or the error to report.
    async fn open(&self, request: &ModelRequest) -> Result<Posted, ModelError> {
        let headers = HeaderMap::from_iter([
            (ACCEPT, HeaderValue::from_static("text/event-stream")),
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        ]);
        loop {
            let posted = self.caller.post(&headers, self.body(request)?).await?;
            let status = posted.response.status().as_u16();
            if posted.response.status().is_success() {
                return Ok(posted);
            }
            let failed = self.caller.failed(posted).await;
            if matches!(status, 400 | 422) && self.give_up_field(&failed.body) {
                continue;
            }
            return Err(failed.error());
        }
    }

    fn body(&self, request: &ModelRequest) -> Result<Bytes, ModelError> {
        let without = self.without.lock().unwrap_or_else(PoisonError::into_inner);
        let body = request::body(request, &without);
        body.map(Bytes::from).map_err(|error| {
            let message = format!("the request can't be written: {error}");
            failure::failed(TurnErrorCode::InternalError, false, message)
        })
    }

    /// Whether the answer names an optional field that was sent; it is not sent any more.
    fn give_up_field(&self, body: &str) -> bool {
        let mut without = self.without.lock().unwrap_or_else(PoisonError::into_inner);
        let named = request::OPTIONAL
            .into_iter()
            .find(|field| !without.contains(field) && request::names(body, field));
        if let Some(field) = named {
            tracing::info!(
                field,
                server = self.caller.name(),
                "the model server refuses this field; going on without it"
            );
            without.insert(field);
        }
        named.is_some()
    }
}

#[async_trait]
impl Model for HttpModel {
    async fn call(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let Posted { response, key } = self.open(&request).await?;
        let kind = response.headers().get(CONTENT_TYPE).cloned();
        let kind = kind
            .as_ref()
            .map_or("", |kind: &HeaderValue| kind.to_str().unwrap_or_default());
        if kind.starts_with("text/html") {
            return Err(self.caller.web_page());
        }
        let idle = self.caller.idle();
        if kind.starts_with("application/json") {
            return stream::whole(response, key, idle).await;
        }
        Ok(stream::events(response, key, idle))
    }

    fn name(&self) -> String {
        self.caller.name().to_owned()
    }
}
