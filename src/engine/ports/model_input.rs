//! What a model is given to read: the items of a conversation, in the Responses API's terms.
//!
//! A conversation is long, and each call of a Turn begins with what the one before it had. So an item holds no text of its own: it points to where
//! the text was recorded, and is written out only where a request is sent.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::Value;

use super::harness::Past;
use crate::engine::weight::{json_bytes, list_bytes, object_bytes, text_bytes};

/// An entry of the past, which stays as long as somebody points to it.
#[derive(Clone)]
pub struct PastEntry(Held);

#[derive(Clone)]
enum Held {
    /// The place in a history.
    In(Arc<Vec<Past>>, usize),
    Alone(Arc<Past>),
}

impl PastEntry {
    /// One that is recorded now.
    pub fn new(past: Past) -> PastEntry {
        PastEntry(Held::Alone(Arc::new(past)))
    }

    /// The entry at a place of a history; `None` behind its end.
    pub fn of(history: &Arc<Vec<Past>>, at: usize) -> Option<PastEntry> {
        (at < history.len()).then(|| PastEntry(Held::In(Arc::clone(history), at)))
    }
}

impl Deref for PastEntry {
    type Target = Past;

    fn deref(&self) -> &Past {
        match &self.0 {
            Held::In(history, at) => &history[*at],
            Held::Alone(past) => past,
        }
    }
}

/// A text, or content parts: a part of what was recorded, or a value that belongs to whoever shares it.
pub struct Shared<T: ?Sized + 'static>(Source<T>);

enum Source<T: ?Sized + 'static> {
    Own(Arc<T>),
    Part(PastEntry, fn(&Past) -> &T),
}

impl<T: ?Sized> Shared<T> {
    /// The part of an entry that `part` answers.
    pub fn part(entry: &PastEntry, part: fn(&Past) -> &T) -> Shared<T> {
        Shared(Source::Part(entry.clone(), part))
    }
}

impl<T: ?Sized, V: Into<Arc<T>>> From<V> for Shared<T> {
    fn from(value: V) -> Shared<T> {
        Shared(Source::Own(value.into()))
    }
}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Source::Own(value) => value,
            Source::Part(entry, part) => part(entry),
        }
    }
}

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(match &self.0 {
            Source::Own(value) => Source::Own(Arc::clone(value)),
            Source::Part(entry, part) => Source::Part(entry.clone(), *part),
        })
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Shared<T>) -> bool {
        self.deref() == other.deref()
    }
}

impl<T: ?Sized + Eq> Eq for Shared<T> {}

impl<T: ?Sized + Hash> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.deref().hash(state);
    }
}

impl Borrow<str> for Shared<str> {
    fn borrow(&self) -> &str {
        self
    }
}

/// The kind of the one content part that a message of the agent has.
const OUTPUT_TEXT: &str = "output_text";

/// One item of a model's input. Serialised, it is what the Responses API accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelItem {
    /// A message of the user: its content parts.
    User(Shared<[Value]>),
    /// A message of the agent.
    Assistant {
        /// Its text.
        text: Shared<str>,
        /// `commentary` or `final_answer`, if that is known.
        phase: Option<Shared<str>>,
    },
    /// A call of a function.
    Call {
        /// Its id, which no other call of the input has.
        call_id: Shared<str>,
        /// The function.
        name: Shared<str>,
        /// JSON.
        arguments: Shared<str>,
    },
    /// What came of a call.
    Output {
        /// The id of the call.
        call_id: Shared<str>,
        /// In words.
        output: Shared<str>,
    },
    /// Any item, as it is sent.
    Other(Arc<Value>),
}

