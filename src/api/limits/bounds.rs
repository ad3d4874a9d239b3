//! The rules about values that a schema can say, by the field they hold for.
//!
//! The checks beside this file enforce them, over the same numbers; `tests/it/api/schema.rs` goes to each bound and one step beyond.
//! Rules that look at more than one field, and sizes in bytes, are not here: a schema can't say them.

use serde_json::{Value, json};

use super::environment::{
    MAX_ALLOWED_DOMAINS, MAX_CAPABILITY_DIRECTORIES, MAX_FILES, MAX_INLINE_FILE_CHARS,
};
use super::input::MAX_LOGIN_FIELDS;
use super::tool::{MAX_NAME_CHARS, MAX_SEARCH_DOMAINS};
use super::{
    MAX_INPUT_TEXT_BYTES, MAX_METADATA_KEY_CHARS, MAX_METADATA_PAIRS, MAX_METADATA_VALUE_CHARS,
};

/// A rule about the value of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Text that is not empty.
    NotEmpty,
    /// Text of at most so many characters.
    Chars(usize),
    /// The name of a function: so many letters, digits, `_` and `-` at most.
    Name(usize),
    /// A path that begins with this and holds no NUL.
    Below(&'static str),
    /// An array of at most so many elements.
    Count(usize),
    /// An array that is not empty.
    Some,
    /// Text or an array, not empty.
    TextOrSome,
    /// A number from 1 on.
    Positive,
    /// Metadata.
    Metadata,
    /// Names of variables.
    Variables,
}

impl Bound {
    /// Says it in a schema of the field's value; null, where it is allowed, stays so.
    pub fn add_to(self, schema: &mut Value) {
        let keywords = match self {
            Bound::NotEmpty => json!({"minLength": 1}),
            Bound::Chars(max) => json!({"maxLength": max}),
            Bound::Name(max) => json!({"pattern": format!("^[a-zA-Z0-9_-]{{1,{max}}}$")}),
            Bound::Below(start) => json!({"pattern": format!("^{start}[^\\u0000]*$")}),
            Bound::Count(max) => json!({"maxItems": max}),
            Bound::Some => json!({"minItems": 1}),
            Bound::TextOrSome => json!({"minLength": 1, "minItems": 1}),
            Bound::Positive => json!({"minimum": 1}),
            Bound::Metadata => json!({
                "maxProperties": MAX_METADATA_PAIRS,
                "propertyNames": {"maxLength": MAX_METADATA_KEY_CHARS},
                "additionalProperties": {"type": "string", "maxLength": MAX_METADATA_VALUE_CHARS},
            }),
            Bound::Variables => json!({"propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}}),
        };
        let Value::Object(keywords) = keywords else {
            return;
        };
        for (keyword, value) in keywords {
            schema[keyword] = value;
        }
    }
}

/// The bound of a field of a request's type, both under the names that schemas have for them.
pub fn bound(of: &str, field: &str) -> Option<Bound> {
    let found = BOUNDS
        .iter()
        .find(|(name, at, _)| (*name, *at) == (of, field));
    found.map(|(_, _, bound)| *bound)
}

/// All of them: type, field, bound.
pub const BOUNDS: &[(&str, &str, Bound)] = &[
    ("AgentCreateParams", "model", Bound::NotEmpty),
    ("AgentCreateParams", "metadata", Bound::Metadata),
    ("AgentUpdateParams", "model", Bound::NotEmpty),
    ("AgentUpdateParams", "metadata", Bound::Metadata),
    ("SessionCreateParams", "agent_id", Bound::NotEmpty),
    ("SessionCreateParams", "metadata", Bound::Metadata),
    ("SessionCreateParams", "input", Bound::TextOrSome),
    ("SessionUpdateParams", "metadata", Bound::Metadata),
    ("SessionAgentParams", "model", Bound::NotEmpty),
    ("SessionAgentUpdateParams", "model", Bound::NotEmpty),
    ("SpendControlParam", "limit", Bound::Positive),
    ("AgentToolParam", "name", Bound::Name(MAX_NAME_CHARS)),
    ("AgentToolParam", "server_label", Bound::NotEmpty),
    (
        "AgentToolParam",
        "allowed_domains",
        Bound::Count(MAX_SEARCH_DOMAINS),
    ),
    (
        "PersistedAgentToolParam",
        "name",
        Bound::Name(MAX_NAME_CHARS),
    ),
    ("PersistedAgentToolParam", "server_label", Bound::NotEmpty),
    (
        "PersistedAgentToolParam",
        "allowed_domains",
        Bound::Count(MAX_SEARCH_DOMAINS),
    ),
    (
        "EnvironmentParam",
        "capability_directories",
        Bound::Count(MAX_CAPABILITY_DIRECTORIES),
    ),
    ("EnvironmentParam", "workspace_directory", Bound::Below("/")),
    ("EnvironmentParam", "environment_id", Bound::NotEmpty),
    (
        "EnvironmentParam",
        "environment_template_id",
        Bound::NotEmpty,
    ),
    ("EnvironmentParam", "env", Bound::Variables),
    ("EnvironmentParam", "files", Bound::Count(MAX_FILES)),
    (
        "NetworkParam",
        "allowed_domains",
        Bound::Count(MAX_ALLOWED_DOMAINS),
    ),
    (
        "NetworkParam",
        "blocked_domains",
        Bound::Count(MAX_ALLOWED_DOMAINS),
    ),
    ("HostedFileParam", "file_id", Bound::NotEmpty),
    (
        "HostedFileParam",
        "data",
        Bound::Chars(MAX_INLINE_FILE_CHARS),
    ),
    ("HostedFileParam", "path", Bound::Below("/workspace/")),
    ("SetupCommandParam", "command", Bound::NotEmpty),
    ("SetupCommandParam", "cwd", Bound::Below("/")),
    ("EventCreateParams", "events", Bound::Some),
    ("InputEventParam", "input", Bound::Some),
    ("InputEventParam", "call_id", Bound::NotEmpty),
    ("InputEventParam", "turn_id", Bound::NotEmpty),
    ("InputEventParam", "request_id", Bound::NotEmpty),
    (
        "InputEventParam",
        "error",
        Bound::Chars(MAX_INPUT_TEXT_BYTES),
    ),
    ("InputMessageParam", "content", Bound::Some),
    (
        "ComputerUseResponseParam",
        "fields",
        Bound::Count(MAX_LOGIN_FIELDS),
    ),
];
