//! A Receipt: durable proof that a submission was accepted under a key, and what became of it at that moment.

use serde::{Deserialize, Serialize};

use super::input::NoOp;

/// What acceptance decided about one input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "became", rename_all = "snake_case")]
pub enum Outcome {
    /// It starts this Turn.
    Started {
        /// Turn number.
        turn: u64,
    },
    /// It goes to this Turn, which is active.
    Steered {
        /// Turn number.
        turn: u64,
    },
    /// It starts this Turn, which waits behind others.
    Queued {
        /// Turn number.
        turn: u64,
        /// Turns before it, the active one included.
        position: u64,
    },
    /// The Turn is cancelled.
    Cancelled {
        /// Turn number.
        turn: u64,
    },
    /// The Turn is asked to end; it has not ended yet.
    Cancelling {
        /// Turn number.
        turn: u64,
    },
    /// It answers a call of this Turn.
    Answered {
        /// Turn number.
        turn: u64,
    },
    /// Recorded; nothing to do.
    Nothing {
        /// Why.
        result: NoOp,
        /// The active Turn, when that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
    },
}

/// Row `receipt/<key hash>`; kept as long as the Session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptRow {
    /// Of the canonical body.
    #[serde(rename = "d", alias = "digest")]
    pub digest: String,
    /// Number of the first input; the others follow it.
    #[serde(rename = "n", alias = "first_input")]
    pub first_input: u64,
    /// One per input, in order.
    #[serde(rename = "o", alias = "outcomes")]
    pub outcomes: Vec<Outcome>,
    /// Accepted at. Unix ms.
    #[serde(rename = "at", alias = "accepted_ms")]
    pub accepted_ms: u64,
}

/// In the owner's partition: the receipt of a Session's creation under a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateReceipt {
    /// Of the canonical body.
    pub digest: String,
    /// The Session.
    pub session: String,
}
