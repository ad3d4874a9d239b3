//! Checks that a body is refused, and how.

use pretty_assertions::assert_eq;
use rat_things::api::*;
use serde_json::{Value, json};

/// A body for a route, as its parser takes it; the answer is the refusal, if any.
pub type Parser = fn(&[u8]) -> Result<(), ApiError>;

pub const AGENT_CREATE: Parser = |body| parse_agent_create(body).map(drop);
pub const AGENT_UPDATE: Parser = |body| parse_agent_update(body).map(drop);
pub const SESSION_CREATE: Parser = |body| parse_session_create(body).map(drop);
pub const SESSION_UPDATE: Parser = |body| parse_session_update(body).map(drop);
pub const EVENTS: Parser = |body| parse_events(body).map(drop);

/// Checks that a body is refused with this `param` and message.
#[track_caller]
pub fn refused(parser: Parser, body: Value, param: &str, message: &str) {
    let text = body.to_string();
    let Err(error) = parser(text.as_bytes()) else {
        panic!("accepted: {text}");
    };
    assert_eq!(
        (error.param.as_deref().unwrap_or(""), error.message.as_str()),
        (param, message)
    );
    assert_eq!(
        (error.status, error.kind.as_str()),
        (400, "invalid_request_error")
    );
    assert_eq!(error.code.as_deref(), Some("invalid_request_error"));
}

/// Checks that a body is accepted.
#[track_caller]
pub fn accepted(parser: Parser, body: Value) {
    let text = body.to_string();
    if let Err(error) = parser(text.as_bytes()) {
        panic!("{error} ({:?}): {text}", error.param);
    }
}

/// A Session's body with this environment.
pub fn with_environment(environment: Value) -> Value {
    json!({"agent_id": "agent_1", "environment": environment})
}

/// A Session's body with these tools.
pub fn with_tools(tools: Value) -> Value {
    json!({"agent_id": "agent_1", "agent": {"tools": tools}, "environment": {"type": "openai_hosted"}})
}

/// A body with one input.
pub fn with_event(event: Value) -> Value {
    json!({"events": [event]})
}

/// The message of that refusal.
pub fn empty_string(param: &str) -> String {
    format!(
        "Invalid '{param}': empty string. \
         Expected a string with minimum length 1, but got an empty string instead."
    )
}

/// The message of that refusal.
pub fn empty_array(param: &str) -> String {
    format!(
        "Invalid '{param}': empty array. \
         Expected an array with minimum length 1, but got an empty array instead."
    )
}

/// The message of that refusal.
pub fn long_array(param: &str, max: usize) -> String {
    format!(
        "Invalid '{param}': array too long. Expected an array with maximum length {max}, \
         but got an array with length {} instead.",
        max + 1
    )
}
