//! What passes between Codex and its model, in order: what the model says, and what it is told.
//!
//! The proxy sees it before Codex can act on it, and holds back what must be recorded first. Codex tells of the same on another way, and of what the
//! proxy can't know: that a message of the user was taken, how a patch ended. So what the proxy says waits in a line until Codex has told what comes before
//! it. Each agent of a process has a conversation with the model, and a line, of its own; they go on side by side. `passing` is what is done with them.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::engine::ports::Fenced;

type Go = oneshot::Sender<Result<(), Fenced>>;

/// The lines of all agents, by Codex' names of their conversations.
#[derive(Default)]
pub struct Witness(BTreeMap<String, Line>);

/// What waits of one conversation, oldest first, and what Codex has told of it.
#[derive(Default)]
pub struct Line {
    waiting: VecDeque<(Passed, Instant)>,
    /// Items of the model that Codex has told, by their ids.
    told: HashSet<String>,
    /// What other agents let this one know, as far as that was passed on or is of an earlier process.
    heard: HashSet<String>,
    /// Messages of the user that Codex has told.
    messages: usize,
    /// Messages of the user that it must have told by now.
    expected: usize,
    /// Messages in the last request.
    asked: Option<usize>,
    /// The request that is being answered is none of the Turn: the history is shortened.
    aside: bool,
}

/// Something that passed.
pub(super) enum Passed {
    /// The model is about to be told how calls ended, and what other agents said.
    Ask { news: Vec<Value>, go: Go },
    /// A message of the model, by its id.
    Message(String),
    /// What the model thought, or its provider searched for it.
    Kept(Value),
    /// What the model asked for.
    Call { item: Value, go: Go },
    /// The model's answer is complete.
    Complete,
}

/// A request to the model.
pub(super) struct Request {
    /// What it tells of calls and of other agents, oldest first.
    pub(super) news: Vec<Value>,
    /// Messages of the user in it.
    pub(super) messages: usize,
    /// It is about the conversation and no part of it.
    pub(super) is_aside: bool,
}

impl Witness {
    /// A conversation is followed that is given a message at first, or none.
    pub fn follow(&mut self, thread: &str, is_given_message: bool) {
        let line = self.line(thread);
        line.expected = line.expected.max(usize::from(is_given_message));
    }

    /// Codex told of an item that is complete.
    pub fn told(&mut self, thread: &str, item: &Value) {
        self.line(thread).told(item);
    }

    /// What is known of a conversation; `None`: it is not followed.
    pub fn of(&self, thread: &str) -> Option<&Line> {
        self.0.get(thread)
    }

    /// Whether nothing waits.
    pub fn is_idle(&self) -> bool {
        self.0.values().all(Line::is_idle)
    }

    pub(super) fn line(&mut self, thread: &str) -> &mut Line {
        self.0.entry(thread.to_owned()).or_default()
    }

    /// The conversations of which something waits.
    pub(super) fn waiting(&self) -> Vec<String> {
        let waiting = self.0.iter().filter(|(_, line)| !line.is_idle());
        waiting.map(|(thread, _)| thread.clone()).collect()
    }
}

impl Line {
    /// Whether nothing waits.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether Codex has told of all these items.
    pub fn has_told(&self, ids: impl IntoIterator<Item = impl AsRef<str>>) -> bool {
        ids.into_iter().all(|id| self.told.contains(id.as_ref()))
    }

    /// Whether all that other agents said, by these ids, was passed on.
    pub fn has_heard(&self, ids: impl IntoIterator<Item = impl AsRef<str>>) -> bool {
        ids.into_iter().all(|id| self.heard.contains(id.as_ref()))
    }

    pub(super) fn told(&mut self, item: &Value) {
        if item["type"] == "userMessage" {
            self.messages += 1;
        }
        self.told.extend(id_of(item));
    }

    /// A request is about to be made. Messages that are more than before are new ones.
    pub(super) fn asks(&mut self, request: Request, go: Go) {
        let Request {
            news,
            messages,
            is_aside,
        } = request;
        self.aside = is_aside;
        if !is_aside {
            match self.asked.replace(messages) {
                Some(before) => self.expected += messages.saturating_sub(before),
                // What it begins with is known.
                None => self.heard.extend(news.iter().filter_map(note)),
            }
        }
        self.push(Passed::Ask { news, go });
    }

    /// The model wrote something. Of what it writes aside nothing is followed.
    pub(super) fn wrote(&mut self, passed: Passed) {
        match passed {
            // Nobody waits for it to be recorded.
            Passed::Call { go, .. } if self.aside => drop(go.send(Ok(()))),
            _ if self.aside => {}
            passed => self.push(passed),
        }
    }

    /// What was passed on may never have arrived.
    pub(super) fn broke_off(&mut self) {
        self.waiting
            .retain(|(passed, _)| !matches!(passed, Passed::Message(_)));
    }

    /// What waits longest, and how long.
    pub(super) fn front(&self) -> Option<(&Passed, Duration)> {
        let (passed, since) = self.waiting.front()?;
        Some((passed, since.elapsed()))
    }

    /// Takes it.
    pub(super) fn pop(&mut self) -> Option<Passed> {
        self.waiting.pop_front().map(|(passed, _)| passed)
    }

    /// Whether Codex has told of all messages that it was given so far.
    pub(super) fn is_taken(&self) -> bool {
        self.messages >= self.expected
    }

    /// Codex does not tell what it was waited for.
    pub(super) fn give_up(&mut self) {
        self.messages = self.messages.max(self.expected);
    }

