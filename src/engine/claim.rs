//! Claiming: the pure part of dispatch. A new generation takes the active Turn in hand, in one commit.

use super::draft::Draft;
use super::error::EngineError;
use super::fence::RunRow;
use super::journal::Entry;
use super::keys;
use super::ports::ExecutionId;
use super::settle::{Attending, add_user_item, mark_unknown};
use super::turn::{TurnEvent, next as next_turn};
use crate::api::TurnStatus;

/// Claims the next generation for `execution` and begins, or goes on with, the active Turn. Answers the generation.
///
/// # Errors
/// [`EngineError::Conflict`] when the fence or the Turn does not allow it.
pub fn claim(
    draft: &mut Draft,
    attending: &Attending,
    execution: ExecutionId,
    lease_ms: u64,
) -> Result<u64, EngineError> {
    let refused = |e: String| EngineError::Conflict(e);
    let until_ms = draft.now_ms + lease_ms;
    let generation = draft
        .head
        .fence
        .claim(execution.clone(), until_ms)
        .map_err(|e| refused(e.to_string()))?;
    begin_turn(draft, attending, generation)?;
    let turn = draft.head.turn.as_ref().map_or(0, |turn| turn.number);
    let row = RunRow {
        execution,
        turn,
        started_ms: draft.now_ms,
        ended_ms: None,
        end: None,
        program: None,
        began_anew: None,
    };
    // It is rewritten when the Run ends.
    draft.put(keys::run(generation), &row);
    draft.look_at(until_ms);
    Ok(generation)
}

/// Takes the active Turn in hand for `generation`: calls that were running with an earlier Run are marked unknown, and its
/// messages are claimed before anybody hands them over.
///
/// # Errors
/// [`EngineError::Conflict`] when the Turn is not in a state to be worked on.
pub fn begin_turn(
    draft: &mut Draft,
    attending: &Attending,
    generation: u64,
) -> Result<(), EngineError> {
    let Some(turn) = draft.head.turn.clone() else {
        return Err(EngineError::Conflict(
            "the session has no turn to work on".into(),
        ));
    };
    let mut row = attending.turn.clone();
    row.unknown_calls += mark_unknown(draft, attending, &turn);
    let before = turn.status;
    // A Turn whose end is decided is claimed to save its outputs; its state only changes when it ends.
    let status = if turn.cancel.is_some() || turn.doomed.is_some() {
        turn.status
    } else {
        next_turn(turn.status, TurnEvent::Claim)
            .map_err(|e| EngineError::Conflict(e.to_string()))?
    };
    if let Some(active) = &mut draft.head.turn {
        active.status = status;
        active.begun = true;
    }
    row.status = status;
    row.started_ms.get_or_insert(draft.now_ms);
    row.first_item.get_or_insert(draft.head.next.item);
    row.runs = Some((row.runs.map_or(generation, |(first, _)| first), generation));
    draft.put(keys::turn(turn.number), &row);
    if before == TurnStatus::Queued && status == TurnStatus::InProgress {
        draft.note(Entry::Turn {
            t: turn.number,
            s: status,
        });
    }
    let mut pending = std::mem::take(&mut draft.head.pending);
    for waiting in pending
        .iter_mut()
        .filter(|waiting| waiting.turn == turn.number)
    {
        waiting.claimed = generation;
        if row.starts_with(waiting.input) && waiting.item.is_none() {
            waiting.item = Some(add_user_item(draft, waiting.input, turn.number));
        }
    }
    draft.head.pending = pending;
    Ok(())
}
