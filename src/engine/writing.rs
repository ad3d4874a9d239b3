//! Texts that are being written, as the events of the wire that tell them. Pure.
//!
//! A reader of events can only append, so a text is told from its beginning or not at all, and no longer once something of it is
//! missing or void; its Item has the whole. Before the first piece come the steps that its Item begins with. They are the very
//! events that the journal will tell, and the position that they leave says that they were told: it is all that a stream has to
//! remember.

use super::ids::{self, Kind, SessionId};
use super::overhear::Heard;
use super::ports::{LivePart, LiveText};
use super::position::{AHEAD, Position, Written};
use super::steps::{self, Place};
use super::view;
use crate::api::{
    CommandOutputDeltaEvent, Event, OutputTextDeltaEvent, ReasoningSummaryTextDeltaEvent,
};

/// A text is kept up to this length while it is written: it is told whole when the next one begins.
const KEPT_BYTES: usize = 64 << 10;

/// What one stream tells of texts.
#[derive(Debug, Default)]
pub struct Writing {
    now: Option<Now>,
}

/// The Item that is being written.
#[derive(Debug)]
struct Now {
    kind: Written,
    /// The newest piece of it.
    newest: LiveText,
    /// Of which part it is, and that part so far.
    part: u64,
    text: String,
    /// Nothing more is told of it before it is recorded.
    is_silent: bool,
}

impl Now {
    /// The part is whole, because something else is written now. Nothing if it is not known whole, or recorded by now.
    fn end_part(&self, session: &SessionId, at: &mut Position, next_item: u64) -> Vec<Event> {
        let part = self.part;
        let Some(ahead) = ahead_of(next_item, &self.newest) else {
            return Vec::new();
        };
        let is_open = at.steps(ahead, self.kind) == steps::first_of(part);
        if self.is_silent || self.text.len() > KEPT_BYTES || !is_open {
            return Vec::new();
        }
        let id = item_id(session, &self.newest);
        let place = place(session, &self.newest, &id, ahead);
        let ends = steps::part_done(*at, &place, self.kind, part, &self.text, false);
        *at = at.step(ahead, self.kind, steps::first_of(part) + 2);
        ends.into()
    }
}

impl Writing {
    /// The events that tell this piece, and where the stream stands behind them. The stream must have told everything that the
    /// head has by which the piece was judged, and `next_item` is the next Item of that head.
    pub fn tell(
        &mut self,
        session: &SessionId,
        at: &mut Position,
        next_item: u64,
        heard: &Heard,
    ) -> Vec<Event> {
        let text = &heard.text;
        let (kind, part) = match text.part {
            LivePart::Message => (Written::Message, 0),
            LivePart::Summary(part) => (Written::Reasoning, part),
            LivePart::Output if heard.whole => return vec![delta(session, *at, text)],
            LivePart::Output => return Vec::new(),
        };
        let Some(ahead) = ahead_of(next_item, text) else {
            return Vec::new();
        };
        let id = item_id(session, text);
        let place = place(session, text, &id, ahead);
        let mut events = Vec::new();
        if self
            .now
            .as_ref()
            .is_none_or(|now| now.newest.item != text.item)
        {
            let before = self.now.take();
            // What an earlier stream told of it can't be gone on with.
            let is_silent = at.steps(ahead, kind) > 0 || part > 0 || !heard.whole;
            if !is_silent {
                let ends = before.map(|before| before.end_part(session, at, next_item));
                events.extend(ends.into_iter().flatten());
                events.push(steps::added(*at, &place, kind));
                events.push(steps::part_added(*at, &place, kind, part));
                *at = at.step(ahead, kind, steps::first_of(part));
            }
            self.now = Some(Now {
                kind,
                newest: text.clone(),
                part,
                text: String::new(),
                is_silent,
            });
        }
        let Some(now) = &mut self.now else {
            return events;
        };
        now.is_silent |= !now.goes_on_with(heard, part, ahead) || at.steps(ahead, kind) == 0;
        if now.is_silent {
            return events;
        }
        if part > now.part {
            events.extend(now.end_part(session, at, next_item));
            events.push(steps::part_added(*at, &place, kind, part));
            *at = at.step(ahead, kind, steps::first_of(part));
            now.part = part;
            now.text.clear();
        }
        now.newest = text.clone();
        if now.text.len() <= KEPT_BYTES {
            now.text.push_str(&text.text);
        }
        events.push(delta(session, *at, text));
        events
    }
}

impl Now {
    /// Whether a piece belongs behind what was told: of the same version, with nothing missing, and of the same part or the next.
    fn goes_on_with(&self, heard: &Heard, part: u64, ahead: usize) -> bool {
        let version = |text: &LiveText| (text.generation, text.attempt);
        let is_next = part == self.part + 1 && self.text.len() <= KEPT_BYTES;
        let can_be_named = steps::first_of(part) + 2 <= Position::most_steps(ahead, self.kind);
        version(&heard.text) == version(&self.newest)
            && heard.whole
            && (part == self.part || is_next && can_be_named)
    }
}

