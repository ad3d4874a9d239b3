//! From what a provider answers when it fails, or fails to answer, to one of the Agents API's turn error codes. Pure.

use std::time::Duration;

use serde_json::Value;

use crate::api::{Secret, TurnErrorCode, Words};
use crate::backend::key::KeyError;
use crate::backend::model::scrub::scrub;
use crate::backend::outbound::causes;
use crate::engine::ports::ModelError;

/// A provider's message is cut to this.
const MESSAGE_LIMIT_BYTES: usize = 2 << 10;

/// What a provider says about a failure, as far as it says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// HTTP status, unless the failure came within a stream.
    pub status: Option<u16>,
    /// `error.code`.
    pub code: String,
    /// `error.type`.
    pub kind: String,
    /// In words.
    pub message: String,
}

impl Complaint {
    /// Reads a failed answer's body, of whatever form.
    pub fn of_body(status: u16, body: &str) -> Complaint {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Complaint {
                status: Some(status),
                ..Complaint::of_value(&value)
            },
            Err(_) => Complaint {
                status: Some(status),
                message: plain(body),
                ..Complaint::default()
            },
        }
    }

    /// Reads an error object, or something that holds one under `error`.
    pub fn of_value(value: &Value) -> Complaint {
        let error = match &value["error"] {
            Value::Null => value,
            error => error,
        };
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let message = match error {
            Value::String(text) => text.clone(),
            error => [&error["message"], &error["detail"], &value["detail"]]
                .into_iter()
                .find(|value| !value.is_null())
                .map(text)
                .unwrap_or_default(),
        };
        Complaint {
            status: None,
            code: text(&error["code"]),
            kind: text(&error["type"]),
            message,
        }
    }

    /// The error to report. `key` is what must not be in it.
    pub fn error(&self, key: Option<&Secret>, retry_after_ms: Option<u64>) -> ModelError {
        let (code, retryable) = self.classify();
        ModelError {
            code: code.as_str().to_owned(),
            message: self.words(key),
            retryable,
            retry_after_ms: retry_after_ms.or_else(|| asked_in_words(&self.message)),
        }
    }

    fn words(&self, key: Option<&Secret>) -> String {
        let message = bounded(&scrub(self.message.trim(), key));
        match (self.status, message.is_empty()) {
            (Some(status), true) => format!("the model provider answered with status {status}"),
            (Some(status), false) => format!("{message} (status {status})"),
            (None, true) => "the model provider reported a failure without a message".to_owned(),
            (None, false) => message,
        }
    }

    /// The code, and whether the same call may succeed later. What the provider names comes before what its status means.
    fn classify(&self) -> (TurnErrorCode, bool) {
        use TurnErrorCode as Code;
        let words = [&self.code, &self.kind, &self.message].map(|word| word.to_lowercase());
        let named = |parts: &[&str]| {
            parts
                .iter()
                .any(|part| words[0].contains(part) || words[1].contains(part))
        };
        let said = |parts: &[&str]| parts.iter().any(|part| words[2].contains(part));
        let status = self.status.unwrap_or(0);
        if named(&["context_length", "context_window"]) || (status == 400 && said(CONTEXT)) {
            return (Code::ContextLengthExceeded, false);
        }
        if named(&["insufficient_quota", "credit_balance", "billing_hard_limit"])
            || status == 402
            || (status == 429 && said(&["exceeded your current quota"]))
        {
            return (Code::CreditBalanceExhausted, false);
        }
        if named(&["billing_not_active"]) {
            return (Code::BillingNotActive, false);
        }
        if named(&["usage_limit_reached", "usage_limit_exceeded"]) {
            return (Code::UsageLimitExceeded, false);
        }
        if named(&["cyber_policy"]) {
            return (Code::CyberPolicy, false);
        }
        if named(&["misalignment_policy"]) {
            return (Code::MisalignmentPolicyViolation, false);
        }
        if status == 429
            && (named(&["resource_unavailable", "flex_unavailable"])
                || said(&["resource unavailable"]))
        {
            return (Code::FlexUnavailable, true);
        }
        if let Some(by_status) = by_status(status) {
            return by_status;
        }
        if named(&["rate_limit", "too_many_requests"]) {
            (Code::RateLimitExceeded, true)
        } else if named(&["overloaded", "slow_down", "unavailable"]) {
            (Code::ServerOverloaded, true)
        } else if named(&["authentication", "invalid_api_key", "permission"]) {
            (Code::AuthenticationError, false)
        } else if named(&["not_found"]) {
            (Code::ResourceNotFound, false)
        } else if named(&["timeout"]) {
            (Code::RequestTimeout, true)
        } else if named(&["invalid", "content_policy", "safety"]) {
            (Code::InvalidRequest, false)
        } else {
            (Code::ServerError, true)
        }
    }
}

