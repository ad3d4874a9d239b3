//! Reversible escapes for one field of tab-separated values: what would break the row, or act on a terminal, is written out.

use super::hidden::{is_control, is_hidden};

/// `raw` on one line without tabs: `\\`, `\t`, `\n`, `\r`, and `\u{…}` for every other control and hidden character.
pub fn escape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ if is_control(c) || is_hidden(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_never_leaves_its_row() {
        assert_eq!(escape("a\tb\r\nc\\d"), "a\\tb\\r\\nc\\\\d");
        assert_eq!(
            escape("\x1b[2J\u{9b}\u{202e}"),
            "\\u{1b}[2J\\u{9b}\\u{202e}"
        );
        assert_eq!(escape("日本語 🦀"), "日本語 🦀");
    }
}
