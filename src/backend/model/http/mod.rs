//! A model behind any server that speaks the Responses API: `POST {base_url}/responses`, streamed, nothing stored there.
//!
//! Servers differ in what they send and in what they accept. What they leave out is done without. Fields that only some know
//! (`include`, `prompt_cache_key`, `phase`) are sent until the server refuses one by name; from then on this model does without it.

mod address;
mod events;
mod failure;
mod request;
mod stream;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, Url};

use self::failure::Complaint;
use crate::api::{Secret, TurnErrorCode, Words};
use crate::backend::key::{KeyError, KeySource, Keys};
use crate::backend::outbound::{self, causes, shown};
use crate::backend::retry_after;
use crate::engine::ports::{Model, ModelError, ModelRequest, ModelStream};

/// A failed answer is read up to this.
const FAILURE_LIMIT_BYTES: usize = 64 << 10;

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
    client: Client,
    url: Url,
    name: String,
    keys: Keys,
    idle: Duration,
    /// Optional fields that the server refused.
    without: Mutex<BTreeSet<&'static str>>,
}

impl HttpModel {
    /// Prepares the client; nothing is sent, and no key is read.
    pub fn new(options: HttpOptions) -> Result<HttpModel, HttpModelError> {
        let url = address::endpoint(&options.base_url)?;
        let name = shown(&options.base_url);
        let client = outbound::client(&url, options.connect_timeout_ms)
            .build()
            .map_err(|error| HttpModelError::Client {
                url: name.clone(),
                reason: causes(&error),
            })?;
        Ok(HttpModel {
            client,
            url,
            name,
            keys: Keys::new(options.key),
            idle: Duration::from_millis(options.idle_timeout_ms),
            without: Mutex::default(),
        })
    }

    /// One answer with a good status, or the error to report.
    async fn open(&self, request: &ModelRequest) -> Result<(Response, Option<Secret>), ModelError> {
        let mut key = self.keys.get().await?;
        let mut renewed = false;
        loop {
            let response = self.send(request, key.as_ref()).await?;
            if response.status().is_success() {
                return Ok((response, key));
            }
            if response.status() == 401
                && !std::mem::replace(&mut renewed, true)
                && let Some(refused) = &key
                && let Some(other) = self.keys.renew(refused).await?
            {
                key = Some(other);
                continue;
            }
            let status = response.status().as_u16();
            let retry_after_ms = retry_after::retry_after_ms(response.headers());
            let body = self.failed_body(response).await;
            if matches!(status, 400 | 422) && self.give_up_field(&body) {
                continue;
            }
            return Err(Complaint::of_body(status, &body).error(key.as_ref(), retry_after_ms));
        }
    }

    async fn send(
        &self,
        request: &ModelRequest,
        key: Option<&Secret>,
    ) -> Result<Response, ModelError> {
        let mut post = self
            .client
            .post(self.url.clone())
            .header(ACCEPT, "text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(self.body(request)?);
        if let Some(key) = key {
            post = post.bearer_auth(key.reveal());
        }
        match tokio::time::timeout(self.idle, post.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(connection(error)),
            Err(_) => Err(idle(self.idle)),
        }
    }

    fn body(&self, request: &ModelRequest) -> Result<Bytes, ModelError> {
        let without = self.without.lock().unwrap_or_else(PoisonError::into_inner);
        let body = request::body(request, &without);
        body.map(Bytes::from).map_err(|error| ModelError {
            code: TurnErrorCode::InternalError.to_string(),
            message: format!("the request can't be written: {error}"),
            retryable: false,
            retry_after_ms: None,
        })
    }

    async fn failed_body(&self, mut response: Response) -> String {
        let mut body = Vec::new();
        while let Ok(Ok(Some(chunk))) = tokio::time::timeout(self.idle, response.chunk()).await {
            body.extend_from_slice(&chunk);
            if body.len() >= FAILURE_LIMIT_BYTES {
                body.truncate(FAILURE_LIMIT_BYTES);
                break;
            }
        }
        String::from_utf8_lossy(&body).into_owned()
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
                server = self.name,
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
        let (response, key) = self.open(&request).await?;
        let kind = response.headers().get(CONTENT_TYPE).cloned();
        let kind = kind
            .as_ref()
            .map_or("", |kind: &HeaderValue| kind.to_str().unwrap_or_default());
        if kind.starts_with("text/html") {
            return Err(failed(
                TurnErrorCode::InvalidRequest,
                false,
                format!("{} answered with a web page: is base_url right?", self.name),
            ));
        }
        if kind.starts_with("application/json") {
            return stream::whole(response, key, self.idle).await;
        }
        Ok(stream::events(response, key, self.idle))
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

fn connection(error: reqwest::Error) -> ModelError {
    let error = error.without_url();
    if error.is_builder() {
        return failed(TurnErrorCode::InvalidRequest, false, causes(&error));
    }
    let doing = if error.is_connect() {
        "the model provider could not be reached"
    } else {
        "the connection to the model provider broke"
    };
    failed(
        TurnErrorCode::ConnectionFailed,
        true,
        format!("{doing}: {}", causes(&error)),
    )
}

fn idle(after: Duration) -> ModelError {
    failed(
        TurnErrorCode::RequestTimeout,
        true,
        format!(
            "nothing came from the model provider for {} ms",
            after.as_millis()
        ),
    )
}

fn failed(code: TurnErrorCode, retryable: bool, message: String) -> ModelError {
    ModelError {
        code: code.as_str().to_owned(),
        message: failure::bounded(&message),
        retryable,
        retry_after_ms: None,
    }
}

impl From<KeyError> for ModelError {
    fn from(error: KeyError) -> Self {
        failed(
            TurnErrorCode::AuthenticationError,
            false,
            format!("no key for the model provider: {error}"),
        )
    }
}
