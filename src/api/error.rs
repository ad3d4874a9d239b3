//! The error that every face answers with, and its envelope on the wire.
//!
//! One surprising thing: the HTTP status is part of the value but not of the envelope; it travels in the status line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// A refusal or failure as the Agents API tells it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// HTTP status.
    pub status: u16,
    /// The envelope's `type`: the family of the error.
    pub kind: String,
    /// The machine code, one of those the contract publishes.
    pub code: Option<String>,
    /// In words, for a person.
    pub message: String,
    /// The request field at fault, as a path such as `environment.files[0].data`.
    pub param: Option<String>,
}

/// The body of an error answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorEnvelope {
    /// The error.
    pub error: ErrorBody,
}

/// What stands under `error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// In words.
    pub message: String,
    /// The family of the error.
    #[serde(rename = "type")]
    pub kind: String,
    /// The machine code.
    #[serde(default)]
    pub code: Option<String>,
    /// The request field at fault.
    #[serde(default)]
    pub param: Option<String>,
}

impl ApiError {
    /// An error whose type and code are the same word.
    pub fn new(status: u16, code: &str, message: impl Into<String>) -> ApiError {
        ApiError {
            status,
            kind: code.to_owned(),
            code: Some(code.to_owned()),
            message: message.into(),
            param: None,
        }
    }

    /// 400: the request is wrong, at `param` (empty: as a whole). Nothing was changed.
    pub fn invalid_request(param: &str, message: impl Into<String>) -> ApiError {
        let mut error = ApiError::new(400, "invalid_request_error", message);
        error.param = (!param.is_empty()).then(|| param.to_owned());
        error
    }

    /// 400: an Agent that belongs to one Session was used as a saved one.
    pub fn agent_not_persisted(agent_id: &str) -> ApiError {
        let message = format!("Agent '{agent_id}' belongs to one Session and is not saved.");
        ApiError {
            param: Some("agent_id".to_owned()),
            kind: "invalid_request_error".to_owned(),
            ..ApiError::new(400, "agent_not_persisted", message)
        }
    }

    /// 400, with the exact words on which the SDKs repeat a tool result that came before its call.
    pub fn unknown_tool_call(call_id: &str) -> ApiError {
        ApiError::new(
            400,
            "invalid_request_error",
            format!("Unknown pending tool call: {call_id}"),
        )
    }

    /// 401: the caller is not known.
    pub fn unauthorized(message: impl Into<String>) -> ApiError {
        ApiError::new(401, "unauthorized", message)
    }

    /// 403: the caller is known and may not.
    pub fn forbidden(message: impl Into<String>) -> ApiError {
        ApiError::new(403, "forbidden", message)
    }

    /// 404. `what` names it, such as `Session 'sess_…'`; what belongs to someone else is not found either.
    pub fn not_found(what: &str) -> ApiError {
        ApiError::new(404, "not_found_error", format!("{what} was not found."))
    }

    /// 409: the state does not allow it; nothing was changed.
    pub fn conflict(message: impl Into<String>) -> ApiError {
        ApiError::new(409, "conflict_error", message)
    }

    /// 409: an idempotency key was used before with another body; both digests are named.
    pub fn idempotency_mismatch(key: &str, earlier_digest: &str, this_digest: &str) -> ApiError {
        ApiError::conflict(format!(
            "Idempotency key '{key}' was used before with another body: \
             digest {earlier_digest} then, {this_digest} now."
        ))
    }

    /// 413: the body is larger than this server reads.
    pub fn too_large(limit_bytes: u64) -> ApiError {
        ApiError {
            status: 413,
            ..ApiError::invalid_request(
                "",
                format!("The request body is larger than {limit_bytes} bytes."),
            )
        }
    }

    /// 429: the caller asks too often; nothing was changed.
    pub fn rate_limited(per_second: u32) -> ApiError {
        let message =
            format!("More than {per_second} requests a second; try again a little later.");
        ApiError {
            kind: "rate_limit_error".to_owned(),
            ..ApiError::new(429, "rate_limit_exceeded", message)
        }
    }

    /// 500: our fault.
    pub fn internal(message: impl Into<String>) -> ApiError {
        ApiError::new(500, "internal_error", message)
    }

    /// 503: try again later; nothing was changed.
    pub fn unavailable(message: impl Into<String>) -> ApiError {
        ApiError::new(503, "service_unavailable_error", message)
    }

    /// The body to answer with.
    pub fn envelope(&self) -> ErrorEnvelope {
        ErrorEnvelope {
            error: ErrorBody {
                message: self.message.clone(),
                kind: self.kind.clone(),
                code: self.code.clone(),
                param: self.param.clone(),
            },
        }
    }

