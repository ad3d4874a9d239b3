//! Overhearing: what a follower shows of texts that are being written. Pure.
//!
//! A follower reads the head *after* a text has reached it and asks here what may be shown: nothing of a Run that is not the
//! live one by then (I4), nothing of an Item that is complete, nothing twice. What is shown is a foretaste: the complete
//! Item replaces it, and comes even if nothing of it was overheard.

use std::collections::BTreeMap;

use super::ports::{LivePart, LiveText};
use super::position::AHEAD;
use super::session::Head;

/// What one follower has overheard of one Session.
#[derive(Debug, Default)]
pub struct Overheard {
    generation: u64,
    attempt: u32,
    texts: BTreeMap<(u64, LivePart), Known>,
}

/// What is known of one text.
#[derive(Debug)]
struct Known {
    attempt: u32,
    end_bytes: u64,
    whole: bool,
}

/// A piece that may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The piece; what of it was shown before is cut off.
    pub text: LiveText,
    /// How it goes with what was shown of the same text.
    pub joins: Joins,
    /// All that was shown of this text, with this piece, is what was written of it from its beginning on.
    pub whole: bool,
}

/// How a piece goes with the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// It follows them (or begins the text).
    Directly,
    /// Something is missing before it.
    BehindGap,
    /// They are void: the text began anew.
    Anew,
}

impl Overheard {
    /// What of a text may be shown, by the head as it was read after the text came; `None`: nothing.
    pub fn take(&mut self, head: &Head, mut text: LiveText) -> Option<Heard> {
        self.texts
            .retain(|(item, part), _| is_open(head, *item, *part));
        if !is_live(head, &text) {
            return None;
        }
        if text.generation != self.generation {
            self.generation = text.generation;
            self.attempt = 0;
            self.texts.clear();
        }
        if text.part != LivePart::Output {
            if text.attempt < self.attempt {
                return None;
            }
            self.attempt = text.attempt;
        }
        let known = self.texts.entry((text.item, text.part)).or_insert(Known {
            attempt: text.attempt,
            end_bytes: 0,
            whole: true,
        });
        let anew = text.part != LivePart::Output && text.attempt > known.attempt;
        if anew {
            // Whoever was shown something of the void text has not seen this one from its beginning.
            known.whole &= known.end_bytes == 0;
            known.attempt = text.attempt;
            known.end_bytes = 0;
        }
        if text.end_bytes() <= known.end_bytes {
            return None;
        }
        if text.offset_bytes < known.end_bytes {
            let again = usize::try_from(known.end_bytes - text.offset_bytes).ok()?;
            text.text = text.text.get(again..)?.to_owned();
            text.offset_bytes = known.end_bytes;
        }
        let gap = text.offset_bytes > known.end_bytes;
        known.whole &= !gap;
        known.end_bytes = text.end_bytes();
        let joins = match (anew, gap) {
            (true, _) => Joins::Anew,
            (false, true) => Joins::BehindGap,
            (false, false) => Joins::Directly,
        };
        let whole = known.whole;
        Some(Heard { text, joins, whole })
    }
}

/// Whether the Run that wrote the text is the live one, and its Item is not complete.
fn is_live(head: &Head, text: &LiveText) -> bool {
    head.deleted_ms.is_none()
        && head.fence.lease.is_some()
        && head.fence.generation == text.generation
        && head
            .turn
            .as_ref()
            .is_some_and(|turn| turn.number == text.turn)
        && is_open(head, text.item, text.part)
}

/// Whether this text of an Item may still be written: the Item is not there yet, or it is a command that runs.
pub fn is_open(head: &Head, item: u64, part: LivePart) -> bool {
    match part {
        LivePart::Message | LivePart::Summary(_) => item >= head.next.item,
        LivePart::Output => {
            let running = head.turn.as_ref().map(|turn| &turn.running);
            running.is_some_and(|running| running.contains(&item))
        }
    }
}

