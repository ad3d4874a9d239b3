//! What is read of one of the agent's files. Pure.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::backend::harness::codex::delegating::is_note;

/// Everything up to and with the last line end. What follows was being written.
pub fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    &bytes[..end]
}

/// What a file's first line says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Where it is, below the home.
    pub path: String,
    /// Whose history it holds, or a part of.
    pub thread: String,
    /// What its history begins with, if it begins in another file.
    pub base: Option<Base>,
}

/// The beginning of a history, in another thread's file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Base {
    /// Whose file.
    #[serde(rename = "thread_id")]
    pub thread: String,
    /// How much of it.
    #[serde(rename = "end_byte_offset", default)]
    pub end_bytes: u64,
}

/// Reads a file's first line; `None` if it is none of the agent's files, or its first line is not whole yet.
pub fn head(path: &str, bytes: &[u8]) -> Option<Head> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(rename = "type")]
        kind: String,
        payload: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        id: String,
        history_base: Option<Base>,
    }
    let end = memchr::memchr(b'\n', bytes)?;
    let line: Line = serde_json::from_slice(&bytes[..end]).ok()?;
    let Meta { id, history_base } = line.payload;
    (line.kind == "session_meta").then(|| Head {
        path: path.to_owned(),
        thread: id,
        base: history_base,
    })
}

/// A call of the model that has no output yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The model's id of it.
    pub id: String,
    /// Its input is no JSON, and its output is of another kind, too.
    pub is_custom: bool,
}

/// What some lines say of a conversation, as far as it can be compared with what was seen of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Ids of the model's messages, reasoning and searches of the turn that was asked for, since the history was shortened last.
    pub words: BTreeSet<String>,
    /// Ids of its calls of that turn.
    pub calls: BTreeSet<String>,
    /// Calls without an output.
    pub open: Vec<OpenCall>,
    /// What messages of the user are called by whoever sent them.
    pub messages: BTreeSet<String>,
    /// Ids of what other agents let it know in that turn, since the history was shortened last.
    pub notes: BTreeSet<String>,
    /// Codex noted that its turn was broken off.
    pub is_aborted: bool,
}

impl Lines {
    /// Of lines that come behind others which leave these calls `open`. `turn` is the one that is followed.
    pub fn read(lines: &[u8], turn: &str, open: Vec<OpenCall>) -> Lines {
        let mut read = Lines {
            open,
            ..Lines::default()
        };
        for line in lines.split(|byte| *byte == b'\n') {
            // What can't be read says nothing; Codex leaves it out as well.
            if let Ok(line) = serde_json::from_slice::<RawLine<'_>>(line) {
                read.line(&line, turn);
            }
        }
        read
    }

    fn line(&mut self, line: &RawLine<'_>, turn: &str) {
        match line.kind.as_str() {
            "response_item" => {
                let item = serde_json::from_str::<Value>(line.payload.get()).unwrap_or_default();
                if let Ok(read) = RawItem::deserialize(&item) {
                    self.item(read, is_note(&item), turn);
                }
            }
            "event_msg" => {
                if let Ok(event) = serde_json::from_str::<RawEvent>(line.payload.get()) {
                    self.is_aborted |= event.kind == "turn_aborted";
                    let item = event.item.and_then(|item| item.client_id);
                    self.messages.extend(item);
                }
            }
            // What was before is not told any more, nor what it was shortened by.
            "compacted" => {
                self.open.clear();
                self.words.clear();
                self.notes.clear();
            }
            _ => {}
        }
    }

    fn item(&mut self, item: RawItem, is_note: bool, turn: &str) {
        let is_of_turn = item
            .passed
            .is_some_and(|passed| passed.turn_id.as_deref() == Some(turn));
        let is_assistants = item.role.as_deref() == Some("assistant");
        match (item.kind.as_str(), item.id, item.call_id) {
            ("message", Some(id), _) if is_of_turn && is_assistants => drop(self.words.insert(id)),
            ("message", Some(id), _) if is_of_turn && is_note => drop(self.notes.insert(id)),
            ("reasoning" | "web_search_call", Some(id), _) if is_of_turn => {
                self.words.insert(id);
            }
            (kind, _, Some(id)) if kind.ends_with("_call") => {
                self.open.push(OpenCall {
                    id: id.clone(),
                    is_custom: kind == "custom_tool_call",
                });
                if is_of_turn {
                    self.calls.insert(id);
                }
            }
            (kind, _, Some(id)) if kind.ends_with("_output") => {
                let at = self.open.iter().rposition(|call| call.id == id);
                drop(at.map(|at| self.open.remove(at)));
            }
            _ => {}
        }
    }
}

