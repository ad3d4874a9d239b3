//! About how much room a JSON value takes, without writing it out: this is asked of whole histories.

use serde_json::Value;

/// Bytes around a value: quotes, commas, braces.
const FRAME_BYTES: usize = 4;

/// About the bytes of a value's JSON text.
pub fn json_bytes(value: &Value) -> usize {
    FRAME_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(json_bytes).sum(),
            Value::Object(fields) => {
                let bytes = |(name, value): (&String, &Value)| name.len() + json_bytes(value);
                fields.iter().map(bytes).sum()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => FRAME_BYTES,
        }
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
