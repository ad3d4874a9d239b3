//! Display cells: how wide text is on a terminal, and how to cut and pad it by that measure.
//!
//! Counted by grapheme cluster, so that a flag or a family of emoji is never cut in half. Terminals disagree about a few
//! clusters; nothing here depends on being right about them except alignment.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::safe::{Glyphs, SafeText};

/// Clusters of `text` with the cells that each takes.
pub fn clusters(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.graphemes(true)
        .map(|cluster| (cluster, cluster.width()))
}

/// Display cells of one line of text.
pub fn cells(text: &str) -> usize {
    if text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return text.len();
    }
    clusters(text).map(|(_, width)| width).sum()
}

/// `text` in at most `max_cells`: whole if it fits, otherwise cut at a cluster and marked with an ellipsis.
pub fn truncate(text: &SafeText, max_cells: usize, glyphs: Glyphs) -> SafeText {
    if text.cells() <= max_cells {
        return text.clone();
    }
    let mark = glyphs.ellipsis();
    let Some(room) = max_cells.checked_sub(cells(mark)) else {
        return SafeText::default();
    };
    let (mut cut, _) = split_at_cells(text.as_str(), room);
    cut = cut.trim_end_matches(' ');
    SafeText::already_safe(format!("{cut}{mark}"))
}

/// `text` with spaces after it up to `to_cells`; longer text stays as it is.
pub fn pad(text: &SafeText, to_cells: usize) -> SafeText {
    let spaces = to_cells.saturating_sub(text.cells());
    SafeText::already_safe(format!("{text}{:spaces$}", ""))
}

/// The longest beginning of `text` that fits, and the rest.
pub(super) fn split_at_cells(text: &str, max_cells: usize) -> (&str, &str) {
    let mut used = 0;
    let mut end = 0;
    for (cluster, width) in clusters(text) {
        if used + width > max_cells {
            break;
        }
        used += width;
        end += cluster.len();
    }
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cells_count_what_a_terminal_shows() {
        for (text, expected) in [
            ("", 0),
            ("plain", 5),
            ("日本語", 6),
            ("e\u{301}te\u{301}", 3),
            ("🦀", 2),
            ("👩‍👩‍👧", 2),
            ("🇩🇪", 2),
            ("❤\u{fe0f}", 2),
        ] {
            assert_eq!(cells(text), expected, "{text}");
        }
    }

    #[test]
    fn text_is_cut_between_clusters_and_marked() {
        let cut = |text: &str, max, glyphs| truncate(&text.into(), max, glyphs).as_str().to_owned();
        assert_eq!(cut("short", 5, Glyphs::Unicode), "short");
        assert_eq!(cut("longer text", 8, Glyphs::Unicode), "longer…");
        assert_eq!(cut("longer text", 6, Glyphs::Ascii), "longe~");
        assert_eq!(cut("日本語です", 6, Glyphs::Unicode), "日本…");
        assert_eq!(cut("👩‍👩‍👧👩‍👩‍👧", 3, Glyphs::Unicode), "👩‍👩‍👧…");
        assert_eq!(cut("longer", 1, Glyphs::Unicode), "…");
        assert_eq!(cut("longer", 0, Glyphs::Unicode), "");
    }

    #[test]
    fn padding_fills_up_to_cells() {
        assert_eq!(pad(&"語".into(), 4).as_str(), "語  ");
        assert_eq!(pad(&"long".into(), 2).as_str(), "long");
    }

    proptest! {
        #[test]
        fn truncated_text_fits(text: String, max in 0usize..40) {
            let cut = truncate(&SafeText::line(&text), max, Glyphs::Unicode);
            prop_assert!(cut.cells() <= max, "{:?}", cut);
            prop_assert_eq!(SafeText::line(cut.as_str()), cut);
        }
    }
}