#[derive(Deserialize)]
struct RawLine<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[derive(Deserialize)]
struct RawItem {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    call_id: Option<String>,
    role: Option<String>,
    #[serde(rename = "internal_chat_message_metadata_passthrough")]
    passed: Option<RawPassed>,
}

#[derive(Deserialize)]
struct RawPassed {
    turn_id: Option<String>,
}

#[derive(Deserialize)]
struct RawEvent {
    #[serde(rename = "type")]
    kind: String,
    item: Option<RawMessage>,
}

#[derive(Deserialize)]
struct RawMessage {
    client_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_was_being_written_is_not_read() {
        for (bytes, expect) in [
            ("", ""),
            ("{\"a\":", ""),
            ("{}\n", "{}\n"),
            ("{}\n{\"b\"", "{}\n"),
            ("{}\n{}\n\n", "{}\n{}\n\n"),
        ] {
            assert_eq!(whole_lines(bytes.as_bytes()), expect.as_bytes());
        }
    }

    #[test]
    fn a_head_is_a_whole_first_line_of_the_right_kind() {
        let line = r#"{"ordinal":24,"type":"session_meta","payload":{"id":"t2","session_id":"t1","cli_version":"0.171.0","history_base":{"thread_id":"t1","end_ordinal_exclusive":24,"end_byte_offset":15107}}}"#;
        let expect = Head {
            path: "p".into(),
            thread: "t2".into(),
            base: Some(Base {
                thread: "t1".into(),
                end_bytes: 15_107,
            }),
        };
        assert_eq!(head("p", format!("{line}\n{{").as_bytes()), Some(expect));
        assert_eq!(head("p", line.as_bytes()), None);
        for other in [
            "",
            "\n",
            "{}\n",
            "x\n",
            "{\"type\":\"event_msg\",\"payload\":{\"id\":\"t\"}}\n",
        ] {
            assert_eq!(head("p", other.as_bytes()), None, "{other}");
        }
        let plain = "{\"type\":\"session_meta\",\"payload\":{\"id\":\"t\"}}\n";
        let plain = head("p", plain.as_bytes()).expect("it is one");
        assert_eq!((plain.thread.as_str(), plain.base), ("t", None));
    }

    #[test]
    fn what_lines_say_of_a_conversation_is_read() {
        let of = |turn: &str| {
            format!(r#""internal_chat_message_metadata_passthrough":{{"turn_id":"{turn}"}}"#)
        };
        let item = |fields: &str, turn: &str| {
            format!(
                "{{\"type\":\"response_item\",\"payload\":{{{fields},{}}}}}\n",
                of(turn)
            )
        };
        let lines = [
            item(r#""type":"message","role":"assistant","id":"old""#, "t0"),
            item(r#""type":"function_call_output","call_id":"c0","output":"x""#, "t1"),
            r#"{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","client_id":"input-7"}}}"#.to_owned() + "\n",
            item(r#""type":"message","role":"user","id":"u""#, "t1"),
            item(r#""type":"message","role":"user","id":"n","content":[{"type":"input_text","text":"<subagent_notification>\n{}"}]"#, "t1"),
            item(r#""type":"reasoning","id":"r""#, "t1"),
            item(r#""type":"web_search_call","id":"w","status":"completed""#, "t1"),
            item(r#""type":"message","role":"assistant","id":"m""#, "t1"),
            item(r#""type":"custom_tool_call","id":"i","call_id":"c1","name":"apply_patch""#, "t1"),
            item(r#""type":"function_call","call_id":"c2","name":"x""#, "t1"),
            item(r#""type":"function_call_output","call_id":"c2","output":"x""#, "t1"),
            "junk\n".to_owned(),
        ]
        .concat();
        let call = |id: &str, is_custom| OpenCall {
            id: id.to_owned(),
            is_custom,
        };
        let read = Lines::read(lines.as_bytes(), "t1", vec![call("c0", false)]);
        let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        let expect = Lines {
            words: set(&["r", "w", "m"]),
            calls: set(&["c1", "c2"]),
            open: vec![call("c1", true)],
            messages: set(&["input-7"]),
            notes: set(&["n"]),
            is_aborted: false,
        };
        assert_eq!(read, expect);
        let aborted =
            lines.clone() + "{\"type\":\"event_msg\",\"payload\":{\"type\":\"turn_aborted\"}}\n";
        assert!(Lines::read(aborted.as_bytes(), "t1", Vec::new()).is_aborted);
        let shortened = lines + "{\"type\":\"compacted\",\"payload\":{}}\n";
        let read = Lines::read(shortened.as_bytes(), "t1", Vec::new());
        assert_eq!((read.open, read.words), (Vec::new(), set(&[])));
        assert_eq!(read.notes, set(&[]));
    }
}
