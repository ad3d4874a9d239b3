//! Steps: the events in which a message or a reasoning Item is told, from its beginning to its last part. Pure.
//!
//! They follow from the Item alone, so they are the same whenever they are told; the first of them are told while it is written.
//! `item.done` is none of them: it is in the journal.

use super::ids::SessionId;
use super::position::{Position, Written};
use super::view;
use crate::api::{
    CallStatus, ContentPartEvent, CutShort, Event, Item, ItemAddedEvent, MessageContent,
    MessageItem, OutputStatus, OutputText, OutputTextDoneEvent, ReasoningItem,
    ReasoningSummaryPartAddedEvent, ReasoningSummaryPartDoneEvent, ReasoningSummaryTextDoneEvent,
    Role, SummaryText,
};

/// Steps of one part: it is added, its text is whole, it is done.
const OF_PART: u64 = 3;

/// Where the Item is that is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) session: &'a SessionId,
    pub(super) turn: u64,
    /// Items that come before it and that the journal has not come to.
    pub(super) ahead: usize,
    /// The Item's id.
    pub(super) item: &'a str,
    pub(super) output_index: u64,
}

impl Place<'_> {
    fn turn_id(&self) -> String {
        view::turn_id(self.session, self.turn)
    }
}

/// Which step is the first of this part.
pub(super) fn first_of(part: u64) -> u64 {
    2 + OF_PART * part
}

/// All steps of an Item that is whole, in order. An Item that is told at once has none.
pub(super) fn steps(at: Position, place: &Place<'_>, item: &Item) -> Vec<Event> {
    let (kind, texts, cut) = match item {
        Item::Message(message) if message.role == Role::Assistant => {
            let texts = message.content.iter().map(|part| match part {
                MessageContent::OutputText { text } | MessageContent::InputText { text } => {
                    text.as_str()
                }
                MessageContent::InputImage { .. } => "",
            });
            let cut = message.status == OutputStatus::Incomplete;
            (Written::Message, texts.collect::<Vec<_>>(), cut)
        }
        Item::Reasoning(reasoning) => {
            let texts = reasoning.summary.iter().map(|part| part.text.as_str());
            let cut = reasoning.status == Some(OutputStatus::Incomplete);
            (Written::Reasoning, texts.collect(), cut)
        }
        _ => return Vec::new(),
    };
    let mut events = vec![added(at, place, kind)];
    let most = Position::most_steps(place.ahead, kind);
    let can_be_named = |part| first_of(part) + OF_PART - 1 <= most;
    for (part, text) in (0..).take_while(|&part| can_be_named(part)).zip(texts) {
        events.push(part_added(at, place, kind, part));
        events.extend(part_done(at, place, kind, part, text, cut));
    }
    events
}

/// The first step: the Item, with nothing in it.
pub(super) fn added(at: Position, place: &Place<'_>, kind: Written) -> Event {
    let (id, turn_id) = (place.item.to_owned(), place.turn_id());
    let item = match kind {
        Written::Message => Item::Message(MessageItem {
            id: Some(id),
            content: Vec::new(),
            phase: None,
            role: Role::Assistant,
            status: OutputStatus::InProgress,
            turn_id,
        }),
        Written::Reasoning => Item::Reasoning(ReasoningItem {
            id,
            status: Some(OutputStatus::InProgress),
            summary: Vec::new(),
            turn_id,
        }),
    };
    Event::ItemAdded(ItemAddedEvent {
        event_id: at.step(place.ahead, kind, 1).id(place.session),
        item: Box::new(item),
        output_index: Some(place.output_index),
        session_id: place.session.to_string(),
        turn_id: Some(place.turn_id()),
        obfuscation: None,
    })
}

/// A part begins, with no text yet.
pub(super) fn part_added(at: Position, place: &Place<'_>, kind: Written, part: u64) -> Event {
    let event_id = at.step(place.ahead, kind, first_of(part)).id(place.session);
    match kind {
        Written::Message => Event::ContentPartAdded(content_part(place, event_id, part, "")),
        Written::Reasoning => Event::ReasoningSummaryPartAdded(ReasoningSummaryPartAddedEvent {
            event_id,
            item_id: place.item.to_owned(),
            output_index: place.output_index,
            part: SummaryText {
                text: String::new(),
            },
            session_id: place.session.to_string(),
            summary_index: part,
            turn_id: Some(place.turn_id()),
            obfuscation: None,
        }),
    }
}

/// A part's text is whole, and so is the part; `cut`: it stopped early.
pub(super) fn part_done(
    at: Position,
    place: &Place<'_>,
    kind: Written,
    part: u64,
    text: &str,
    cut: bool,
) -> [Event; 2] {
    let id = |step| at.step(place.ahead, kind, step).id(place.session);
    let (text_id, part_id) = (id(first_of(part) + 1), id(first_of(part) + 2));
    let item_id = || place.item.to_owned();
    let (session_id, turn_id) = (place.session.to_string(), Some(place.turn_id()));
    let output_index = place.output_index;
    match kind {
        Written::Message => {
            let whole = content_part(place, part_id, part, text);
            let done = OutputTextDoneEvent {
                content_index: part,
                event_id: text_id,
                item_id: item_id(),
                output_index,
                session_id,
                text: text.to_owned(),
                turn_id,
                obfuscation: None,
            };
            [Event::OutputTextDone(done), Event::ContentPartDone(whole)]
        }
        Written::Reasoning => {
            let done = ReasoningSummaryTextDoneEvent {
                event_id: text_id,
                item_id: item_id(),
                output_index,
                session_id: session_id.clone(),
                summary_index: part,
                text: text.to_owned(),
                turn_id: turn_id.clone(),
                obfuscation: None,
            };
            let whole = ReasoningSummaryPartDoneEvent {
                event_id: part_id,
                item_id: item_id(),
                output_index,
                part: SummaryText {
                    text: text.to_owned(),
                },
                session_id,
                status: cut.then_some(CutShort::Incomplete),
                summary_index: part,
                turn_id,
                obfuscation: None,
            };
            let done = Event::ReasoningSummaryTextDone(done);
            [done, Event::ReasoningSummaryPartDone(whole)]
        }
    }
}