/// How servers without codes say that the input is too long.
const CONTEXT: &[&str] = &[
    "context length",
    "context window",
    "maximum context",
    "context size",
    "prompt is too long",
    "too many tokens",
];

/// What a status means by itself; `None` for a failure within a stream.
fn by_status(status: u16) -> Option<(TurnErrorCode, bool)> {
    use TurnErrorCode as Code;
    Some(match status {
        0 => return None,
        401 | 403 => (Code::AuthenticationError, false),
        404 => (Code::ResourceNotFound, false),
        408 | 504 => (Code::RequestTimeout, true),
        409 | 425 => (Code::ServerError, true),
        413 => (Code::ContextLengthExceeded, false),
        429 => (Code::RateLimitExceeded, true),
        503 | 529 => (Code::ServerOverloaded, true),
        500.. => (Code::ServerError, true),
        _ => (Code::InvalidRequest, false),
    })
}

/// A body that is no JSON, as one line: proxies answer with whole web pages.
fn plain(body: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for c in body.chars().take(MESSAGE_LIMIT_BYTES) {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                text.push(' ');
            }
            _ if in_tag => {}
            c => text.push(c),
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most [`MESSAGE_LIMIT_BYTES`], cut between two characters.
pub fn bounded(text: &str) -> String {
    if text.len() <= MESSAGE_LIMIT_BYTES {
        return text.to_owned();
    }
    let cut = text.floor_char_boundary(MESSAGE_LIMIT_BYTES - '…'.len_utf8());
    format!("{}…", &text[..cut])
}

/// "Please try again in 1.5s": within a stream there is no header that could say it.
fn asked_in_words(message: &str) -> Option<u64> {
    let message = message.to_lowercase();
    let (_, rest) = message.split_once("try again in ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = rest[..digits].parse().ok()?;
    let unit = rest[digits..].trim_start();
    let factor = if unit.starts_with("ms") {
        1.0
    } else if unit.starts_with('s') {
        1_000.0
    } else if unit.starts_with('m') {
        60_000.0
    } else {
        return None;
    };
    // Rounding up: a wait may be longer than asked, never shorter. Casts of floats saturate.
    Some((number * factor).ceil() as u64)
}

/// The error to report when a connection can't be made or breaks.
pub fn connection(error: reqwest::Error) -> ModelError {
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

/// The error to report when nothing came for so long.
pub fn idle(after: Duration) -> ModelError {
    failed(
        TurnErrorCode::RequestTimeout,
        true,
        format!(
            "nothing came from the model provider for {} ms",
            after.as_millis()
        ),
    )
}

/// An error in our own words.
pub fn failed(code: TurnErrorCode, retryable: bool, message: String) -> ModelError {
    ModelError {
        code: code.as_str().to_owned(),
        message: bounded(&message),
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

/// The error to report when bytes of an answer were lost.
pub fn garbled() -> ModelError {
    failed(
        TurnErrorCode::ServerError,
        true,
        "the model provider sent something that can't be read".to_owned(),
    )
}

/// The error to report when an answer passes a bound.
pub fn too_large(message: String) -> ModelError {
    failed(TurnErrorCode::ServerError, false, message)
}

/// The error to report when an answer ends before it is complete.
pub fn cut_off() -> ModelError {
    failed(
        TurnErrorCode::ConnectionFailed,
        true,
        "the connection to the model provider ended before its answer was complete".to_owned(),
    )
}

/// The error to report when a server answers at once that was asked for a stream, and the stream is needed.
pub fn no_stream() -> ModelError {
    failed(
        TurnErrorCode::InvalidRequest,
        false,
        "the model provider does not stream its answer, which this agent needs".to_owned(),
    )
}

/// The error to report when an answer quotes the key that it was asked for with.
pub fn key_in_answer() -> ModelError {
    failed(
        TurnErrorCode::ServerError,
        false,
        "the model provider's answer holds its key; it was not passed on".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn check(complaint: &Complaint, code: &str, retryable: bool) {
        let error = complaint.error(None, None);
        assert_eq!(
            (error.code.as_str(), error.retryable),
            (code, retryable),
            "{complaint:?}"
        );
        assert!(
            TurnErrorCode::ALL
                .iter()
                .any(|known| known.as_str() == error.code)
        );
    }

    #[test]
    fn a_status_means_a_code_and_whether_to_try_again() {
        for (status, code, retryable) in [
            (302, "invalid_request", false),
            (400, "invalid_request", false),
            (401, "authentication_error", false),
            (402, "credit_balance_exhausted", false),
            (403, "authentication_error", false),
            (404, "resource_not_found", false),
            (408, "request_timeout", true),
            (409, "server_error", true),
            (413, "context_length_exceeded", false),
            (422, "invalid_request", false),
            (429, "rate_limit_exceeded", true),
            (500, "server_error", true),
            (502, "server_error", true),
            (503, "server_overloaded", true),
            (504, "request_timeout", true),
            (529, "server_overloaded", true),
            (599, "server_error", true),
        ] {
            check(&Complaint::of_body(status, ""), code, retryable);
        }
    }

    #[test]
    fn what_the_provider_names_comes_before_its_status() {
        for (status, body, code, retryable) in [
            (
                400,
                r#"{"error":{"code":"context_length_exceeded"}}"#,
                "context_length_exceeded",
                false,
            ),
            (
                400,
                r#"{"error":"maximum context length is 8192 tokens"}"#,
                "context_length_exceeded",
                false,
            ),
            (
                429,
                r#"{"error":{"code":"insufficient_quota"}}"#,
                "credit_balance_exhausted",
                false,
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota"}}"#,
                "credit_balance_exhausted",
                false,
            ),
            (
                429,
                r#"{"error":{"code":"billing_not_active"}}"#,
                "billing_not_active",
                false,
            ),
            (
                429,
                r#"{"error":{"type":"usage_limit_reached"}}"#,
                "usage_limit_exceeded",
                false,
            ),
            (
                429,
                r#"{"error":{"message":"Resource Unavailable"}}"#,
                "flex_unavailable",
                true,
            ),
            (
                400,
                r#"{"error":{"code":"cyber_policy_violation"}}"#,
                "cyber_policy",
                false,
            ),
            (
                500,
                r#"{"error":{"type":"rate_limit"}}"#,
                "server_error",
                true,
            ),
        ] {
            check(&Complaint::of_body(status, body), code, retryable);
        }
    }

    #[test]
    fn a_failure_within_a_stream_is_known_by_its_words() {
        for (value, code, retryable) in [
            (
                json!({"code": "rate_limit_exceeded"}),
                "rate_limit_exceeded",
                true,
            ),
            (
                json!({"error": {"code": "server_is_overloaded"}}),
                "server_overloaded",
                true,
            ),
            (
                json!({"error": {"type": "server_error"}}),
                "server_error",
                true,
            ),
            (json!({"code": "invalid_prompt"}), "invalid_request", false),
            (
                json!({"code": "model_not_found"}),
                "resource_not_found",
                false,
            ),
            (
                json!({"type": "authentication_error"}),
                "authentication_error",
                false,
            ),
            (json!({"code": "timeout"}), "request_timeout", true),
            (json!({"code": null, "message": "?"}), "server_error", true),
            (json!({"code": 500}), "server_error", true),
            (json!("odd"), "server_error", true),
        ] {
            check(&Complaint::of_value(&value), code, retryable);
        }
    }

    #[test]
    fn messages_are_found_in_every_form_and_say_the_status() {
        let message = |body| Complaint::of_body(400, body).error(None, None).message;
        for (body, expect) in [
            (r#"{"error":{"message":"no"}}"#, "no (status 400)"),
            (r#"{"error":"no"}"#, "no (status 400)"),
            (r#"{"message":"no"}"#, "no (status 400)"),
            (r#"{"detail":"no"}"#, "no (status 400)"),
            (
                r#"{"detail":[{"msg":"no"}]}"#,
                "[{\"msg\":\"no\"}] (status 400)",
            ),
            ("<html><b>no</b>\n way</html>", "no way (status 400)"),
            ("", "the model provider answered with status 400"),
            ("{}", "the model provider answered with status 400"),
        ] {
            assert_eq!(message(body), expect, "{body}");
        }
    }

    #[test]
    fn messages_are_bounded_and_hold_no_key() {
        let key = Secret::new("top-secret-key");
        let body = format!(
            r#"{{"error":{{"message":"bad top-secret-key {}"}}}}"#,
            "é".repeat(4_000)
        );
        let error = Complaint::of_body(401, &body).error(Some(&key), None);
        assert!(error.message.starts_with("bad [hidden] é"), "{error}");
        assert!(error.message.len() < MESSAGE_LIMIT_BYTES + 20);
    }

    #[test]
    fn a_wait_can_be_asked_for_in_words() {
        for (message, expect) in [
            ("Rate limit. Please try again in 1.5s.", Some(1_500)),
            ("try again in 28ms", Some(28)),
            ("Try again in 2m", Some(120_000)),
            ("try again in 20 seconds", Some(20_000)),
            ("try again in a while", None),
            ("try again in 3 hours", None),
            ("try again in 5", None),
            ("", None),
        ] {
            assert_eq!(asked_in_words(message), expect, "{message}");
        }
        let complaint = Complaint::of_value(&json!({"message": "try again in 5s"}));
        assert_eq!(complaint.error(None, Some(7)).retry_after_ms, Some(7));
        assert_eq!(complaint.error(None, None).retry_after_ms, Some(5_000));
    }
}
