//! One spelling for equal JSON values, for digests of request bodies.
//!
//! Keys sorted bytewise, no white space, numbers and strings as `serde_json` writes them. It is not RFC 8785: `1.0` and `1`
//! stay different, since this program's bodies treat them differently. What is digested is the client's body, before
//! defaults are filled in: adding a default to a type never changes an old digest.

use serde_json::Value;

/// The canonical bytes of a value.
pub fn canonical_json(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(values) => {
            out.push(b'[');
            for (i, value) in values.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write(value, out);
            }
            out.push(b']');
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|(name, _)| *name);
            out.push(b'{');
            for (i, (name, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_text(name, out);
                out.push(b':');
                write(value, out);
            }
            out.push(b'}');
        }
        Value::String(text) => write_text(text, out),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            out.extend_from_slice(value.to_string().as_bytes());
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a string always serialises into memory");
}
