//! Live text, where it is written: what a harness reports of texts that are not complete yet, gathered for a moment and told to
//! whoever follows the Session. Pure, but for the telling, which never waits.
//!
//! Nothing here is stored and nothing depends on it. Where an Item is not recorded yet, its number is foretold: it is the next
//! one behind everything that was seen before. Should that turn out wrong, a follower has seen text beside an Item that never
//! came, and the complete Item all the same.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::item::ItemRow;
use super::observe::Op;
use super::overhear::is_open;
use super::ports::{Bell, LivePart, LiveText};
use super::session::Head;

/// Text is told at most this often.
const PAUSE: Duration = Duration::from_millis(50);
/// Text that is gathered between two tellings. What is more is not told: followers see the gap, and later the Item.
const GATHERED_BYTES: usize = 64 << 10;

/// Where a text belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Turn number.
    pub(super) turn: u64,
    /// Item number.
    pub(super) item: u64,
    /// Its place among the Turn's output.
    pub(super) output_index: u64,
}

impl Place {
    /// Of an Item that is recorded.
    pub(super) fn of(item: u64, row: &ItemRow) -> Place {
        Place {
            turn: row.turn,
            item,
            output_index: row.output_index.unwrap_or_default(),
        }
    }

    /// Where the output will be that comes `ahead` outputs behind all that is recorded in `head` or waits in `ops`. `None` without
    /// an active Turn.
    pub(super) fn next(head: &Head, ops: &[Op], generation: u64, ahead: u64) -> Option<Place> {
        let turn = head.turn.as_ref()?;
        let unseen = |input: &&u64| {
            head.pending.iter().any(|pending| {
                pending.input == **input && pending.claimed == generation && pending.item.is_none()
            })
        };
        let (mut items, mut outputs) = (0, 0);
        for op in ops {
            match op {
                Op::Took(inputs) => items += inputs.iter().filter(unseen).count() as u64,
                Op::Item(_) | Op::Function { .. } | Op::Began { .. } => outputs += 1,
                Op::Heard { .. } => items += 1,
                Op::Ended(..)
                | Op::Subagent(_)
                | Op::ModelCall(_)
                | Op::Opened { .. }
                | Op::Troubled(_)
                | Op::Checkpoint(_)
                | Op::Run(_) => {}
            }
        }
        Some(Place {
            turn: turn.number,
            item: head.next.item + items + outputs + ahead,
            output_index: turn.outputs + outputs + ahead,
        })
    }
}

/// Texts of one Turn that are being written.
#[derive(Debug)]
pub(super) struct LiveTexts {
    session: String,
    generation: u64,
    /// In the order in which they were written.
    gathered: Vec<LiveText>,
    gathered_bytes: usize,
    /// Bytes so far of each text that may go on.
    lengths: HashMap<(u64, LivePart), u64>,
    attempt: u32,
    /// Where the text that is being written belongs has changed: the rest of it is not told.
    moved: bool,
    told_at: Option<Instant>,
}

impl LiveTexts {
    /// Nothing is written yet.
    pub(super) fn new(session: String, generation: u64) -> LiveTexts {
        LiveTexts {
            session,
            generation,
            gathered: Vec::new(),
            gathered_bytes: 0,
            lengths: HashMap::new(),
            attempt: 0,
            moved: false,
            told_at: None,
        }
    }

    /// More of a text was written.
    pub(super) fn add(&mut self, place: Place, part: LivePart, text: &str) {
        if self.moved && part != LivePart::Output {
            return;
        }
        let length = self.lengths.entry((place.item, part)).or_default();
        let offset_bytes = *length;
        *length += text.len() as u64;
        if text.is_empty() || self.gathered_bytes + text.len() > GATHERED_BYTES {
            return;
        }
        self.gathered_bytes += text.len();
        match self.gathered.last_mut() {
            Some(last)
                if (last.item, last.part) == (place.item, part)
                    && last.attempt == self.attempt
                    && last.end_bytes() == offset_bytes =>
            {
                last.text.push_str(text);
            }
            _ => self.gathered.push(LiveText {
                session: self.session.clone(),
                generation: self.generation,
                turn: place.turn,
                item: place.item,
                output_index: place.output_index,
                part,
                attempt: self.attempt,
                offset_bytes,
                text: text.to_owned(),
            }),
        }
    }

    /// The model begins anew: what it wrote of a message and of reasoning is void.
    pub(super) fn void(&mut self) {
        self.attempt += 1;
        self.moved = false;
        self.lengths
            .retain(|(_, part), _| *part == LivePart::Output);
        self.gathered.retain(|text| text.part == LivePart::Output);
        self.gathered_bytes = self.gathered.iter().map(|text| text.text.len()).sum();
    }

    /// What the model was writing is complete.
    pub(super) fn complete(&mut self) {
        self.moved = false;
        self.lengths
            .retain(|(_, part), _| *part == LivePart::Output);
    }

    /// An Item was recorded that nobody foresaw: what is being written gets another number.
    pub(super) fn move_on(&mut self) {
        let written = |(_, part): &(u64, LivePart)| *part != LivePart::Output;
        self.moved |= self.lengths.keys().any(written);
    }

    /// Forgets texts of Items that are complete by now.
    pub(super) fn forget_complete(&mut self, head: &Head) {
        self.lengths
            .retain(|(item, part), _| is_open(head, *item, *part));
    }