/// How many Items come before that of this piece; `None` if it is recorded, or too far ahead.
fn ahead_of(next_item: u64, text: &LiveText) -> Option<usize> {
    let ahead = usize::try_from(text.item.checked_sub(next_item)?).ok()?;
    (ahead < AHEAD).then_some(ahead)
}

fn place<'a>(session: &'a SessionId, text: &LiveText, item: &'a str, ahead: usize) -> Place<'a> {
    Place {
        session,
        turn: text.turn,
        ahead,
        item,
        output_index: text.output_index,
    }
}

fn item_id(session: &SessionId, text: &LiveText) -> String {
    let kind = match text.part {
        LivePart::Message => Kind::Message,
        LivePart::Summary(_) => Kind::Reasoning,
        LivePart::Output => Kind::Command,
    };
    ids::derived(kind, session, text.item)
}

/// A piece as an event. It is in no journal; whoever continues behind it is told what the journal has behind `at`.
fn delta(session: &SessionId, at: Position, piece: &LiveText) -> Event {
    let item_id = item_id(session, piece);
    let what = format!(
        "{item_id} {} {} {:?} {}",
        piece.generation, piece.attempt, piece.part, piece.offset_bytes
    );
    let event_id = at.id_beside(session, &what);
    let (session_id, turn_id) = (
        session.to_string(),
        Some(view::turn_id(session, piece.turn)),
    );
    let (output_index, delta) = (piece.output_index, piece.text.clone());
    match piece.part {
        LivePart::Message => Event::OutputTextDelta(OutputTextDeltaEvent {
            // A message of an agent is one part.
            content_index: 0,
            delta,
            event_id,
            item_id,
            output_index,
            session_id,
            turn_id,
            obfuscation: None,
        }),
        LivePart::Summary(summary_index) => {
            Event::ReasoningSummaryTextDelta(ReasoningSummaryTextDeltaEvent {
                delta,
                event_id,
                item_id,
                output_index,
                session_id,
                summary_index,
                turn_id,
                obfuscation: None,
            })
        }
        LivePart::Output => Event::CommandExecutionOutputDelta(CommandOutputDeltaEvent {
            delta,
            event_id,
            item_id,
            output_index,
            session_id,
            turn_id,
            obfuscation: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pretty_assertions::assert_eq;

    use super::super::journal::Entry;
    use super::super::overhear::Joins;
    use super::*;

    fn session() -> SessionId {
        SessionId::parse(&format!("sess_{}", "a".repeat(26))).expect("an id")
    }

    fn heard(part: LivePart, offset_bytes: u64, text: &str) -> Heard {
        Heard {
            text: LiveText {
                session: session().to_string(),
                generation: 1,
                turn: 1,
                item: 5,
                output_index: 2,
                part,
                attempt: 0,
                offset_bytes,
                text: text.into(),
            },
            joins: Joins::Directly,
            whole: true,
        }
    }

    fn message(offset_bytes: u64, text: &str) -> Heard {
        heard(LivePart::Message, offset_bytes, text)
    }

    /// Kinds of what is told, in short.
    fn kinds(events: &[Event]) -> Vec<&'static str> {
        let short = |event: &Event| event.kind().trim_start_matches("agent.session.turn.");
        events.iter().map(short).collect()
    }

    #[test]
    fn an_item_begins_before_its_first_piece_and_only_once() {
        let (mut writing, mut at) = (Writing::default(), Position::behind(9));
        let first = writing.tell(&session(), &mut at, 5, &message(0, "a"));
        assert_eq!(
            kinds(&first),
            ["item.added", "content_part.added", "output_text.delta"]
        );
        assert_eq!(at.steps(0, Written::Message), 2);
        let second = writing.tell(&session(), &mut at, 5, &message(1, "b"));
        assert_eq!(kinds(&second), ["output_text.delta"]);
        let told = first.iter().chain(&second);
        let ids: BTreeSet<&str> = told.clone().map(Event::event_id).collect();
        assert_eq!(ids.len(), 4);
        // Wherever it is cut, what was told of the Item is known.
        let steps: Vec<u64> = told
            .filter_map(|event| Position::parse(&session(), event.event_id()))
            .map(|at| at.steps(0, Written::Message))
            .collect();
        assert_eq!(steps, [1, 2, 2, 2]);
    }

    #[test]
    fn the_next_summary_ends_the_one_before() {
        let (mut writing, mut at) = (Writing::default(), Position::behind(9));
        let mut tell = |part, offset, text| {
            let heard = heard(LivePart::Summary(part), offset, text);
            kinds(&writing.tell(&session(), &mut at, 5, &heard))
                .join(" ")
                .replace("reasoning_summary_", "")
        };
        assert_eq!(tell(0, 0, "a"), "item.added part.added text.delta");
        assert_eq!(tell(0, 1, "b"), "text.delta");
        assert_eq!(tell(1, 0, "c"), "text.done part.done part.added text.delta");
        assert_eq!(tell(3, 0, "d"), "", "one is missing");
        assert_eq!(tell(1, 1, "e"), "", "nothing more of this item");
    }

    #[test]
    fn no_more_summaries_are_told_than_can_be_named() {
        for (item, ahead, parts) in [(5, 0, 83), (6, 1, 8), (7, 2, 8)] {
            let (mut writing, mut at) = (Writing::default(), Position::behind(9));
            let mut told = Vec::new();
            for part in 0..100 {
                let mut piece = heard(LivePart::Summary(part), 0, "a");
                piece.text.item = item;
                told.extend(writing.tell(&session(), &mut at, 5, &piece));
            }
            let ids: BTreeSet<&str> = told.iter().map(Event::event_id).collect();
            assert_eq!(ids.len(), told.len(), "{ahead} ahead");
            let begun = told
                .iter()
                .filter(|event| event.kind().ends_with("part.added"));
            assert_eq!(begun.count(), parts, "{ahead} ahead");
        }
    }

    #[test]
    fn a_text_is_not_told_from_its_midst_nor_beside_a_void_one() {
        let mut late = message(3, "far");
        late.whole = false;
        let mut anew = message(0, "else");
        anew.text.attempt = 1;
        let mut newer = message(0, "else");
        newer.text.generation = 2;
        for second in [late.clone(), anew, newer] {
            let (mut writing, mut at) = (Writing::default(), Position::behind(9));
            assert_eq!(
                writing
                    .tell(&session(), &mut at, 5, &message(0, "so "))
                    .len(),
                3
            );
            assert_eq!(writing.tell(&session(), &mut at, 5, &second), []);
            assert_eq!(writing.tell(&session(), &mut at, 5, &message(3, "x")), []);
        }
        let (mut writing, mut at) = (Writing::default(), Position::behind(9));
        assert_eq!(writing.tell(&session(), &mut at, 5, &late), []);
        assert_eq!(at, Position::behind(9));
    }

    #[test]
    fn a_stream_that_goes_on_behind_a_begun_item_does_not_begin_it_again() {
        let mut at = Position::behind(9).step(0, Written::Message, 1);
        let mut writing = Writing::default();
        assert_eq!(writing.tell(&session(), &mut at, 5, &message(0, "a")), []);
        assert_eq!(at, Position::behind(9).step(0, Written::Message, 1));
        // Reasoning that was begun and never came is no reason to be silent about a message.
        let mut at = Position::behind(9).step(0, Written::Reasoning, 2);
        let told = Writing::default().tell(&session(), &mut at, 5, &message(0, "a"));
        assert_eq!(told.len(), 3);
    }

    #[test]
    fn a_message_behind_reasoning_that_is_not_recorded_yet_begins_when_that_ends() {
        let (mut writing, mut at) = (Writing::default(), Position::behind(9));
        let mut behind = message(0, "so");
        behind.text.item = 6;
        let why = heard(LivePart::Summary(0), 0, "why");
        writing.tell(&session(), &mut at, 5, &why);
        let told = writing.tell(&session(), &mut at, 5, &behind);
        let seen = kinds(&told).join(" ");
        assert_eq!(
            seen,
            "reasoning_summary_text.done reasoning_summary_part.done item.added content_part.added output_text.delta"
        );
        assert_eq!(
            at,
            Position::behind(9)
                .step(0, Written::Reasoning, 4)
                .step(1, Written::Message, 2)
        );
        // Of reasoning that shows nothing there is nothing to tell before.
        let mut at = Position::behind(9);
        let told = Writing::default().tell(&session(), &mut at, 5, &behind);
        assert_eq!(told.len(), 3);
        assert_eq!(at, Position::behind(9).step(1, Written::Message, 2));
        // Once the reasoning is recorded, the message goes on as the next one.
        let recorded = Entry::Added { i: 5 };
        let mut at = at.told(10, &recorded, Some(Written::Reasoning));
        behind.text.offset_bytes = 2;
        let told = writing.tell(&session(), &mut at, 6, &behind);
        assert_eq!(kinds(&told), ["output_text.delta"]);
    }

    #[test]
    fn output_of_a_command_is_told_as_it_is() {
        let (mut writing, mut at) = (Writing::default(), Position::behind(9));
        let told = writing.tell(&session(), &mut at, 5, &heard(LivePart::Output, 0, "a"));
        assert_eq!(
            kinds(&told),
            ["agent.output.command_execution_output.delta"]
        );
        assert_eq!(at, Position::behind(9));
    }
}