    /// What of these news is to be looked at: of each call the last output, because an id may have been given to a call before, and what
    /// other agents said that was not heard yet. That is heard now.
    pub(super) fn new_of(&mut self, news: Vec<Value>) -> Vec<Value> {
        let newest: Vec<bool> = newest(&news).collect();
        let news = news.into_iter().zip(newest);
        news.filter(|(item, is_newest)| match note(item) {
            Some(said) => self.heard.insert(said),
            None => *is_newest,
        })
        .map(|(item, _)| item)
        .collect()
    }

    fn push(&mut self, passed: Passed) {
        self.waiting.push_back((passed, Instant::now()));
    }
}

/// Of each item whether it is the last output of its call.
pub(super) fn newest(news: &[Value]) -> impl Iterator<Item = bool> {
    let places = news.iter().enumerate();
    places.map(|(at, item)| {
        let is_same = |later: &Value| later["call_id"] == item["call_id"];
        !news[at + 1..].iter().any(is_same)
    })
}

/// What another agent said, by its id or, without one, by its words. `None`: it is the end of a call.
fn note(item: &Value) -> Option<String> {
    let is_note = item["type"] == "message";
    is_note.then(|| id_of(item).unwrap_or_else(|| item["content"].to_string()))
}

pub(super) fn id_of(item: &Value) -> Option<String> {
    let id = item["id"].as_str().filter(|id| !id.is_empty());
    id.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn request(messages: usize, news: &[Value]) -> Request {
        Request {
            news: news.to_vec(),
            messages,
            is_aside: false,
        }
    }

    fn asks(line: &mut Line, messages: usize, news: &[Value]) {
        line.asks(request(messages, news), oneshot::channel().0);
    }

    #[test]
    fn of_the_outputs_of_one_id_the_last_one_counts() {
        let output = |id: &str, text: &str| json!({"type": "function_call_output", "call_id": id, "output": text});
        let all = vec![output("a", "1"), output("b", "2"), output("a", "3")];
        let new = Line::default().new_of(all);
        let texts: Vec<&Value> = new.iter().map(|output| &output["output"]).collect();
        assert_eq!(texts, ["2", "3"]);
    }

    #[test]
    fn what_another_agent_said_is_heard_once_and_what_it_said_before_not_at_all() {
        let note = |id: Option<&str>, text: &str| {
            let content = json!([{"type": "input_text", "text": text}]);
            match id {
                Some(id) => {
                    json!({"type": "message", "role": "user", "id": id, "content": content})
                }
                None => json!({"type": "message", "role": "user", "content": content}),
            }
        };
        let (old, bare) = (note(Some("n1"), "done"), note(None, "done"));
        let (new, same) = (note(Some("n2"), "done"), note(Some("n3"), "done"));
        let mut line = Line::default();
        let first = [old.clone(), bare.clone()];
        asks(&mut line, 2, &first);
        assert_eq!(line.new_of(first.to_vec()), [Value::Null; 0]);
        let second = vec![old.clone(), bare.clone(), new.clone()];
        assert_eq!(line.new_of(second), vec![new.clone()]);
        // Also where the history is shorter than it was.
        let third = vec![new, same.clone()];
        assert_eq!(line.new_of(third), [same]);
        assert!(line.has_heard(["n1", "n2", "n3"]));
        assert!(!line.has_heard(["n4"]));
    }

    #[test]
    fn a_request_waits_for_the_messages_that_are_new_in_it() {
        let message = json!({"type": "userMessage", "id": "u"});
        let mut witness = Witness::default();
        witness.follow("t", true);
        let line = witness.line("t");
        asks(line, 5, &[]);
        assert_eq!((line.expected, line.messages), (1, 0));
        line.told(&message);
        asks(line, 5, &[]);
        assert_eq!(line.expected, 1);
        asks(line, 7, &[]);
        assert_eq!(line.expected, 3);
        // One of them was none that Codex tells of.
        line.told(&message);
        assert!(!line.is_taken());
        line.give_up();
        assert!(line.is_taken());
        // Shortened.
        asks(line, 2, &[]);
        assert_eq!(line.expected, 3);
        asks(line, 3, &[]);
        assert_eq!(line.expected, 4);
    }

    #[test]
    fn each_conversation_has_a_line_of_its_own() {
        let mut witness = Witness::default();
        witness.told("a", &json!({"type": "agentMessage", "id": "m"}));
        witness.line("b").wrote(Passed::Message("m".to_owned()));
        assert_eq!(witness.waiting(), ["b"]);
        assert!(witness.of("a").is_some_and(|line| line.has_told(["m"])));
        assert!(witness.of("b").is_some_and(|line| !line.has_told(["m"])));
        witness.line("b").broke_off();
        assert!(witness.is_idle() && witness.of("c").is_none());
    }

    #[test]
    fn what_is_said_aside_is_held_back_by_nobody() {
        let mut line = Line::default();
        let aside = Request {
            is_aside: true,
            ..request(3, &[])
        };
        line.asks(aside, oneshot::channel().0);
        let (go, mut answered) = oneshot::channel();
        let item = Value::Null;
        line.wrote(Passed::Call { item, go });
        line.wrote(Passed::Complete);
        assert!(matches!(answered.try_recv(), Ok(Ok(()))));
        assert!(matches!(line.pop(), Some(Passed::Ask { .. })));
        assert!(line.is_idle());
        assert_eq!(line.asked, None);
    }
}
