//! JSON and the one thing the encoder leaves to us: characters that JSON may hold raw but a terminal must not see.

use serde::Serialize;

use super::error::CliError;
use crate::text::{Glyphs, is_control, is_hidden};

/// `value` as JSON without a newline at its end: indented, or on one line.
pub fn encode<T: Serialize + ?Sized>(value: &T, indented: bool) -> Result<String, CliError> {
    let encoded = if indented {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    encoded.map_err(|error| {
        CliError::bug(format!("a result cannot be written as JSON: {error}")).because(error)
    })
}

/// The same JSON value with everything written as `\u…` that a terminal would act on or not show.
///
/// Raw DEL, C1 and format characters can only stand inside the strings of a JSON text, so that replacing them anywhere
/// keeps its value. C0 controls were escaped by the encoder already; the line breaks between values stay.
pub fn for_terminal(json: &str, glyphs: Glyphs) -> String {
    let written_out = |c: char| {
        (is_control(c) && c != '\n')
            || is_hidden(c)
            || (glyphs == Glyphs::SevenBit && !c.is_ascii())
    };
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if written_out(c) {
            let mut units = [0u16; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn controls_are_escaped_by_the_encoder() {
        assert_eq!(
            encode("\x1b[2J\x07\0", false).expect("encodes"),
            r#""\u001b[2J\u0007\u0000""#
        );
    }

    #[test]
    fn what_the_encoder_leaves_is_escaped_for_terminals() {
        let json = encode("\u{9b}m \x7f \u{202e} é", false).expect("encodes");
        assert_eq!(
            for_terminal(&json, Glyphs::Unicode),
            r#""\u009bm \u007f \u202e é""#
        );
        let json = encode("é🦀", false).expect("encodes");
        assert_eq!(
            for_terminal(&json, Glyphs::SevenBit),
            r#""\u00e9\ud83e\udd80""#
        );
    }

    proptest! {
        #[test]
        fn escaping_keeps_the_value(text: String, indented: bool) {
            let value = serde_json::json!({ "key": [text, "\u{9b}\u{202e}\x1b"] });
            let json = encode(&value, indented).expect("encodes");
            for glyphs in [Glyphs::Unicode, Glyphs::SevenBit] {
                let shown = for_terminal(&json, glyphs);
                prop_assert!(!shown.contains(|c| c != '\n' && is_control(c)));
                prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&shown).expect("parses"), &value);
            }
        }
    }
}
