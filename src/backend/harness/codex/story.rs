//! What happened in a Turn so far: the recorded past, and what this worker saw since. A new process is fed from it.

use std::sync::Arc;

use serde_json::Value;

use super::setup;
use crate::backend::harness::responses::{Input, Log, call_id};
use crate::engine::ports::{Feed, FunctionAnswer, Past, PastEntry};

/// The phase of a message that ends the Turn.
pub const FINAL: &str = "final_answer";

/// The phase of a message that goes with further work.
pub const COMMENTARY: &str = "commentary";

/// The past of one Turn as it grows.
pub struct Story {
    history: Arc<Vec<Past>>,
    since: Vec<PastEntry>,
    /// Messages that the agent was not given yet, or of which it is not known that it was.
    waiting: Vec<Feed>,
}

impl Story {
    /// Of a Turn that begins or goes on with these messages.
    pub fn new(history: Arc<Vec<Past>>, waiting: Vec<Feed>) -> Story {
        Story {
            history,
            since: Vec::new(),
            waiting,
        }
    }

    /// Something happened.
    pub fn add(&mut self, past: Past) {
        self.since.push(PastEntry::new(past));
    }

    /// The client answered a call that the agent did not wait for.
    pub fn answered(&mut self, call_id: String, name: String, answer: FunctionAnswer) {
        self.add(Past::Answered {
            call_id,
            name,
            answer,
        });
    }

    /// A message that came meanwhile.
    pub fn hear(&mut self, message: Feed) {
        self.waiting.push(message);
    }

    /// Messages that are to be given.
    pub fn waiting(&self) -> &[Feed] {
        &self.waiting
    }

    /// The agent was given all messages up to the one of this number. Their numbers; none if they were told before.
    pub fn took(&mut self, input: u64) -> Vec<u64> {
        let Some(last) = self.waiting.iter().position(|feed| feed.input == input) else {
            return Vec::new();
        };
        let taken: Vec<Feed> = self.waiting.drain(..=last).collect();
        let numbers = taken.iter().map(|feed| feed.input).collect();
        for Feed { content, .. } in taken {
            self.add(Past::User { content });
        }
        numbers
    }

    /// Everything but the waiting messages as the model's items, of at most about `budget_bytes`.
    pub fn items(&self, budget_bytes: usize) -> Vec<Value> {
        let log = Log {
            history: &self.history,
            since: &self.since,
        };
        let items = Input::default().fitted(log, budget_bytes, 1);
        // A value that can't be written would be left out; there is none.
        let written = items
            .iter()
            .filter_map(|item| serde_json::to_value(item).ok());
        setup::items(written.collect())
    }

    /// What is at these places of the past, and all that happened since, as the model's items, of at most about `budget_bytes`.
    pub fn later(&self, places: &[usize], budget_bytes: usize) -> Vec<Value> {
        let entries = places.iter();
        let later = entries.filter_map(|at| PastEntry::of(&self.history, *at));
        let later = Story {
            history: Arc::default(),
            since: later.chain(self.since.iter().cloned()).collect(),
            waiting: Vec::new(),
        };
        later.items(budget_bytes)
    }

    /// The call that is recorded under this id.
    pub fn call(&self, id: &str) -> Option<&Past> {
        self.past().rev().find(|past| call_id(past) == Some(id))
    }

    /// Whether the agent has nothing more to do.
    pub fn is_answered(&self) -> bool {
        matches!(
            self.past().last(),
            Some(Past::Assistant { phase: Some(phase), .. }) if phase == FINAL
        )
    }

    /// Whether the client still owes an answer to a call behind the last message.
    pub fn awaits_answers(&self) -> bool {
        let recent = self.past().rev();
        recent
            .take_while(|past| !matches!(past, Past::User { .. }))
            .any(|past| matches!(past, Past::Function { output: None, .. }))
    }

    /// Whether the client still owes an answer that the agent does not wait for.
    pub fn awaits_late_answers(&self) -> bool {
        let is_answered = |id: &String| {
            self.past()
                .any(|past| matches!(past, Past::Answered { call_id, .. } if call_id == id))
        };
        self.past().any(
            |past| matches!(past, Past::Background { call_id, open: true, .. } if !is_answered(call_id)),
        )
    }

    /// Whether a call of the Session has this id.
    pub fn is_used(&self, id: &str) -> bool {
        self.call(id).is_some()
    }

    /// Whether the agent ever called a tool of its harness by this name.
    pub fn has_called(&self, name: &str) -> bool {
        self.past()
            .any(|past| matches!(past, Past::Tool { name: called, .. } if called == name))
    }

    /// The same of what is at these places of the past, and of all that happened since.
    pub fn has_called_later(&self, places: &[usize], name: &str) -> bool {
        let later = places.iter().filter_map(|at| self.history.get(*at));
        let since = self.since.iter().map(|entry| &**entry);
        later
            .chain(since)
            .any(|past| matches!(past, Past::Tool { name: called, .. } if called == name))
    }

    fn past(&self) -> impl DoubleEndedIterator<Item = &Past> {
        let since = self.since.iter().map(|entry| &**entry);
        self.history.iter().chain(since)
    }
}

/// One entry of a past as the model's items.
pub fn items_of(past: Past) -> Vec<Value> {
    Story::new(Arc::new(vec![past]), Vec::new()).items(usize::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn feed(input: u64) -> Feed {
        Feed {
            input,
            content: vec![json!({"type": "input_text", "text": format!("m{input}")})],
        }
    }

    #[test]
    fn a_message_is_taken_once_and_those_before_it_with_it() {
        let mut story = Story::new(Arc::default(), vec![feed(1), feed(2), feed(3)]);
        assert_eq!(story.took(2), [1, 2]);
        assert_eq!(story.took(2), Vec::<u64>::new());
        assert_eq!(story.waiting(), [feed(3)]);
        let items = story.items(1 << 20);
        let texts: Vec<&Value> = items
            .iter()
            .map(|item| &item["content"][0]["text"])
            .collect();
        assert_eq!(texts, ["m1", "m2"]);
    }

    #[test]
    fn what_came_later_is_told_alone() {
        let user = |text: &str| Past::User {
            content: vec![json!({"type": "input_text", "text": text})],
        };
        let history = Arc::new(vec![user("a"), user("b"), user("c")]);
        let mut story = Story::new(history, Vec::new());
        story.add(user("d"));
        let texts = |places: &[usize]| {
            let items = story.later(places, 1 << 20);
            let texts = items.iter().map(|item| item["content"][0]["text"].clone());
            texts.collect::<Vec<_>>()
        };
        assert_eq!(texts(&[1]), ["b", "d"]);
        assert_eq!(texts(&[]), ["d"]);
    }
}
