//! An Input: one accepted submission, from acceptance to its one end.

use serde::{Deserialize, Serialize};

use super::ports::BlobRef;

/// JSON kept in the row, or as a blob when it is large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// In the row.
    Inline(serde_json::Value),
    /// Stored before the row that names it.
    Blob(BlobRef),
}

/// What was submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Submission {
    /// A message: its content parts.
    Message {
        /// Array of content parts.
        content: Body,
    },
    /// Stop a Turn.
    Cancel,
    /// The answer to a function call.
    ToolResult {
        /// The call it answers.
        call_id: String,
        /// Hash of the answer, to tell a repeat from another answer.
        digest: String,
        /// [`super::ports::FunctionAnswer`] as JSON.
        answer: Body,
    },
}

/// What became of an input that changes no Turn, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoOp {
    /// Cancel: the Session had no Turn to cancel.
    NoActiveTurn,
    /// Cancel: the named Turn had ended already.
    AlreadyFinished,
    /// Cancel: another Turn than the named one is active.
    AnotherTurnActive,
    /// Tool result: the same answer had been given before.
    AlreadyAnswered,
}

/// Where an input is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum InputState {
    /// Durable, and not yet with an agent.
    Accepted,
    /// Handed to a Run, which has not confirmed it.
    Claimed,
    /// Part of this Turn, for good.
    Delivered {
        /// Turn number.
        turn: u64,
    },
    /// Applied by the engine itself: a cancel that did its work.
    Applied {
        /// Turn number.
        turn: u64,
    },
    /// Recorded, and nothing to do.
    NoOp {
        /// Why.
        result: NoOp,
    },
    /// It ended without reaching a Turn, and this is why.
    Failed {
        /// In words.
        reason: String,
    },
}

/// What can happen to an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputEvent {
    /// A Run takes it in hand.
    Claim,
    /// The agent has it.
    Take,
    /// Its Turn ended before the agent took it: a steer becomes the next Turn.
    TurnEnded,
    /// The engine carried it out.
    Apply,
    /// There is nothing to do.
    Ignore,
    /// The Session is deleted.
    Discard,
}

/// Why an event does not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an input that is {state:?} refuses {event:?}")]
pub struct InputRefusal {
    /// The state that refused.
    pub state: InputState,
    /// What it refused.
    pub event: InputEvent,
}

/// The life of an input: total over state and event. `turn` is the Turn the event is about.
pub fn next(state: &InputState, event: InputEvent, turn: u64) -> Result<InputState, InputRefusal> {
    use InputEvent::{Apply, Claim, Discard, Ignore, Take, TurnEnded};
    use InputState::{Accepted, Applied, Claimed, Delivered, Failed, NoOp as Ignored};
    let refused = Err(InputRefusal {
        state: state.clone(),
        event,
    });
    match (state, event) {
        (Accepted | Claimed, Claim) => Ok(Claimed),
        (Accepted, Take) => refused,
        (Claimed, Take) => Ok(Delivered { turn }),
        // Claimed by a Run that is over: it waits again.
        (Accepted | Claimed, TurnEnded) => Ok(Accepted),
        (Accepted, Apply) => Ok(Applied { turn }),
        (Claimed, Apply) => refused,
        (Accepted, Ignore) => Ok(Ignored {
            result: NoOp::NoActiveTurn,
        }),
        (Claimed, Ignore) => refused,
        (Accepted | Claimed, Discard) => Ok(Failed {
            reason: "the session was deleted".into(),
        }),
        (
            Delivered { .. } | Applied { .. } | Ignored { .. } | Failed { .. },
            Claim | Take | TurnEnded | Apply | Ignore | Discard,
        ) => refused,
    }
}

/// Row `input/<n>`: written at acceptance and never again, however large its body is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputRow {
    /// What was submitted.
    #[serde(flatten)]
    pub submission: Submission,
    /// The Turn it was meant for, when it names one or one was active. The state beside it may name a Turn too.
    #[serde(rename = "meant_for", default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Accepted at. Unix ms.
    #[serde(rename = "at", alias = "accepted_ms")]
    pub accepted_ms: u64,
    /// Where it was when it was accepted; a row `end/<n>` says what became of it later.
    #[serde(flatten)]
    pub state: InputState,
}

/// Row `end/<n>`: how an input that had to wait ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRow {
    /// Its last state.
    #[serde(flatten)]
    pub state: InputState,
    /// Since when. Unix ms.
    pub at_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_row_can_be_read_back() {
        let submissions = [
            Submission::Message {
                content: Body::Inline(serde_json::json!([])),
            },
            Submission::Cancel,
            Submission::ToolResult {
                call_id: "c".into(),
                digest: "d".into(),
                answer: Body::Inline(serde_json::json!({})),
            },
        ];
        let states = [
            InputState::Accepted,
            InputState::Claimed,
            InputState::Delivered { turn: 2 },
            InputState::Applied { turn: 2 },
            InputState::NoOp {
                result: NoOp::AnotherTurnActive,
            },
            InputState::Failed {
                reason: "why".into(),
            },
        ];
        for submission in &submissions {
            for state in &states {
                let row = InputRow {
                    submission: submission.clone(),
                    turn: Some(1),
                    accepted_ms: 3,
                    state: state.clone(),
                };
                let text = serde_json::to_string(&row).expect("serialisable");
                assert_eq!(
                    serde_json::from_str::<InputRow>(&text).ok(),
                    Some(row),
                    "{text}"
                );
            }
        }
    }
}