impl ModelItem {
    /// About the bytes that it takes in a request.
    pub fn size_bytes(&self) -> usize {
        match self {
            ModelItem::User(content) => object_bytes([
                ("type", text_bytes("message")),
                ("role", text_bytes("user")),
                ("content", list_bytes(content)),
            ]),
            ModelItem::Assistant { text, phase } => {
                let part = object_bytes([
                    ("type", text_bytes(OUTPUT_TEXT)),
                    ("text", text_bytes(text)),
                ]);
                let fields = [
                    ("type", text_bytes("message")),
                    ("role", text_bytes("assistant")),
                    ("content", list_bytes(&[]) + part),
                ];
                let phase = phase.as_deref().map(|phase| ("phase", text_bytes(phase)));
                object_bytes(fields.into_iter().chain(phase))
            }
            ModelItem::Call {
                call_id,
                name,
                arguments,
            } => object_bytes([
                ("type", text_bytes("function_call")),
                ("call_id", text_bytes(call_id)),
                ("name", text_bytes(name)),
                ("arguments", text_bytes(arguments)),
            ]),
            ModelItem::Output { call_id, output } => object_bytes([
                ("type", text_bytes("function_call_output")),
                ("call_id", text_bytes(call_id)),
                ("output", text_bytes(output)),
            ]),
            ModelItem::Other(item) => json_bytes(item),
        }
    }
}

impl Serialize for ModelItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let ModelItem::Other(item) = self {
            return item.serialize(serializer);
        }
        let mut fields = serializer.serialize_map(None)?;
        match self {
            ModelItem::User(content) => {
                fields.serialize_entry("type", "message")?;
                fields.serialize_entry("role", "user")?;
                fields.serialize_entry("content", &**content)?;
            }
            ModelItem::Assistant { text, phase } => {
                fields.serialize_entry("type", "message")?;
                fields.serialize_entry("role", "assistant")?;
                let part = OutputText {
                    kind: OUTPUT_TEXT,
                    text,
                };
                fields.serialize_entry("content", &[part])?;
                if let Some(phase) = phase {
                    fields.serialize_entry("phase", &**phase)?;
                }
            }
            ModelItem::Call {
                call_id,
                name,
                arguments,
            } => {
                fields.serialize_entry("type", "function_call")?;
                fields.serialize_entry("call_id", &**call_id)?;
                fields.serialize_entry("name", &**name)?;
                fields.serialize_entry("arguments", &**arguments)?;
            }
            ModelItem::Output { call_id, output } => {
                fields.serialize_entry("type", "function_call_output")?;
                fields.serialize_entry("call_id", &**call_id)?;
                fields.serialize_entry("output", &**output)?;
            }
            ModelItem::Other(_) => {}
        }
        fields.end()
    }
}

/// The content of a message of the agent.
#[derive(Serialize)]
struct OutputText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Shared<str> {
        text.into()
    }

    #[test]
    fn an_item_weighs_what_it_is_when_it_is_written_out() {
        let user = vec![json!({"type": "input_text", "text": "hello"})];
        let assistant = |phase: Option<&str>| ModelItem::Assistant {
            text: text("hello"),
            phase: phase.map(text),
        };
        let items = [
            ModelItem::User(user.into()),
            assistant(None),
            assistant(Some("commentary")),
            ModelItem::Call {
                call_id: text("c1"),
                name: text("shell"),
                arguments: text("{}"),
            },
            ModelItem::Output {
                call_id: text("c1"),
                output: text("exit code 0"),
            },
            ModelItem::Other(Arc::new(json!({"type": "reasoning", "summary": [1, null]}))),
        ];
        for item in items {
            let written = serde_json::to_value(&item).expect("JSON");
            assert_eq!(item.size_bytes(), json_bytes(&written), "{written}");
        }
    }

    #[test]
    fn what_is_shared_stays_when_everybody_else_has_let_go_of_it() {
        let history = Arc::new(vec![Past::Assistant {
            text: "kept".to_owned(),
            phase: None,
        }]);
        assert!(PastEntry::of(&history, 1).is_none());
        let entry = PastEntry::of(&history, 0).expect("it is there");
        drop(history);
        let shared = Shared::part(&entry, |past| match past {
            Past::Assistant { text, .. } => text.as_str(),
            _ => "",
        });
        drop(entry);
        assert_eq!(&*shared.clone(), "kept");
    }
}
