//! Which characters a terminal acts on, and which a reader cannot see. Data and two questions, no rules about context.

/// Whether a terminal may act on `c`: C0, DEL and C1 controls. Newline and tab are controls too.
pub fn is_control(c: char) -> bool {
    matches!(c, '\0'..='\x1f' | '\x7f'..='\u{9f}')
}

/// Whether `c` reorders its neighbours or takes no place on a screen without belonging to a visible character.
///
/// Joiners (U+200C, U+200D), variation selectors and combining marks are not counted: whether they hide something depends
/// on what stands beside them.
pub fn is_hidden(c: char) -> bool {
    match c {
        // Bidirectional marks, embeddings, overrides and isolates.
        '\u{061c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => true,
        // Line and paragraph separators: a line break for some terminals, nothing for others.
        '\u{2028}' | '\u{2029}' => true,
        // Spaces without width, invisible operators, deprecated format characters, the byte order mark.
        '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' => true,
        // Soft hyphen, grapheme joiner, fillers and vowels without a shape, Mongolian separators.
        '\u{00ad}' | '\u{034f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}' => true,
        // Interlinear annotations, shorthand and musical format controls.
        '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        // Tags: ASCII that nobody sees. The selectors among them are asked about by `is_selector`.
        '\u{e0000}'..='\u{e0fff}' => !is_selector(c),
        _ => false,
    }
}

/// Variation selectors: they choose the shape of the character before them.
pub(super) fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// The two joiners, which some scripts and some emoji cannot be written without.
pub(super) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_hidden_characters_are_told_from_text() {
        for c in [
            '\0', '\x07', '\x1b', '\t', '\n', '\r', '\x7f', '\u{80}', '\u{9b}',
        ] {
            assert!(is_control(c), "{c:?}");
        }
        for c in [
            '\u{202e}',
            '\u{2066}',
            '\u{200b}',
            '\u{feff}',
            '\u{e0041}',
            '\u{ad}',
            '\u{3164}',
        ] {
            assert!(is_hidden(c), "{c:?}");
            assert!(!is_control(c), "{c:?}");
        }
        for c in [
            ' ', 'a', 'é', '界', '🦀', '\u{301}', '\u{200d}', '\u{fe0f}', '\u{a0}',
        ] {
            assert!(!is_control(c) && !is_hidden(c), "{c:?}");
        }
    }
}
