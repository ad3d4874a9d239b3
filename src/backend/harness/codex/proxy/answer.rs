//! What an agent is answered that gets no stream. Bodies have the provider's form, so that the agent reads them as it reads a provider's.

use axum::body::Body;
use axum::http::{HeaderName, StatusCode};
use axum::response::Response;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::json;

use super::admission::Shut;
use crate::api::{TurnErrorCode, Words};
use crate::engine::ports::ModelError;

/// Milliseconds to wait, for clients that know it.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// A refusal of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing but model calls.
    NoSuchPlace,
    /// The token opens nothing.
    Shut(Shut),
    /// The run ended while it asked.
    Ended,
    /// The body is larger than a request may be.
    TooLarge,
    /// The body did not come.
    TooSlow,
    /// The body is no request.
    NoRequest,
}

impl Refusal {
    /// The answer.
    pub fn response(self) -> Response {
        let (status, code, message) = match self {
            Refusal::NoSuchPlace => (404, "not_found", "there is nothing but POST /v1/responses"),
            Refusal::Shut(Shut::Unknown) => (401, "invalid_api_key", "this token opens nothing"),
            Refusal::Shut(Shut::Superseded) => (403, "fenced", "a newer run owns this Session"),
            Refusal::Ended => (403, "fenced", "this run is over"),
            Refusal::TooLarge => (413, "request_too_large", "the request is too large"),
            Refusal::TooSlow => (
                408,
                "request_timeout",
                "the request did not come to its end",
            ),
            Refusal::NoRequest => (400, "invalid_request", "the body is no model request"),
        };
        with(status, code, message, None)
    }
}

/// The error to report when a run has no model call left.
pub fn spent() -> ModelError {
    ModelError {
        code: TurnErrorCode::UsageLimitExceeded.as_str().to_owned(),
        message: "the Turn has made all the model calls that it may make".to_owned(),
        retryable: false,
        retry_after_ms: None,
    }
}

/// The answer for a model call that failed. `status` is what the provider said, if it said anything. What an agent would repeat in vain
/// gets a status that it does not repeat.
pub fn failed(error: &ModelError, status: Option<u16>) -> Response {
    let own = if error.retryable { 503 } else { 400 };
    // Whatever is no failure among a provider's answers (a redirect) must be one here.
    let status = status.filter(|status| *status >= 400).unwrap_or(own);
    with(status, &error.code, &error.message, error.retry_after_ms)
}

fn with(status: u16, code: &str, message: &str, retry_after_ms: Option<u64>) -> Response {
    let body = json!({"error": {"type": code, "code": code, "message": message}});
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        axum::http::HeaderValue::from_static("application/json"),
    );
    if let Some(ms) = retry_after_ms {
        headers.insert(RETRY_AFTER_MS, ms.into());
        headers.insert(RETRY_AFTER, ms.div_ceil(1_000).into());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(retryable: bool) -> ModelError {
        ModelError {
            code: "server_error".into(),
            message: "m".into(),
            retryable,
            retry_after_ms: Some(1_001),
        }
    }

    #[test]
    fn only_what_may_succeed_later_has_a_status_that_is_repeated() {
        for (retryable, status, expect) in [
            (true, None, 503),
            (false, None, 400),
            (true, Some(429), 429),
            (false, Some(401), 401),
            (false, Some(302), 400),
            (true, Some(200), 503),
        ] {
            assert_eq!(failed(&error(retryable), status).status(), expect);
        }
    }

    #[test]
    fn a_wait_is_never_told_shorter_than_it_is() {
        let response = failed(&error(true), Some(429));
        assert_eq!(response.headers()[RETRY_AFTER_MS], "1001");
        assert_eq!(response.headers()[RETRY_AFTER], "2");
    }
}
