//! What an agent is answered that gets no stream. Bodies have the provider's form, so that the agent reads them as it reads a provider's.

use std::time::Duration;

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

/// Longer than this nobody is kept waiting.
const PAUSE_MAX: Duration = Duration::from_secs(60);

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
            Refusal::NoSuchPlace => (404, "not_found", "there is no such place here"),
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

/// The answer for a model call that failed. The agent repeats what is answered with 503 and nothing that is answered with 400, whatever the
/// provider's own status was: agents repeat a refused key as if it were a passing failure, and give up at once where they should wait.
pub fn failed(error: &ModelError) -> Response {
    let status = if error.retryable { 503 } else { 400 };
    with(status, &error.code, &error.message, error.retry_after_ms)
}

/// How long the answer for a model call that failed is held back: as long as the provider said, because the agent may not know how to wait.
pub fn pause(error: &ModelError) -> Duration {
    let asked_ms = error.retry_after_ms.filter(|_| error.retryable);
    Duration::from_millis(asked_ms.unwrap_or(0)).min(PAUSE_MAX)
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
        assert_eq!(failed(&error(true)).status(), 503);
        assert_eq!(failed(&error(false)).status(), 400);
    }

    #[test]
    fn only_what_is_repeated_is_waited_for_and_never_for_long() {
        assert_eq!(pause(&error(true)), Duration::from_millis(1_001));
        assert_eq!(pause(&error(false)), Duration::ZERO);
        let hours = ModelError {
            retry_after_ms: Some(u64::MAX),
            ..error(true)
        };
        assert_eq!(pause(&hours), PAUSE_MAX);
    }

    #[test]
    fn a_wait_is_never_told_shorter_than_it_is() {
        let response = failed(&error(true));
        assert_eq!(response.headers()[RETRY_AFTER_MS], "1001");
        assert_eq!(response.headers()[RETRY_AFTER], "2");
    }
}
