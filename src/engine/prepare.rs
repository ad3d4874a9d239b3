//! What the events of a request are to the engine: ids become numbers, and large bodies become blobs before any record names
//! them. Nothing is decided here.

use super::core::Core;
use super::error::EngineError;
use super::ids::{self, Kind, SessionId};
use super::input::Body;
use super::open_call::short_hash;
use super::ports::FunctionAnswer;
use super::session::Head;
use crate::api::{InputEvent, canonical_json};

/// One input, checked and with its large bodies stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Prepared {
    /// A message. `joins` says that it belongs to the same event as the one before.
    Message {
        /// Content parts.
        content: Body,
        /// It starts the next Turn rather than steering this one.
        next_turn: bool,
        /// It follows the message before it into the same Turn.
        joins: bool,
    },
    /// A cancel.
    Cancel {
        /// The Turn it names, by number.
        turn: Option<u64>,
    },
    /// A function's answer.
    ToolResult {
        /// The Turn it names, by number.
        turn: u64,
        /// The call.
        call_id: String,
        /// Hash of the answer.
        digest: String,
        /// The answer.
        answer: Body,
    },
}

/// Inputs of one submission: what fits one commit beside the head, receipt, journal and agenda, at up to two rows each.
pub const MAX_BATCH: usize = 8;

impl Core {
    /// Turns wire events into inputs: ids become numbers, large bodies become blobs (before any record names them).
    pub(super) async fn prepare(
        &self,
        owner: &str,
        session: &SessionId,
        head: &Head,
        events: &[InputEvent],
    ) -> Result<Vec<Prepared>, EngineError> {
        check_size(events)?;
        let scope = self.scope(owner, session);
        let mut batch = Vec::with_capacity(events.len());
        for (at, event) in events.iter().enumerate() {
            match event {
                InputEvent::Message(crate::api::MessageInput { input, delivery }) => {
                    for (n, message) in input.iter().enumerate() {
                        let content = serde_json::to_value(&message.content).unwrap_or_default();
                        batch.push(Prepared::Message {
                            content: self.keep(&scope, content).await?,
                            next_turn: delivery
                                .is_some_and(|d| d == crate::api::Delivery::NextTurn),
                            joins: n > 0,
                        });
                    }
                }
                InputEvent::Cancel(crate::api::CancelInput { turn_id }) => {
                    let turn = match turn_id {
                        Some(id) => Some(turn_number(session, head, id)?),
                        None => None,
                    };
                    batch.push(Prepared::Cancel { turn });
                }
                InputEvent::ToolResult(result) => {
                    let (call_id, turn_id) = (&result.call_id, &result.turn_id);
                    let answer = FunctionAnswer {
                        success: result.success,
                        output: serde_json::to_value(&result.output).unwrap_or_default(),
                        error: result.error.clone(),
                    };
                    let value = serde_json::to_value(&answer).unwrap_or_default();
                    let unknown = || EngineError::Invalid {
                        param: None,
                        message: format!("Unknown pending tool call: {call_id}"),
                    };
                    batch.push(Prepared::ToolResult {
                        turn: turn_number(session, head, turn_id).map_err(|_| unknown())?,
                        call_id: call_id.clone(),
                        digest: short_hash(&canonical_json(&value)),
                        answer: self.keep(&scope, value).await?,
                    });
                }
                InputEvent::McpApprovalRequestResult(_)
                | InputEvent::ComputerUseApprovalRequestResult(_) => {
                    return Err(EngineError::invalid(
                        &format!("events[{at}].request_id"),
                        "there is no pending approval request in this session",
                    ));
                }
            }
        }
        Ok(batch)
    }
}

/// A batch is refused before anything of it is stored.
fn check_size(events: &[InputEvent]) -> Result<(), EngineError> {
    let inputs = events.iter().map(|event| match event {
        InputEvent::Message(message) => message.input.len(),
        InputEvent::Cancel(_)
        | InputEvent::ToolResult(_)
        | InputEvent::McpApprovalRequestResult(_)
        | InputEvent::ComputerUseApprovalRequestResult(_) => 1,
    });
    match inputs.sum::<usize>() {
        0 => Err(EngineError::invalid(
            "events",
            "events is empty: give at least one",
        )),
        inputs if inputs > MAX_BATCH => Err(EngineError::invalid(
            "events",
            format!("at most {MAX_BATCH} inputs at once"),
        )),
        _ => Ok(()),
    }
}

fn turn_number(session: &SessionId, head: &Head, id: &str) -> Result<u64, EngineError> {
    ids::number_of(Kind::Turn, session, id)
        .filter(|n| (1..head.next.turn).contains(n))
        .ok_or_else(|| EngineError::not_found("turn", id))
}
