//! A request as it came, and what a test wants to know of it.

use std::collections::BTreeMap;

use axum::http::request::Parts;
use serde_json::Value;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Counted from 1, over all connections.
    pub(crate) number: usize,
    /// Such as `POST /v1/responses`.
    pub(crate) line: String,
    /// Names in lower case. Of a header that comes twice the last value.
    pub(crate) headers: BTreeMap<String, String>,
    /// The body; null if it is no JSON.
    pub(crate) body: Value,
}

impl Asked {
    pub(super) fn new(number: usize, parts: &Parts, body: Value) -> Asked {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        Asked {
            number,
            line: format!("{} {}", parts.method, parts.uri),
            headers: parts
                .headers
                .iter()
                .map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes())))
                .collect(),
            body,
        }
    }

    /// What the model is given, oldest first.
    pub(crate) fn input(&self) -> &[Value] {
        self.body["input"].as_array().map_or(&[], Vec::as_slice)
    }

    /// How often the model is given a user's message with exactly this text.
    pub(crate) fn times_told(&self, text: &str) -> usize {
        self.input()
            .iter()
            .filter(|item| item["role"] == "user")
            .flat_map(|item| item["content"].as_array().into_iter().flatten())
            .filter(|part| part["text"] == text)
            .count()
    }

    /// What the model is told about a call of its own, each time that it is told: text, or the text of its parts.
    pub(crate) fn outputs_of(&self, call_id: &str) -> Vec<String> {
        self.input()
            .iter()
            .filter(|item| item["call_id"] == call_id && !item["output"].is_null())
            .map(|item| match &item["output"] {
                Value::String(text) => text.clone(),
                Value::Array(parts) => parts
                    .iter()
                    .filter_map(|part| part["text"].as_str())
                    .collect(),
                other => other.to_string(),
            })
            .collect()
    }
}
