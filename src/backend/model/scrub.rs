//! Takes keys out of text that comes from a provider. Pure.

use crate::api::Secret;

/// Written where a secret was.
pub const HIDDEN: &str = "[hidden]";

/// So many characters in a row that are also in the key make a word look like the key.
const TELLING_CHARS: usize = 8;

/// Replaces every word of `text` that looks like the key, or like any key. Providers like to quote parts of a key that they
/// refuse, with stars in its middle.
pub fn scrub(text: &str, key: Option<&Secret>) -> String {
    let mut text = text.to_owned();
    if let Some(key) = key.map(Secret::reveal).filter(|key| !key.is_empty()) {
        text = text.replace(key, HIDDEN);
    }
    let mut clean = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars() {
        if is_key_char(c) {
            word.push(c);
            continue;
        }
        push_word(&mut clean, &word, key);
        word.clear();
        clean.push(c);
    }
    push_word(&mut clean, &word, key);
    clean
}

fn push_word(clean: &mut String, word: &str, key: Option<&Secret>) {
    let looks_like_one = word.starts_with("sk-") || key.is_some_and(|key| shares(word, key));
    clean.push_str(if looks_like_one { HIDDEN } else { word });
}

/// Whether the word holds a part of the key that is long enough to tell something.
fn shares(word: &str, key: &Secret) -> bool {
    let key: Vec<char> = key.reveal().chars().collect();
    key.windows(TELLING_CHARS)
        .any(|part| word.contains(&part.iter().collect::<String>()))
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*' | '+' | '/' | '=' | '~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_parts_of_keys_are_hidden() {
        let key = Secret::new("secretkey-0123456789");
        for (text, expect) in [
            (
                "Incorrect key secretkey-0123456789.",
                "Incorrect key [hidden].",
            ),
            (
                "Bearer secretkey-0*********, sorry",
                "Bearer [hidden], sorry",
            ),
            ("'***********-0123456789'", "'[hidden]'"),
            ("other sk-proj-abc*** here", "other [hidden] here"),
            ("nothing secret here", "nothing secret here"),
            ("", ""),
        ] {
            assert_eq!(scrub(text, Some(&key)), expect);
        }
        assert_eq!(scrub("a b c", Some(&Secret::new(""))), "a b c");
        assert_eq!(scrub("pin 42!", Some(&Secret::new("42"))), "pin [hidden]!");
    }
}
