//! One spelling for equal JSON values, for digests of request bodies.
//!
//! Keys sorted bytewise, no white space, numbers and strings as `serde_json` writes them. It is not RFC 8785: `1.0` and `1`
//! stay different, since this program's bodies treat them differently. What is digested is the client's body, before
//! defaults are filled in: adding a default to a type never changes an old digest.

use serde_json::Value;

/// The canonical bytes of a value.
pub fn canonical_json(value: &Value) -> Vec<u8> {
    // Most are messages of some lines.
    let mut out = Vec::with_capacity(2 << 10);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        String::from_utf8(canonical_json(value)).expect("JSON is UTF-8")
    }

    #[test]
    fn keys_are_sorted_at_every_depth_and_arrays_keep_their_order() {
        let value = json!({"b": [{"z": 1, "a": null}, 2], "a": {"é": true, "B": 1.5, "b": "x y"}});
        assert_eq!(
            text(&value),
            r#"{"a":{"B":1.5,"b":"x y","é":true},"b":[{"a":null,"z":1},2]}"#
        );
    }

    #[test]
    fn escapes_do_not_depend_on_how_the_client_wrote_them() {
        let check = |body: &str, expect: &str| {
            let value: Value = serde_json::from_str(body).expect("JSON");
            assert_eq!(text(&value), expect);
        };
        check(r#"{"\u0061": "\u00e9\/\n"}"#, "{\"a\":\"é/\\n\"}");
        check("[1.0, 1, 1e2, -0]", "[1.0,1,100.0,-0.0]");
        check("[ ]", "[]");
        check("{ }", "{}");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..6)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    fn reversed(value: &Value) -> Value {
        match value {
            Value::Array(values) => values.iter().map(reversed).collect(),
            Value::Object(map) => {
                let pairs = map.iter().rev();
                Value::Object(pairs.map(|(k, v)| (k.clone(), reversed(v))).collect())
            }
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn two_bodies_are_written_alike_only_if_they_mean_the_same(one in any_json(), two in any_json()) {
            let alike = canonical_json(&one) == canonical_json(&two);
            prop_assert_eq!(alike, one == two);
        }

        #[test]
        fn the_order_of_keys_does_not_matter_and_nothing_is_lost(value in any_json()) {
            prop_assert_eq!(canonical_json(&value), canonical_json(&reversed(&value)));
            let back: Value = serde_json::from_slice(&canonical_json(&value)).expect("JSON");
            prop_assert_eq!(back, value);
        }
    }
}
