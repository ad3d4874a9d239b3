//! What a person sees of a text that is being written, for as long as its Item is not complete.

use super::out::LineKind;
use crate::engine::overhear::{Heard, Joins, is_open};
use crate::engine::ports::LivePart;
use crate::engine::session::Head;

/// Of a text that is being written, this much of its end is kept.
const KEPT_BYTES: usize = 8 << 10;
/// What stands for text that is missing.
const MISSING: &str = "…";

/// The text that is being written now, as a person is shown it.
#[derive(Debug, Default)]
pub struct Foretaste {
    now: Option<(u64, LivePart)>,
    text: String,
}

impl Foretaste {
    /// Takes in what may be shown, and forgets what is complete.
    pub fn update(&mut self, head: &Head, heard: Vec<Heard>) {
        for Heard { text, joins, .. } in heard {
            let place = Some((text.item, text.part));
            if self.now != place || joins == Joins::Anew {
                self.now = place;
                self.text.clear();
            }
            if joins == Joins::BehindGap {
                self.text.push_str(MISSING);
            }
            self.text.push_str(&text.text);
            self.keep_end();
        }
        if self
            .now
            .is_some_and(|(item, part)| !is_open(head, item, part))
        {
            *self = Foretaste::default();
        }
    }

    /// What it is, and what there is of it.
    pub fn shown(&self) -> Option<(LineKind, &str)> {
        let (_, part) = self.now?;
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
    use crate::engine::ports::LiveText;
    use crate::engine::session::ActiveTurn;

    fn heard(item: u64, part: LivePart, joins: Joins, text: &str) -> Heard {
        let text = LiveText {
            session: String::new(),
            generation: 1,
            turn: 1,
            item,
            output_index: 0,
            part,
            attempt: 0,
            offset_bytes: 0,
            text: text.into(),
        };
        Heard {
            text,
            joins,
            whole: true,
        }
    }

    fn head() -> Head {
        let mut head = Head::new("o".into(), 1);
        let mut turn = ActiveTurn::queued(1);
        turn.running.push(4);
        head.turn = Some(turn);
        head.next.item = 5;
        head
    }

    #[test]
    fn the_newest_text_is_shown_until_its_item_is_complete() {
        let (mut head, mut foretaste) = (head(), Foretaste::default());
        let output = |text: &str| heard(4, LivePart::Output, Joins::Directly, text);
        foretaste.update(&head, vec![output("a"), output("b")]);
        assert_eq!(foretaste.shown(), Some((LineKind::Output, "ab")));
        foretaste.update(
            &head,
            vec![heard(5, LivePart::Message, Joins::BehindGap, "so")],
        );
        assert_eq!(foretaste.shown(), Some((LineKind::Agent, "…so")));
        foretaste.update(&head, vec![heard(5, LivePart::Message, Joins::Anew, "now")]);
        assert_eq!(foretaste.shown(), Some((LineKind::Agent, "now")));
        head.next.item = 6;
        foretaste.update(&head, Vec::new());
        assert_eq!(foretaste.shown(), None);
    }

    #[test]
    fn an_escape_sequence_in_two_pieces_is_one() {
        let (head, mut foretaste) = (head(), Foretaste::default());
        let mut shown = |text: &str| {
            foretaste.update(
                &head,
                vec![heard(4, LivePart::Output, Joins::Directly, text)],
            );
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
        let (head, mut foretaste) = (head(), Foretaste::default());
        for _ in 0..100 {
            let piece = heard(4, LivePart::Output, Joins::Directly, &"é".repeat(1_000));
            foretaste.update(&head, vec![piece]);
        }
        let (_, text) = foretaste.shown().expect("it is shown");
        assert!(text.len() <= 2 * KEPT_BYTES + 2_000, "{}", text.len());
        assert!(text.starts_with('…') && text.ends_with('é'));
    }
}
