//! What a worker remembers of a Session since it last put its past together: the Items that it committed itself and the messages that
//! it handed over. Not a cache of the store: it answers for a stretch of Items only if it knows each of them.
//!
//! The surprise is what makes it right: an Item that is final never changes, whoever writes (I7), so what this worker committed is
//! what the store has. Items that may still change are read.

use std::collections::HashMap;

use serde_json::Value;

use super::ids::SessionId;
use super::item::{ItemBody, ItemRow};
use super::keys;
use super::ports::{Change, Feed, Write};
use super::session::Head;
use super::weight::list_bytes;

/// Bytes remembered of one Session. A Turn that brings more is read back.
const MOST_BYTES: usize = 1 << 20;

/// See the module.
#[derive(Default)]
pub(super) struct Recent {
    /// Items by number, as they were committed.
    rows: HashMap<u64, Vec<u8>>,
    /// Messages by the number of their input.
    contents: HashMap<u64, Vec<Value>>,
    size_bytes: usize,
}

impl Recent {
    /// These rows were committed.
    pub(super) fn wrote(&mut self, session: &SessionId, writes: Vec<Write>) {
        let partition = keys::session_partition(session);
        for write in writes {
            let number = keys::number(&write.key.sort, "item/");
            let Some(number) = number.filter(|_| write.key.partition == partition) else {
                continue;
            };
            match write.change {
                Change::Put(value) if self.has_room(value.len()) => {
                    self.rows.insert(number, value);
                }
                // What is not known any more is read.
                Change::Put(_) | Change::Delete => drop(self.rows.remove(&number)),
                Change::Check => {}
            }
        }
    }

    /// The agent was given these messages, some of which have Items already.
    pub(super) fn handed_over(&mut self, head: &Head, feed: &[Feed]) {
        for message in feed {
            if !self.has_room(list_bytes(&message.content)) {
                continue;
            }
            self.contents.insert(message.input, message.content.clone());
            let mut pending = head.pending.iter();
            if let Some(pending) = pending.find(|pending| pending.input == message.input)
                && let Some(number) = pending.item
            {
                let row = user_row(message.input);
                self.rows.insert(number, super::core::encode(&row));
            }
        }
    }

    /// All Items from `from` on; nothing, if one of them is not known or may still change. Messages that wait are told from the
    /// head.
    pub(super) fn rows(&self, from: u64, head: &Head) -> Option<Vec<(u64, ItemRow)>> {
        let row = |number: u64| {
            let mut pending = head.pending.iter();
            if let Some(waiting) = pending.find(|pending| pending.item == Some(number)) {
                return Some((number, user_row(waiting.input)));
            }
            let row: ItemRow = serde_json::from_slice(self.rows.get(&number)?).ok()?;
            row.body.is_final().then_some((number, row))
        };
        (from..head.next.item).map(row).collect()
    }

    /// Whether [`Recent::content`] answers.
    pub(super) fn has_content(&self, input: u64) -> bool {
        self.contents.contains_key(&input)
    }

    /// The parts of a message that was handed over.
    pub(super) fn content(&self, input: u64) -> Option<Vec<Value>> {
        self.contents.get(&input).cloned()
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        let fits = self.size_bytes + bytes <= MOST_BYTES;
        if fits {
            self.size_bytes += bytes;
        }
        fits
    }
}

/// As much of the Item of a message as a history needs.
fn user_row(input: u64) -> ItemRow {
    ItemRow {
        turn: 0,
        output_index: None,
        at_ms: 0,
        body: ItemBody::User { input },
    }
}
