//! Words of a failure, cut to what a record has room for. Pure.

/// Cuts words to so many bytes at most, between characters. JSON writes what is left no longer than it is.
pub(super) fn shorten(words: &mut String, most_bytes: usize) {
    // What JSON would write longer than it is becomes a blank or an apostrophe first.
    *words = words
        .chars()
        .map(|c| match c {
            '"' => '\'',
            '\\' => '/',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect();
    if words.len() > most_bytes {
        let end = (0..=most_bytes - '…'.len_utf8())
            .rev()
            .find(|at| words.is_char_boundary(*at))
            .unwrap_or(0);
        words.truncate(end);
        words.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_BYTES: usize = 200;

    #[test]
    fn words_are_cut_between_characters_and_hold_nothing_that_needs_escaping() {
        let mut words = "é\u{1}\"\\".repeat(200);
        shorten(&mut words, MOST_BYTES);
        assert!(words.len() <= MOST_BYTES && words.ends_with('…'), "{words}");
        assert!(serde_json::to_string(&words).is_ok_and(|json| json.len() == words.len() + 2));
        let mut short = "as it is".to_owned();
        shorten(&mut short, MOST_BYTES);
        assert_eq!(short, "as it is");
    }
}
