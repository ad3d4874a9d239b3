//! The request as it is sent, and what of it a server may refuse. Pure.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::engine::ports::ModelRequest;

/// Fields that this model does without if the server refuses them. None changes what is asked.
pub const OPTIONAL: [&str; 3] = ["include", "prompt_cache_key", "phase"];

/// The request as it is sent.
pub fn body(request: &ModelRequest, without: &BTreeSet<&'static str>) -> Value {
    let mut body = json!({
        "model": request.model,
        "input": request.input,
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "instructions": request.instructions,
        "reasoning": request.reasoning,
        "text": request.text,
        "service_tier": request.service_tier,
        "prompt_cache_key": request.prompt_cache_key,
    });
    if !request.tools.is_empty() {
        body["tools"] = Value::from(request.tools.clone());
    }
    if without.contains("phase") {
        for item in body["input"].as_array_mut().into_iter().flatten() {
            if let Some(item) = item.as_object_mut() {
                item.remove("phase");
            }
        }
    }
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|name, value| !value.is_null() && !without.contains(name.as_str()));
    }
    body
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
