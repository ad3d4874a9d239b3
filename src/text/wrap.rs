//! Wrapping safe text to a width in display cells.

use super::cells::{clusters, split_at_cells};
use super::safe::{SafeBlock, SafeText};

/// `block` in lines of at most `width_cells`: broken at spaces where there are any, inside a word where there are none.
///
/// Lines that fit are kept exactly, inner spaces included. At least one cluster goes on each line, so a width that is
/// smaller than a wide character is exceeded rather than never ending.
pub fn wrap(block: &SafeBlock, width_cells: usize) -> Vec<SafeText> {
    let mut out = Vec::new();
    for line in block.as_str().lines() {
        wrap_line(line, width_cells.max(1), &mut out);
    }
    out
}

fn wrap_line(line: &str, width: usize, out: &mut Vec<SafeText>) {
    let mut rest = line;
    loop {
        // Looks no further than one line ahead: a line of a megabyte is wrapped in one pass.
        let (fits, beyond) = split_at_cells(rest, width);
        if beyond.is_empty() {
            return out.push(SafeText::already_safe(rest.to_owned()));
        }
        let cut = if beyond.starts_with(' ') {
            fits.len()
        } else {
            break_after_word(fits).unwrap_or(fits.len())
        };
        let cut = if cut == 0 { first_cluster(rest) } else { cut };
        let (head, tail) = rest.split_at(cut);
        out.push(SafeText::already_safe(
            head.trim_end_matches(' ').to_owned(),
        ));
        rest = tail.trim_start_matches(' ');
        if rest.is_empty() {
            return;
        }
    }
}

/// Where the last word of `fits` begins, if a word stands before it.
fn break_after_word(fits: &str) -> Option<usize> {
    let at = fits.rfind(' ')? + 1;
    (!fits[..at].trim_matches(' ').is_empty()).then_some(at)
}

fn first_cluster(text: &str) -> usize {
    clusters(text)
        .next()
        .map_or(text.len(), |(cluster, _)| cluster.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, width: usize, expected: &[&str]) {
        let lines = wrap(&text.into(), width);
        let lines: Vec<_> = lines.iter().map(SafeText::as_str).collect();
        assert_eq!(lines, expected, "{text:?} at {width}");
    }

    #[test]
    fn lines_break_at_spaces() {
        check("one two three", 7, &["one two", "three"]);
        check("one two three", 8, &["one two", "three"]);
        check("one   two", 5, &["one", "two"]);
        check("fits  as  is", 20, &["fits  as  is"]);
        check("a\n\nb", 5, &["a", "", "b"]);
    }

    #[test]
    fn long_words_and_wide_characters_break_inside() {
        check("abcdefgh", 3, &["abc", "def", "gh"]);
        check("日本語です", 4, &["日本", "語で", "す"]);
        check("日本", 1, &["日", "本"]);
        check("    deep indent", 6, &["    de", "ep", "indent"]);
    }

    proptest! {
        #[test]
        fn every_line_fits_and_no_word_is_lost(text in "[a-z日é \\n]{0,200}", width in 2usize..30) {
            let lines = wrap(&text.as_str().into(), width);
            for line in &lines {
                prop_assert!(line.cells() <= width, "{:?}", line);
            }
            let letters = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let kept: String = lines.iter().map(|l| letters(l.as_str())).collect();
            prop_assert_eq!(kept, letters(&text));
        }
    }
}
