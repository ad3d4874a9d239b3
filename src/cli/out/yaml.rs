//! YAML from a JSON value. Written here because general emitters print format characters raw, which a terminal would obey.
//!
//! Every string is plain when it is obviously a string, a literal block when it is harmless text of several lines, and
//! otherwise quoted with JSON's escapes, which YAML understands as well.

use serde_json::{Map, Value};

use crate::text::{Glyphs, is_control, is_hidden};

/// `value` as one YAML document, a newline at its end.
pub fn encode(value: &Value, glyphs: Glyphs) -> String {
    let mut emitter = Emitter {
        out: String::new(),
        glyphs,
    };
    match value {
        Value::Array(items) if !items.is_empty() => emitter.sequence(items, 0),
        Value::Object(map) if !map.is_empty() => emitter.mapping(map, 0, false),
        scalar => emitter.scalar(scalar, 0),
    }
    emitter.out
}

struct Emitter {
    out: String,
    glyphs: Glyphs,
}

impl Emitter {
    /// The entries of a mapping; the first line's indentation is already there when `begun`.
    fn mapping(&mut self, map: &Map<String, Value>, indent: usize, begun: bool) {
        for (i, (key, value)) in map.iter().enumerate() {
            if i > 0 || !begun {
                self.indent(indent);
            }
            let key = self.string(key);
            self.out.push_str(&key);
            self.out.push(':');
            match value {
                Value::Array(items) if !items.is_empty() => {
                    self.out.push('\n');
                    self.sequence(items, indent);
                }
                Value::Object(map) if !map.is_empty() => {
                    self.out.push('\n');
                    self.mapping(map, indent + 2, false);
                }
                scalar => {
                    self.out.push(' ');
                    self.scalar(scalar, indent + 2);
                }
            }
        }
    }

    fn sequence(&mut self, items: &[Value], indent: usize) {
        for item in items {
            self.indent(indent);
            match item {
                Value::Array(inner) if !inner.is_empty() => {
                    self.out.push_str("-\n");
                    self.sequence(inner, indent + 2);
                }
                Value::Object(map) if !map.is_empty() => {
                    self.out.push_str("- ");
                    self.mapping(map, indent + 2, true);
                }
                scalar => {
                    self.out.push_str("- ");
                    self.scalar(scalar, indent + 2);
                }
            }
        }
    }

    /// A scalar or an empty collection, and the end of its line.
    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::String(text) if self.is_block(text) => self.block(text, indent),
            Value::String(text) => {
                let text = self.string(text);
                self.out.push_str(&text);
                self.out.push('\n');
            }
            // Numbers, booleans, null, `[]` and `{}` are the same in JSON.
            other => {
                self.out.push_str(&other.to_string());
                self.out.push('\n');
            }
        }
    }

    fn block(&mut self, text: &str, indent: usize) {
        self.out
            .push_str(if text.ends_with('\n') { "|\n" } else { "|-\n" });
        for line in text.lines() {
            if !line.is_empty() {
                self.indent(indent.max(2));
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
    }

    /// Several lines without anything that must be escaped and without spaces that the indentation would swallow.
    fn is_block(&self, text: &str) -> bool {
        text.contains('\n')
            && !text.starts_with([' ', '\n'])
            && !text.ends_with("\n\n")
            && !text.chars().any(|c| c != '\n' && self.is_written_out(c))
    }

    fn string(&self, text: &str) -> String {
        if is_plain(text) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len() + 2);
        out.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                _ if self.is_written_out(c) => match u32::from(c) {
                    code @ 0..=0xff => out.push_str(&format!("\\x{code:02x}")),
                    code @ 0x100..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                    code => out.push_str(&format!("\\U{code:08x}")),
                },
                _ => out.push(c),
            }
        }
        out.push('"');
        out
    }

    /// YAML allows none of the controls raw; the hidden characters are ours to refuse. U+FFFE and U+FFFF are not text.
    fn is_written_out(&self, c: char) -> bool {
        is_control(c)
            || is_hidden(c)
            || matches!(c, '\u{fffe}' | '\u{ffff}')
            || (self.glyphs == Glyphs::SevenBit && !c.is_ascii())
    }

    fn indent(&mut self, spaces: usize) {
        self.out.extend(std::iter::repeat_n(' ', spaces));
    }
}

/// Whether `text` without quotes is a string for every YAML reader: letters first, and no word that means something else.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/'));
    let harmless = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '-' | '.' | '/' | ' ' | '@' | '+' | ':' | ',')
    };
    starts
        && text.chars().all(harmless)
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn documents_read_naturally() {
        let value = json!({
            "id": "sess_abc",
            "metadata": {},
            "turns": [{"id": "turn_1", "error": null, "tags": ["a", "yes"]}, []],
            "nested": [[1, 2.5]],
            "text": "first\n\n  second\n",
            "odd": "\u{9b}x: \u{202e}",
        });
        let expected = "\
id: sess_abc
metadata: {}
turns:
- id: turn_1
  error: null
  tags:
  - a
  - \"yes\"
- []
nested:
-
  - 1
  - 2.5
text: |
  first

    second
odd: \"\\x9bx: \\u202e\"
";
        assert_eq!(encode(&value, Glyphs::Unicode), expected);
        assert_eq!(
            encode(&json!("é🦀"), Glyphs::SevenBit),
            "\"\\xe9\\U0001f980\"\n"
        );
        assert_eq!(encode(&json!([]), Glyphs::Unicode), "[]\n");
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[ -~\\n]{0,12}",
            any::<String>(),
            "(true|No|~|null|0x1f|1e3|-|- a|a: b|#x|\\.5|2026-01-01|=|<<)",
            "[a \\n]{0,8}",
            Just("\u{85}\u{2028}\u{feff}\x1b\u{9b}".to_owned()),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((text.clone(), inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_yaml_reader_gets_the_same_value(value in values()) {
            for glyphs in [Glyphs::Unicode, Glyphs::SevenBit] {
                let yaml = encode(&value, glyphs);
                prop_assert!(!yaml.contains(|c| c != '\n' && (is_control(c) || is_hidden(c))), "{}", yaml);
                let read: Value = serde_yaml_ng::from_str(&yaml).map_err(|e| TestCaseError::fail(format!("{e}\n{yaml}")))?;
                prop_assert_eq!(&read, &value, "{}", yaml);
            }
        }
    }
}
