//! The request as it is sent, and what of it a server may refuse. Pure.

use std::collections::BTreeSet;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use crate::engine::ports::{ModelItem, ModelRequest};

/// Fields that this model does without if the server refuses them. None changes what is asked.
pub const OPTIONAL: [&str; 3] = ["include", "prompt_cache_key", "phase"];

/// The request as it is sent: JSON, written straight from what was recorded.
pub fn body(
    request: &ModelRequest,
    without: &BTreeSet<&'static str>,
) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Body { request, without })
}

struct Body<'a> {
    request: &'a ModelRequest,
    without: &'a BTreeSet<&'static str>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ModelRequest {
            model,
            instructions,
            input,
            tools,
            reasoning,
            text,
            service_tier,
            prompt_cache_key,
        } = self.request;
        let refused = |field: &str| self.without.contains(field);
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", model)?;
        let input = Input {
            items: input,
            without_phase: refused("phase"),
        };
        body.serialize_entry("input", &input)?;
        body.serialize_entry("stream", &true)?;
        body.serialize_entry("store", &false)?;
        if !refused("include") {
            body.serialize_entry("include", &["reasoning.encrypted_content"])?;
        }
        if let Some(instructions) = instructions {
            body.serialize_entry("instructions", instructions)?;
        }
        for (name, value) in [("reasoning", reasoning), ("text", text)] {
            if let Some(value) = value {
                body.serialize_entry(name, value)?;
            }
        }
        if let Some(tier) = service_tier {
            body.serialize_entry("service_tier", tier)?;
        }
        if let Some(key) = prompt_cache_key
            .as_ref()
            .filter(|_| !refused("prompt_cache_key"))
        {
            body.serialize_entry("prompt_cache_key", key)?;
        }
        if !tools.is_empty() {
            body.serialize_entry("tools", tools)?;
        }
        body.end()
    }
}

struct Input<'a> {
    items: &'a [ModelItem],
    without_phase: bool,
}

impl Serialize for Input<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.without_phase {
            return self.items.serialize(serializer);
        }
        let mut items = serializer.serialize_seq(Some(self.items.len()))?;
        for item in self.items {
            match item {
                ModelItem::Assistant { text, phase: _ } => {
                    items.serialize_element(&ModelItem::Assistant {
                        text: text.clone(),
                        phase: None,
                    })?;
                }
                ModelItem::Other(item) if item.get("phase").is_some() => {
                    let mut item = Value::clone(item);
                    if let Some(fields) = item.as_object_mut() {
                        fields.remove("phase");
                    }
                    items.serialize_element(&item)?;
                }
                other => items.serialize_element(other)?,
            }
        }
        items.end()
    }
}

/// Whether an answer speaks of this field: quoted, or as the end of a path.
pub fn names(body: &str, field: &str) -> bool {
    let quoted = ["'", "\"", "`"]
        .iter()
        .any(|quote| body.contains(&format!("{quote}{field}{quote}")));
    quoted || body.contains(&format!(".{field}'")) || body.contains(&format!(".{field}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_named_when_it_is_quoted_or_ends_a_path() {
        for (body, field, expect) in [
            ("Unsupported parameter: 'include'", "include", true),
            (r#"{"loc":["body","include"]}"#, "include", true),
            ("unknown field `phase`", "phase", true),
            (r#"{"param":"input[0].phase"}"#, "phase", true),
            ("property 'input.0.phase' is unsupported", "phase", true),
            ("your input must include text", "include", false),
            ("in this phase", "phase", false),
        ] {
            assert_eq!(names(body, field), expect, "{body}");
        }
    }
}