    /// The error in an answer of another server, read as the SDKs do: the inner `error` object if there is one, else the
    /// whole body; text that is no JSON becomes the message.
    pub fn from_reply(status: u16, body: &[u8]) -> ApiError {
        let parsed: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let inner = parsed.get("error").unwrap_or(&parsed);
        let word = |name: &str| inner.get(name).and_then(|v| v.as_str()).map(str::to_owned);
        let message = word("message")
            .or_else(|| inner.as_str().map(str::to_owned))
            .or_else(|| match String::from_utf8_lossy(body).trim() {
                "" => None,
                text => Some(text.chars().take(1_000).collect()),
            });
        ApiError {
            status,
            kind: word("type").unwrap_or_else(|| "api_error".to_owned()),
            code: word("code"),
            message: message.unwrap_or_else(|| format!("status {status} without a body")),
            param: word("param"),
        }
    }
}

/// Serialises as the envelope, so that an error can be answered as it is.
impl Serialize for ApiError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.envelope().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn envelope(error: &ApiError) -> String {
        serde_json::to_string(error).expect("an error serialises")
    }

    #[test]
    fn the_envelope_always_has_its_four_keys() {
        assert_eq!(
            envelope(&ApiError::invalid_request("agent.model", "No.")),
            r#"{"error":{"message":"No.","type":"invalid_request_error","code":"invalid_request_error","param":"agent.model"}}"#
        );
        assert_eq!(
            envelope(&ApiError::not_found("Session 'sess_1'")),
            r#"{"error":{"message":"Session 'sess_1' was not found.","type":"not_found_error","code":"not_found_error","param":null}}"#
        );
    }

    #[test]
    fn each_kind_has_its_status_and_code() {
        for (error, status, code) in [
            (
                ApiError::invalid_request("", "m"),
                400,
                "invalid_request_error",
            ),
            (
                ApiError::agent_not_persisted("agent_1"),
                400,
                "agent_not_persisted",
            ),
            (
                ApiError::unknown_tool_call("call_1"),
                400,
                "invalid_request_error",
            ),
            (ApiError::unauthorized("m"), 401, "unauthorized"),
            (ApiError::forbidden("m"), 403, "forbidden"),
            (ApiError::not_found("It"), 404, "not_found_error"),
            (ApiError::conflict("m"), 409, "conflict_error"),
            (
                ApiError::idempotency_mismatch("k", "a", "b"),
                409,
                "conflict_error",
            ),
            (ApiError::too_large(10), 413, "invalid_request_error"),
            (ApiError::rate_limited(5), 429, "rate_limit_exceeded"),
            (ApiError::internal("m"), 500, "internal_error"),
            (ApiError::unavailable("m"), 503, "service_unavailable_error"),
        ] {
            assert_eq!((error.status, error.code.as_deref()), (status, Some(code)));
        }
    }

    #[test]
    fn an_early_tool_result_is_refused_in_the_words_the_sdks_repeat_it_for() {
        assert_eq!(
            ApiError::unknown_tool_call("call_1").message,
            "Unknown pending tool call: call_1"
        );
    }

    #[test]
    fn a_mismatch_names_both_digests() {
        let message = ApiError::idempotency_mismatch("k1", "aaaa", "bbbb").message;
        assert!(message.contains("'k1'") && message.contains("aaaa") && message.contains("bbbb"));
    }

    #[test]
    fn an_error_survives_the_way_to_a_client() {
        let error = ApiError::invalid_request("agent.model", "No.");
        assert_eq!(
            ApiError::from_reply(400, envelope(&error).as_bytes()),
            error
        );
        let back: ErrorEnvelope = serde_json::from_str(&envelope(&error)).expect("an envelope");
        assert_eq!(back, error.envelope());
    }

    #[test]
    fn answers_of_other_servers_are_read_as_the_sdks_do() {
        let check = |body: &[u8], message: &str, code: Option<&str>| {
            let error = ApiError::from_reply(502, body);
            assert_eq!(
                (error.status, error.message.as_str(), error.code.as_deref()),
                (502, message, code)
            );
        };
        check(br#"{"message": "m", "code": "c"}"#, "m", Some("c"));
        check(br#"{"error": "plain"}"#, "plain", None);
        check(b"Bad gateway\n", "Bad gateway", None);
        check(b"", "status 502 without a body", None);
        check(b"\xff", "\u{fffd}", None);
    }
}