/// Whether a text comes before its turn: too many Items are recorded before its own, or a command still runs whose Item is told
/// first. Events tell one Item after the other, so such a text waits.
pub fn is_early(head: &Head, text: &LiveText) -> bool {
    let busy = head
        .turn
        .as_ref()
        .is_some_and(|turn| !turn.running.is_empty());
    let is_far = text.item >= head.next.item + AHEAD as u64;
    text.part != LivePart::Output && is_live(head, text) && (busy || is_far)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::ports::ExecutionId;
    use super::super::session::ActiveTurn;
    use super::*;

    /// A Session whose Turn 1 runs under generation 1; Item 5 is the next one, and the command that is Item 4 runs.
    fn head() -> Head {
        let mut head = Head::new("o".into(), 1);
        head.fence
            .claim(ExecutionId("x".into()), 10)
            .expect("it is free");
        let mut turn = ActiveTurn::queued(1);
        turn.running.push(4);
        head.turn = Some(turn);
        head.next.item = 5;
        head
    }

    fn text(item: u64, part: LivePart, offset_bytes: u64, text: &str) -> LiveText {
        LiveText {
            session: "sess_a".into(),
            generation: 1,
            turn: 1,
            item,
            output_index: 0,
            part,
            attempt: 0,
            offset_bytes,
            text: text.into(),
        }
    }

    fn message(offset_bytes: u64, words: &str) -> LiveText {
        text(5, LivePart::Message, offset_bytes, words)
    }

    fn shown(heard: Option<Heard>) -> Option<(String, Joins, bool)> {
        heard.map(|heard| (heard.text.text, heard.joins, heard.whole))
    }

    #[test]
    fn a_text_is_shown_once_and_in_order() {
        let (head, mut overheard) = (head(), Overheard::default());
        let mut take = |offset, words| shown(overheard.take(&head, message(offset, words)));
        assert_eq!(take(0, "so "), Some(("so ".into(), Joins::Directly, true)));
        assert_eq!(take(0, "so "), None, "a repetition");
        assert_eq!(
            take(1, "o far"),
            Some(("far".into(), Joins::Directly, true)),
            "half a repetition"
        );
        assert_eq!(take(9, "x"), Some(("x".into(), Joins::BehindGap, false)));
        assert_eq!(take(10, "y"), Some(("y".into(), Joins::Directly, false)));
    }

    #[test]
    fn whoever_comes_late_knows_that_something_is_missing() {
        let heard = Overheard::default().take(&head(), message(3, "far"));
        assert_eq!(shown(heard), Some(("far".into(), Joins::BehindGap, false)));
    }

    #[test]
    fn not_one_byte_of_another_generation_is_shown() {
        let mut overheard = Overheard::default();
        let fenced: [fn(&mut Head); 5] = [
            |head| head.fence.generation += 1,
            |head| head.fence.release().expect("leased"),
            |head| head.fence.lost_sight(9).expect("leased"),
            |head| head.deleted_ms = Some(1),
            |head| head.turn = Some(ActiveTurn::queued(2)),
        ];
        for fence in fenced {
            let mut head = head();
            fence(&mut head);
            assert_eq!(overheard.take(&head, message(0, "late")), None);
            assert_eq!(
                overheard.take(&head, text(4, LivePart::Output, 0, "late")),
                None
            );
        }
        assert!(overheard.take(&head(), message(0, "now")).is_some());
    }

    #[test]
    fn a_newer_run_begins_its_texts_anew() {
        let (mut head, mut overheard) = (head(), Overheard::default());
        assert!(overheard.take(&head, message(0, "old")).is_some());
        head.fence.generation += 1;
        let mut newer = message(0, "new text");
        newer.generation = 2;
        let heard = overheard.take(&head, newer);
        assert_eq!(
            shown(heard),
            Some(("new text".into(), Joins::Directly, true))
        );
    }

    #[test]
    fn nothing_is_shown_of_an_item_that_is_complete() {
        let (mut head, mut overheard) = (head(), Overheard::default());
        assert!(
            overheard
                .take(&head, text(4, LivePart::Output, 0, "a"))
                .is_some()
        );
        head.next.item = 6;
        if let Some(turn) = &mut head.turn {
            turn.running.clear();
        }
        assert_eq!(
            overheard.take(&head, text(4, LivePart::Output, 1, "b")),
            None
        );
        assert_eq!(overheard.take(&head, message(0, "a")), None);
        assert!(overheard.texts.is_empty());
    }

    #[test]
    fn a_text_that_began_anew_replaces_what_was_shown() {
        let (head, mut overheard) = (head(), Overheard::default());
        assert!(overheard.take(&head, message(0, "half")).is_some());
        let again = |offset, words| LiveText {
            attempt: 1,
            ..message(offset, words)
        };
        let heard = overheard.take(&head, again(0, "who"));
        assert_eq!(shown(heard), Some(("who".into(), Joins::Anew, false)));
        assert_eq!(overheard.take(&head, message(4, "late")), None);
        let heard = overheard.take(&head, again(3, "le"));
        assert_eq!(shown(heard), Some(("le".into(), Joins::Directly, false)));
        // Of this one nothing was shown that is void now.
        let other = LiveText {
            attempt: 1,
            ..text(6, LivePart::Message, 0, "x")
        };
        assert!(overheard.take(&head, other).is_some_and(|h| h.whole));
    }

    #[test]
    fn a_text_waits_for_the_items_before_its_own() {
        let mut head = head();
        assert!(is_early(&head, &message(0, "a")), "a command runs");
        assert!(!is_early(&head, &text(4, LivePart::Output, 0, "a")));
        if let Some(turn) = &mut head.turn {
            turn.running.clear();
        }
        assert!(!is_early(&head, &message(0, "a")));
        assert!(!is_early(&head, &text(7, LivePart::Message, 0, "a")));
        assert!(is_early(&head, &text(8, LivePart::Message, 0, "a")));
        head.fence.generation += 1;
        assert!(
            !is_early(&head, &text(8, LivePart::Message, 0, "a")),
            "it is void"
        );
    }
}