    /// When what is gathered should be told; `None` if there is nothing.
    pub(super) fn due(&self) -> Option<Instant> {
        let now = Instant::now;
        (!self.gathered.is_empty()).then(|| self.told_at.map_or_else(now, |at| at + PAUSE))
    }

    /// Tells what is gathered.
    pub(super) fn tell(&mut self, bell: &dyn Bell) {
        if self.gathered.is_empty() {
            return;
        }
        self.told_at = Some(Instant::now());
        self.gathered_bytes = 0;
        for text in self.gathered.drain(..) {
            in_pieces(text, |piece| bell.tell(piece));
        }
    }
}

/// Cuts a text into pieces that can be told, each of whole characters.
fn in_pieces(mut rest: LiveText, mut each: impl FnMut(&LiveText)) {
    while rest.text.len() > LiveText::MAX_BYTES {
        let at = rest.text.floor_char_boundary(LiveText::MAX_BYTES);
        let behind = rest.text.split_off(at);
        each(&rest);
        rest.offset_bytes = rest.end_bytes();
        rest.text = behind;
    }
    each(&rest);
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use pretty_assertions::assert_eq;
    use tokio::sync::mpsc;

    use super::*;

    #[derive(Default)]
    struct Recorder(Mutex<Vec<LiveText>>);

    impl Bell for Recorder {
        fn ring(&self, _: &str) {}
        fn ring_change(&self, _: &str) {}
        fn listen(&self) -> mpsc::Receiver<String> {
            mpsc::channel(1).1
        }
        fn listen_work(&self) -> mpsc::Receiver<String> {
            mpsc::channel(1).1
        }
        fn tell(&self, text: &LiveText) {
            self.0.lock().expect("one thread").push(text.clone());
        }
        fn overhear(&self, _: &str) -> mpsc::Receiver<LiveText> {
            mpsc::channel(1).1
        }
    }

    fn at(item: u64) -> Place {
        Place {
            turn: 1,
            item,
            output_index: item - 2,
        }
    }

    fn told(texts: &mut LiveTexts) -> Vec<(u64, u32, u64, String)> {
        let bell = Recorder::default();
        texts.tell(&bell);
        let told = bell.0.into_inner().expect("one thread");
        told.into_iter()
            .map(|t| (t.item, t.attempt, t.offset_bytes, t.text))
            .collect()
    }

    #[test]
    fn pieces_of_one_text_are_told_together_and_offsets_go_on() {
        let mut texts = LiveTexts::new("sess_a".into(), 3);
        texts.add(at(2), LivePart::Message, "so ");
        texts.add(at(2), LivePart::Message, "far");
        texts.add(at(3), LivePart::Output, "x");
        assert_eq!(
            told(&mut texts),
            [(2, 0, 0, "so far".into()), (3, 0, 0, "x".into())]
        );
        assert_eq!(told(&mut texts), []);
        texts.add(at(2), LivePart::Message, "é");
        texts.add(at(2), LivePart::Message, "!");
        assert_eq!(told(&mut texts), [(2, 0, 6, "é!".into())]);
    }

    #[test]
    fn a_text_that_begins_anew_begins_at_its_start_and_output_goes_on() {
        let mut texts = LiveTexts::new("sess_a".into(), 3);
        texts.add(at(2), LivePart::Output, "out");
        texts.add(at(3), LivePart::Message, "half");
        texts.void();
        texts.add(at(2), LivePart::Output, "put");
        texts.add(at(3), LivePart::Message, "whole");
        let told = told(&mut texts);
        assert_eq!(
            told,
            [
                (2, 0, 0, "out".into()),
                (2, 1, 3, "put".into()),
                (3, 1, 0, "whole".into())
            ]
        );
    }

    #[test]
    fn a_text_that_gets_another_number_is_not_told_as_if_it_began_there() {
        let mut texts = LiveTexts::new("sess_a".into(), 3);
        texts.move_on();
        texts.add(at(2), LivePart::Message, "so ");
        assert_eq!(told(&mut texts), [(2, 0, 0, "so ".into())]);
        texts.move_on();
        texts.add(at(3), LivePart::Message, "far");
        texts.add(at(9), LivePart::Output, "out");
        assert_eq!(told(&mut texts), [(9, 0, 0, "out".into())]);
        texts.complete();
        texts.add(at(4), LivePart::Message, "next");
        assert_eq!(told(&mut texts), [(4, 0, 0, "next".into())]);
    }

    #[test]
    fn what_is_too_much_leaves_a_gap() {
        let mut texts = LiveTexts::new("sess_a".into(), 3);
        texts.add(at(2), LivePart::Output, &"é".repeat(GATHERED_BYTES / 2));
        texts.add(at(2), LivePart::Output, "lost");
        let pieces = told(&mut texts);
        assert_eq!(pieces.len(), GATHERED_BYTES / LiveText::MAX_BYTES);
        let mut end = 0;
        for (_, _, offset_bytes, text) in pieces {
            assert_eq!(offset_bytes, end);
            assert!(text.len() <= LiveText::MAX_BYTES);
            end += text.len() as u64;
        }
        texts.add(at(2), LivePart::Output, "more");
        assert_eq!(
            told(&mut texts),
            [(2, 0, GATHERED_BYTES as u64 + 4, "more".into())]
        );
    }
}
