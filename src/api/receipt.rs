//! What is told about an accepted submission: the proof, and what became of each input at that moment.
//!
//! An addition of this project to the Agents API, which promises nothing about an accepted input. Over HTTP it travels in a header,
//! because the answer has no body.

use serde::{Deserialize, Serialize};

use crate::api::words::{object_name, words};

object_name!(ReceiptObject = "rat_things.receipt");

/// The proof that a submission was accepted under a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// `rcpt_…`; where a server gives none, the submission's key.
    pub id: String,
    /// Always `rat_things.receipt`.
    #[serde(default)]
    pub object: ReceiptObject,
    /// Into which Session.
    pub session_id: String,
    /// When it was accepted, Unix seconds; null where a server does not say.
    pub accepted_at: Option<u64>,
    /// Of the canonical body; null where a server does not say.
    pub digest: Option<String>,
    /// The key had been used with the same body; null where a server does not say.
    pub repeated: Option<bool>,
    /// One per input, in order; empty where a server does not say.
    pub outcomes: Vec<Became>,
}

/// What became of one input when it was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "became", rename_all = "snake_case")]
pub enum Became {
    /// It starts this Turn.
    Started {
        /// The Turn.
        turn_id: String,
    },
    /// It goes to this Turn, which is active.
    Steered {
        /// The Turn.
        turn_id: String,
    },
    /// It starts this Turn, which waits behind others.
    Queued {
        /// Turns before it, the active one included.
        position: u64,
        /// The Turn.
        turn_id: String,
    },
    /// This Turn is cancelled.
    Cancelled {
        /// The Turn.
        turn_id: String,
    },
    /// This Turn is asked to end, and has not ended yet.
    Cancelling {
        /// The Turn.
        turn_id: String,
    },
    /// It answers a call of this Turn.
    Answered {
        /// The Turn.
        turn_id: String,
    },
    /// It is recorded, and there is nothing to do.
    Nothing {
        /// Why.
        result: NothingToDo,
        /// The Turn that is active, when that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
    },
}

words! {
    /// Why an accepted input changes nothing.
    pub enum NothingToDo {
        /// A cancel: the Session had no Turn to cancel.
        NoActiveTurn = "no_active_turn",
        /// A cancel: the named Turn had ended already.
        AlreadyFinished = "already_finished",
        /// A cancel: another Turn than the named one is active.
        AnotherTurnActive = "another_turn_active",
        /// A tool result: the same answer had been given before.
        AlreadyAnswered = "already_answered",
    }
}

impl Receipt {
    /// The Turn that the submission goes to, if it goes to one.
    pub fn turn_id(&self) -> Option<&str> {
        self.outcomes.iter().find_map(|outcome| match outcome {
            Became::Started { turn_id }
            | Became::Steered { turn_id }
            | Became::Queued { turn_id, .. }
            | Became::Cancelled { turn_id }
            | Became::Cancelling { turn_id }
            | Became::Answered { turn_id } => Some(turn_id.as_str()),
            Became::Nothing { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_receipt_is_written_in_order_and_read_again() {
        let receipt = Receipt {
            id: "rcpt_1".into(),
            object: ReceiptObject::Only,
            session_id: "sess_1".into(),
            accepted_at: Some(7),
            digest: Some("d".into()),
            repeated: Some(false),
            outcomes: vec![
                Became::Queued {
                    position: 2,
                    turn_id: "turn_2".into(),
                },
                Became::Nothing {
                    result: NothingToDo::NoActiveTurn,
                    turn_id: None,
                },
            ],
        };
        let text = serde_json::to_string(&receipt).expect("writes");
        assert_eq!(
            text,
            r#"{"id":"rcpt_1","object":"rat_things.receipt","session_id":"sess_1","accepted_at":7,"digest":"d","repeated":false,"outcomes":[{"became":"queued","position":2,"turn_id":"turn_2"},{"became":"nothing","result":"no_active_turn"}]}"#
        );
        assert_eq!(
            serde_json::from_str::<Receipt>(&text).ok().as_ref(),
            Some(&receipt)
        );
        assert_eq!(receipt.turn_id(), Some("turn_2"));
    }
}
