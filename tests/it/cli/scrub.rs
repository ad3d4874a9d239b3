//! What differs from run to run, replaced by what does not: ids by their order of appearance, times, paths, processes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

/// See the module.
pub struct Scrub {
    dir: String,
    ids: RefCell<HashMap<String, String>>,
}

/// Prefixes of ids.
const KINDS: [&str; 14] = [
    "sess", "agent", "env", "turn", "inp", "run", "artf", "msg", "rs", "cmd", "fc", "fco", "evt",
    "rcpt",
];

impl Scrub {
    /// For output that may name paths below `dir`.
    pub fn new(dir: &Path) -> Scrub {
        Scrub {
            dir: dir.display().to_string(),
            ids: RefCell::default(),
        }
    }

    /// Text with ids and paths replaced.
    pub fn page(&self, text: &str) -> String {
        let text = text.replace(&self.dir, "[dir]");
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(start) = rest.find(is_word) {
            out.push_str(&rest[..start]);
            let word_and_rest = &rest[start..];
            let end = word_and_rest
                .find(|c| !is_word(c))
                .unwrap_or(word_and_rest.len());
            let (word, after) = word_and_rest.split_at(end);
            out.push_str(&self.word(word));
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// A complete id becomes its kind and its number; the beginning of one that is known becomes that, with dots.
    fn word(&self, word: &str) -> String {
        let Some((kind, rest)) = word.split_once('_') else {
            return word.to_owned();
        };
        if !KINDS.contains(&kind)
            || rest.len() < 4
            || !rest.bytes().all(|b| b.is_ascii_alphanumeric())
        {
            return word.to_owned();
        }
        let mut ids = self.ids.borrow_mut();
        if rest.len() == 26 {
            let number = 1 + ids
                .keys()
                .filter(|id| id.starts_with(&format!("{kind}_")))
                .count();
            let name = format!("{kind}_#{number}");
            return ids.entry(word.to_owned()).or_insert(name).clone();
        }
        let known = ids.iter().find(|(id, _)| id.starts_with(word));
        known.map_or_else(|| word.to_owned(), |(_, name)| format!("{name}…"))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Patterns that insta replaces, most specific first.
pub const FILTERS: &[(&str, &str)] = &[
    (r"proc:\d+:\d+:[0-9a-f-]+(:\d+)?(#\d+)?", "[process]"),
    (r"\(process \d+\)", "(process [pid])"),
    (
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d \([^)]*\)",
        "[time]",
    ),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "[time]"),
    (r#""(\w+_at)":1\d{9}"#, r#""$1":[seconds]"#),
    (r#""(\w+_ms)":1\d{12}"#, r#""$1":[ms]"#),
    (r#"(\w+_at: )1\d{9}"#, "${1}[seconds]"),
    // A column of a table that says how long ago something was, as wide as its title.
    (r"(?m)  (now|\d+s ago)( {2,}|$)", "  [ago]  "),
    (r"\bin \d+(ms|s|\.\d+s)\b", "in [span]"),
    (r"\b\d+(\.\d+)? [KMGT]iB (are )?free", "[size] are free"),
    (r"\b(for|since) \d+(ms|(\.\d+)?s|m \d+s)\b", "$1 [span]"),
    (r"no damage, \d+(\.\d+)? [KM]iB,", "no damage, [size],"),
    (r#""(digest|sha256)":"[0-9a-f]{64}""#, r#""$1":"[digest]""#),
    (
        r"\bdigest [0-9a-f]{64}, now [0-9a-f]{64}",
        "digest [a], now [b]",
    ),
];

/// Compares a page with what was seen before.
macro_rules! seen {
    ($page:expr) => {
        insta::with_settings!({ filters => super::scrub::FILTERS.to_vec(), omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!($page);
        })
    };
    ($name:expr, $page:expr) => {
        insta::with_settings!({ filters => super::scrub::FILTERS.to_vec(), omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!($name, $page);
        })
    };
}
pub(super) use seen;
