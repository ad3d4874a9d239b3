//! One request to a Responses-API server with the key that its operator configured, whoever wrote the request.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Client, Response, Url};

use super::failure::{self, Complaint, connection, idle};
use super::{HttpModelError, HttpOptions, address};
use crate::api::{Secret, TurnErrorCode};
use crate::backend::key::Keys;
use crate::backend::outbound::{self, causes, shown};
use crate::backend::retry_after;
use crate::engine::ports::ModelError;

/// A failed answer is read up to this.
const FAILURE_LIMIT_BYTES: usize = 64 << 10;

/// Sends requests to one server.
pub struct Caller {
    client: Client,
    url: Url,
    name: String,
    keys: Keys,
    idle: Duration,
}

/// An answer, of whatever status.
pub struct Posted {
    /// Its head was read, its body was not.
    pub response: Response,
    /// The key that it was asked for with: what must not be in anything that is told of it.
    pub key: Option<Secret>,
}

/// What a server says that does not do as asked.
pub struct Failed {
    /// HTTP status.
    pub status: u16,
    /// As it came, cut to a bound. It may quote the key.
    pub body: String,
    key: Option<Secret>,
    retry_after_ms: Option<u64>,
}

impl Failed {
    /// The error to report.
    pub fn error(&self) -> ModelError {
        Complaint::of_body(self.status, &self.body).error(self.key.as_ref(), self.retry_after_ms)
    }
}

impl Caller {
    /// Prepares the client; nothing is sent, and no key is read.
    pub fn new(options: HttpOptions) -> Result<Caller, HttpModelError> {
        let url = address::endpoint(&options.base_url)?;
        let name = shown(&options.base_url);
        let client = outbound::client(&url, options.connect_timeout_ms)
            .build()
            .map_err(|error| HttpModelError::Client {
                url: name.clone(),
                reason: causes(&error),
            })?;
        Ok(Caller {
            client,
            url,
            name,
            keys: Keys::new(options.key),
            idle: Duration::from_millis(options.idle_timeout_ms),
        })
    }

    /// The base URL, without what may be secret in it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How long nothing at all may come.
    pub fn idle(&self) -> Duration {
        self.idle
    }

    /// Asks, and once more if the key is refused and there is another one by now.
    pub async fn post(&self, headers: &HeaderMap, body: Bytes) -> Result<Posted, ModelError> {
        let key = self.keys.get().await?;
        let response = self.send(headers, body.clone(), key.as_ref()).await?;
        if response.status() == 401
            && let Some(refused) = &key
            && let Some(other) = self.keys.renew(refused).await?
        {
            let response = self.send(headers, body, Some(&other)).await?;
            return Ok(Posted {
                response,
                key: Some(other),
            });
        }
        Ok(Posted { response, key })
    }

    async fn send(
        &self,
        headers: &HeaderMap,
        body: Bytes,
        key: Option<&Secret>,
    ) -> Result<Response, ModelError> {
        let mut post = self
            .client
            .post(self.url.clone())
            .headers(headers.clone())
            .body(body);
        if let Some(key) = key {
            post = post.bearer_auth(key.reveal());
        }
        match tokio::time::timeout(self.idle, post.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(connection(error)),
            Err(_) => Err(idle(self.idle)),
        }
    }

    /// Reads what an answer without a good status says.
    pub async fn failed(&self, posted: Posted) -> Failed {
        let Posted { mut response, key } = posted;
        let status = response.status().as_u16();
        let retry_after_ms = retry_after::retry_after_ms(response.headers());
        let mut body = Vec::new();
        while let Ok(Ok(Some(chunk))) = tokio::time::timeout(self.idle, response.chunk()).await {
            body.extend_from_slice(&chunk);
            if body.len() >= FAILURE_LIMIT_BYTES {
                body.truncate(FAILURE_LIMIT_BYTES);
                break;
            }
        }
        Failed {
            status,
            body: String::from_utf8_lossy(&body).into_owned(),
            key,
            retry_after_ms,
        }
    }

    /// The error to report for an answer that is a web page.
    pub fn web_page(&self) -> ModelError {
        failure::failed(
            TurnErrorCode::InvalidRequest,
            false,
            format!("{} answered with a web page: is base_url right?", self.name),
        )
    }
}
