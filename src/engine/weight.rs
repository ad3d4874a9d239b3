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

/// More than the bytes of a value's JSON text can be: each byte of a text may become six, as `\u001f` does.
pub fn most_json_bytes(value: &Value) -> usize {
    /// The longest number, and what stands between two values.
    const LONGEST: usize = 32;
    const WIDEST: usize = 6;
    LONGEST
        + match value {
            Value::String(text) => WIDEST * text.len(),
            Value::Array(values) => values.iter().map(most_json_bytes).sum(),
            Value::Object(fields) => {
                let most = |(name, v): (&String, &Value)| WIDEST * name.len() + most_json_bytes(v);
                fields.iter().map(most).sum()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// About the bytes of a text's JSON text.
pub fn text_bytes(text: &str) -> usize {
    FRAME_BYTES + text.len()
}

/// About the bytes of a list's JSON text.
pub fn list_bytes(values: &[Value]) -> usize {
    FRAME_BYTES + values.iter().map(json_bytes).sum::<usize>()
}

/// About the bytes of an object's JSON text, by its fields' names and the bytes of their values.
pub fn object_bytes<'a>(fields: impl IntoIterator<Item = (&'a str, usize)>) -> usize {
    let bytes = fields.into_iter().map(|(name, bytes)| name.len() + bytes);
    FRAME_BYTES + bytes.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
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
    proptest! {
        #[test]
        fn no_value_is_written_in_more_bytes_than_it_may_take(
            text in any::<String>(),
            name in any::<String>(),
            number in any::<f64>(),
            integer in any::<i64>(),
        ) {
            for value in [
                json!(text),
                json!([text, number, integer, null, false]),
                json!({name.as_str(): [{"a": text}, -number], "b": {}, "c": u64::MAX}),
                json!(f64::MIN),
                json!([]),
            ] {
                prop_assert!(value.to_string().len() <= most_json_bytes(&value), "{}", value);
            }
        }
    }
}
