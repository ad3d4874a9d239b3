//! A function call that its client has not answered, or whose answer the Turn has not taken yet: a head holds a few of them, so each is small.

use serde::{Deserialize, Serialize};

use super::ids::sha256_hex;

/// Function calls of a Turn that may be open at once. What the agent calls beyond it is closed unanswered, and it is told.
pub const MAX_OPEN_CALLS: usize = 16;

/// A function call of the active Turn that a client answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    from = "(String, u64, u64, Option<String>)",
    into = "(String, u64, u64, Option<String>)"
)]
pub struct OpenCall {
    /// Hash of the model's call id, behind a mark if the agent does not wait for the answer. The id itself is in the Item.
    call: String,
    /// Its Item.
    pub item: u64,
    /// The input that answers it.
    pub answer: Option<u64>,
    /// Hash of the answer.
    pub digest: Option<String>,
}

impl OpenCall {
    /// A call that nobody has answered yet.
    pub fn new(call_id: &str, item: u64) -> OpenCall {
        OpenCall {
            call: short_hash(call_id.as_bytes()),
            item,
            answer: None,
            digest: None,
        }
    }

    /// The same call; `background` says that the agent does not wait for the answer.
    pub fn in_background(mut self, background: bool) -> OpenCall {
        if background {
            self.call.insert(0, BACKGROUND);
        }
        self
    }

    /// Whether the agent does not wait for the answer.
    pub fn is_background(&self) -> bool {
        self.call.starts_with(BACKGROUND)
    }

    /// Whether it is the call of this id.
    pub fn is(&self, call_id: &str) -> bool {
        self.call.trim_start_matches(BACKGROUND) == short_hash(call_id.as_bytes())
    }
}

/// Marks a call whose answer the agent does not wait for.
const BACKGROUND: char = '~';

/// 64 bits of a hash, in hex: enough to tell apart what one Turn has open.
pub fn short_hash(bytes: &[u8]) -> String {
    let mut hash = sha256_hex(bytes);
    hash.truncate(16);
    hash
}

impl From<(String, u64, u64, Option<String>)> for OpenCall {
    fn from((call, item, answer, digest): (String, u64, u64, Option<String>)) -> OpenCall {
        OpenCall {
            call,
            item,
            answer: (answer > 0).then_some(answer),
            digest,
        }
    }
}

impl From<OpenCall> for (String, u64, u64, Option<String>) {
    fn from(of: OpenCall) -> Self {
        (of.call, of.item, of.answer.unwrap_or(0), of.digest)
    }
}
