//! About how much room a JSON value takes, without writing it out: this is asked of whole histories.

use serde_json::Value;

/// Bytes around a value: quotes, commas, braces.
const FRAME_BYTES: usize = 4;

/// About the bytes of a value's JSON text.
pub fn json_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text_bytes(text),
        Value::Array(values) => list_bytes(values),
        Value::Object(fields) => object_bytes(
            fields
                .iter()
                .map(|(name, v)| (name.as_str(), json_bytes(v))),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => 2 * FRAME_BYTES,
    }
}

/// The same of a text.
pub fn text_bytes(text: &str) -> usize {
    FRAME_BYTES + text.len()
}

/// The same of a list.
pub fn list_bytes(values: &[Value]) -> usize {
    FRAME_BYTES + values.iter().map(json_bytes).sum::<usize>()
}

/// The same of an object, by its fields' names and the bytes of their values.
pub fn object_bytes<'a>(fields: impl IntoIterator<Item = (&'a str, usize)>) -> usize {
    let bytes = fields.into_iter().map(|(name, bytes)| name.len() + bytes);
    FRAME_BYTES + bytes.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn weights_are_close_to_what_is_written() {
        for value in [
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x".repeat(500)}]}),
            json!(["a", 1, null, true, {"b": "c".repeat(90)}]),
        ] {
            let written = value.to_string().len();
            assert!(
                json_bytes(&value).abs_diff(written) < written / 5,
                "{value}"
            );
        }
    }
}
