//! What a person sees of a text that is being written, for as long as its Item is not complete.

use std::collections::VecDeque;

use super::out::LineKind;
use crate::engine::overhear::Joins;
use crate::engine::ports::{LivePart, Written};

/// Of a text that is being written, this much of its end is kept.
const KEPT_BYTES: usize = 8 << 10;
/// Items that are remembered to be complete.
const COMPLETE_KEPT: usize = 64;
/// What stands for text that is missing.
const MISSING: &str = "…";

/// The text that is being written now, as a person is shown it.
#[derive(Debug, Default)]
pub struct Foretaste {
    now: Option<(String, LivePart)>,
    text: String,
    /// The newest Items that are complete: what comes late of them is not shown.
    complete: VecDeque<String>,
}

impl Foretaste {
    /// Takes in what may be shown.
    pub fn update(&mut self, written: Vec<Written>) {
        for piece in written {
            if self.complete.contains(&piece.item_id) {
                continue;
            }
            let place = Some((piece.item_id, piece.part));
            if self.now != place || piece.joins == Joins::Anew {
                self.now = place;
                self.text.clear();
            }
            if piece.joins == Joins::BehindGap {
                self.text.push_str(MISSING);
            }
            self.text.push_str(&piece.text);
            self.keep_end();
        }
    }

    /// An Item is complete, and shown as a whole from now on.
    pub fn complete(&mut self, item_id: Option<&str>) {
        let Some(id) = item_id else { return };
        self.complete.push_back(id.to_owned());
        if self.complete.len() > COMPLETE_KEPT {
            self.complete.pop_front();
        }
        if self.now.as_ref().is_some_and(|(now, _)| now == id) {
            self.forget();
        }
    }

    /// What was being written is over.
    pub fn forget(&mut self) {
        self.now = None;
        self.text.clear();
    }

    /// What it is, and what there is of it.
    pub fn shown(&self) -> Option<(LineKind, &str)> {
        let (_, part) = self.now.as_ref()?;
        let kind = match part {
            LivePart::Message => LineKind::Agent,
            LivePart::Summary(_) => LineKind::Thought,
            LivePart::Output => LineKind::Output,
        };
        Some((kind, without_begun_escape(&self.text)))
    }

    fn keep_end(&mut self) {
        if self.text.len() > 2 * KEPT_BYTES {
            let at = self.text.ceil_char_boundary(self.text.len() - KEPT_BYTES);
            self.text.replace_range(..at, MISSING);
        }
    }
}

/// Without the beginning of an escape sequence whose rest may still come: the rest decides what it is.
fn without_begun_escape(text: &str) -> &str {
    const SEQUENCE_BYTES: usize = 32;
    match text.rfind('\x1b') {
        Some(at) if text.len() - at <= SEQUENCE_BYTES => {
            let rest = text[at + 1..].strip_prefix('[').unwrap_or(&text[at + 1..]);
            let begun = rest
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
            if begun { &text[..at] } else { text }
        }
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    fn written(item: u64, part: LivePart, joins: Joins, text: &str) -> Written {
        Written {
            item_id: format!("item_{item}"),
            part,
            text: text.into(),
            joins,
        }
    }

    #[test]
    fn the_newest_text_is_shown_until_its_item_is_complete() {
        let mut foretaste = Foretaste::default();
        let output = |text: &str| written(4, LivePart::Output, Joins::Directly, text);
        let message = |joins, text: &str| written(5, LivePart::Message, joins, text);
        foretaste.update(vec![output("a"), output("b")]);
        assert_eq!(foretaste.shown(), Some((LineKind::Output, "ab")));
        foretaste.update(vec![message(Joins::BehindGap, "so")]);
        assert_eq!(foretaste.shown(), Some((LineKind::Agent, "…so")));
        foretaste.update(vec![message(Joins::Anew, "now")]);
        assert_eq!(foretaste.shown(), Some((LineKind::Agent, "now")));
        foretaste.complete(Some("item_4"));
        assert_eq!(foretaste.shown(), Some((LineKind::Agent, "now")));
        foretaste.complete(Some("item_5"));
        assert_eq!(foretaste.shown(), None);
    }

    #[test]
    fn text_that_comes_behind_its_complete_item_is_not_shown() {
        let mut foretaste = Foretaste::default();
        foretaste.complete(Some("item_5"));
        foretaste.update(vec![written(5, LivePart::Message, Joins::Directly, "late")]);
        assert_eq!(foretaste.shown(), None);
    }

    #[test]
    fn an_escape_sequence_in_two_pieces_is_one() {
        let mut foretaste = Foretaste::default();
        let mut shown = |text: &str| {
            foretaste.update(vec![written(4, LivePart::Output, Joins::Directly, text)]);
            foretaste.shown().map(|(_, text)| text.to_owned())
        };
        for begun in ["red \x1b", "[3", "1"] {
            assert_eq!(shown(begun).as_deref(), Some("red "));
        }
        assert_eq!(shown("m!").as_deref(), Some("red \x1b[31m!"));
        // What is no colour is left to the sanitiser, and is not held back.
        assert_eq!(shown("\x1b]0;").as_deref(), Some("red \x1b[31m!\x1b]0;"));
    }

    #[test]
    fn only_the_end_of_a_long_text_is_kept() {
        let mut foretaste = Foretaste::default();
        for _ in 0..100 {
            let piece = written(4, LivePart::Output, Joins::Directly, &"é".repeat(1_000));
            foretaste.update(vec![piece]);
        }
        let (_, text) = foretaste.shown().expect("it is shown");
        assert!(text.len() <= 2 * KEPT_BYTES + 2_000, "{}", text.len());
        assert!(text.starts_with('…') && text.ends_with('é'));
    }
}