fn content_part(place: &Place<'_>, event_id: String, part: u64, text: &str) -> ContentPartEvent {
    ContentPartEvent {
        content_index: part,
        event_id,
        item_id: place.item.to_owned(),
        output_index: place.output_index,
        part: OutputText {
            text: text.to_owned(),
        },
        session_id: place.session.to_string(),
        turn_id: Some(place.turn_id()),
        obfuscation: None,
    }
}

/// An Item that is told at once, as it was when it began; `ended`: it was over in the same moment.
pub(super) fn as_begun(mut item: Item, ended: bool) -> Item {
    match &mut item {
        Item::CommandExecution(command) => {
            command.status = CallStatus::InProgress;
            command.exit_code = None;
            command.output = None;
            command.duration_ms = None;
        }
        Item::CreateSubagentCall(call) => call.status = CallStatus::InProgress,
        Item::SendSubagentInputCall(call) => call.status = CallStatus::InProgress,
        Item::WaitForSubagentsCall(call) => call.status = CallStatus::InProgress,
        Item::ResumeSubagentCall(call)
        | Item::InterruptSubagentCall(call)
        | Item::CloseSubagentCall(call) => call.status = CallStatus::InProgress,
        // Whoever is told of a call that waits answers it.
        Item::FunctionCall(call) if !ended => call.status = CallStatus::InProgress,
        _ => {}
    }
    item
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pretty_assertions::assert_eq;

    use super::*;

    fn told(item: &Item) -> Vec<String> {
        let session = SessionId::parse(&format!("sess_{}", "a".repeat(26))).expect("an id");
        let place = Place {
            session: &session,
            turn: 1,
            ahead: 0,
            item: "x",
            output_index: 3,
        };
        let events = steps(Position::behind(9), &place, item);
        let ids: BTreeSet<&str> = events.iter().map(Event::event_id).collect();
        assert_eq!(ids.len(), events.len());
        let last = events.last().map(Event::event_id);
        let last = last.and_then(|id| Position::parse(&session, id));
        let told = last.map(|at| at.steps(0, Written::Message) + at.steps(0, Written::Reasoning));
        assert_eq!(told.unwrap_or_default(), events.len() as u64);
        let lines = events.iter().map(|event| {
            let value = serde_json::to_value(event).expect("JSON");
            let text = value.get("text").or(value.pointer("/part/text"));
            let status = value.get("status").filter(|status| !status.is_null());
            let part = value.get("summary_index").or(value.get("content_index"));
            let kind = event.kind().replace("agent.session.turn.", "");
            let rest = [part, text, status].into_iter().flatten();
            rest.fold(kind, |line, value| format!("{line} {value}"))
        });
        lines.collect()
    }

    #[test]
    fn a_message_is_told_from_its_beginning_to_its_part() {
        let message = Item::Message(MessageItem {
            id: Some("x".into()),
            content: vec![MessageContent::OutputText { text: "hi".into() }],
            phase: None,
            role: Role::Assistant,
            status: OutputStatus::Completed,
            turn_id: "t".into(),
        });
        assert_eq!(
            told(&message),
            [
                "item.added",
                "content_part.added 0 \"\"",
                "output_text.done 0 \"hi\"",
                "content_part.done 0 \"hi\"",
            ]
        );
    }

    #[test]
    fn every_summary_of_reasoning_is_a_part_and_one_that_was_cut_says_so() {
        let summary = ["a", "b"].map(|text| SummaryText { text: text.into() });
        let mut reasoning = ReasoningItem {
            id: "x".into(),
            status: Some(OutputStatus::Completed),
            summary: summary.to_vec(),
            turn_id: "t".into(),
        };
        assert_eq!(
            told(&Item::Reasoning(reasoning.clone())),
            [
                "item.added",
                "reasoning_summary_part.added 0 \"\"",
                "reasoning_summary_text.done 0 \"a\"",
                "reasoning_summary_part.done 0 \"a\"",
                "reasoning_summary_part.added 1 \"\"",
                "reasoning_summary_text.done 1 \"b\"",
                "reasoning_summary_part.done 1 \"b\"",
            ]
        );
        reasoning
            .summary
            .resize(1_000, SummaryText { text: "c".into() });
        let many = told(&Item::Reasoning(reasoning.clone()));
        assert!(many.len() < 260 && many.len() > 240, "{}", many.len());
        reasoning.status = Some(OutputStatus::Incomplete);
        let cut = told(&Item::Reasoning(reasoning));
        assert_eq!(cut[3], "reasoning_summary_part.done 0 \"a\" \"incomplete\"");
    }
}
