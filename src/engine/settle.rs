//! Settle: how a Turn ends, or pauses for a client. Pure: it turns a draft of the head into one with the Turn's end in it.
//!
//! The Turn's terminal row, its artifacts' count, its last Items, the fate of every input that was meant for it and the next
//! Turn are one commit (I8), so nobody ever sees a Turn that ended without its results.

use super::draft::Draft;
use super::input::{EndRow, InputEvent, InputState, next as next_input};
use super::item::{CallState, ItemBody, ItemRow};
use super::journal::Entry;
use super::keys;
use super::open_call::OpenCall;
use super::session::{ActiveTurn, Pending, QueuedTurn};
use super::subagent;
use super::turn::{Capture, Failure, TurnEvent, TurnRefusal, TurnRow, next as next_turn};
use crate::api::{CallStatus, TurnStatus};

/// The rows that the active Turn's next step needs beside the head.
#[derive(Clone, Debug)]
pub struct Attending {
    /// The Turn's row.
    pub turn: TurnRow,
    /// Items of open function calls and of running tool calls.
    pub items: Vec<(u64, ItemRow)>,
}

impl Attending {
    /// Of a Turn that has no calls.
    pub fn alone(turn: TurnRow) -> Attending {
        Attending {
            turn,
            items: Vec::new(),
        }
    }

    /// The rows to read for a Turn: its own, then those of [`Attending::item_numbers`].
    pub fn item_numbers(turn: &ActiveTurn) -> Vec<u64> {
        turn.calls
            .iter()
            .map(|call| call.item)
            .chain(turn.running.iter().copied().filter(of_root))
            .collect()
    }

    fn item(&self, number: u64) -> Option<&ItemRow> {
        self.items
            .iter()
            .find(|(n, _)| *n == number)
            .map(|(_, row)| row)
    }
}

/// How a Turn ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The agent is done.
    Completed,
    /// It failed.
    Failed(Failure),
    /// It was cancelled.
    Cancelled,
}

/// Ends the active Turn in `draft`. Does nothing but answer the refusal if the Turn can't end so.
pub fn end_turn(
    draft: &mut Draft,
    attending: &Attending,
    ending: Ending,
    capture: Option<Capture>,
) -> Result<(), TurnRefusal> {
    let Some(turn) = draft.head.turn.clone() else {
        return Err(TurnRefusal {
            state: attending.turn.status,
            event: TurnEvent::Complete,
        });
    };
    let event = match &ending {
        Ending::Completed => TurnEvent::Complete,
        Ending::Failed(_) => TurnEvent::Fail,
        Ending::Cancelled => TurnEvent::Cancel,
    };
    let status = next_turn(turn.status, event)?;
    let mut row = attending.turn.clone();
    row.unknown_calls += mark_unknown(draft, attending, &turn);
    close_calls(draft, attending, &turn);
    row.status = status;
    row.completed_ms = Some(draft.now_ms);
    row.usage = Some(turn.usage);
    row.model_calls = turn.model_calls;
    row.capture = capture;
    if let Ending::Failed(failure) = ending {
        row.error = Some(failure);
    }
    row.first_item.get_or_insert(draft.head.next.item);
    let late = settle_inputs(draft, &turn, &row);
    row.end_item = Some(draft.head.next.item);
    draft.put(keys::turn(turn.number), &row);
    draft.note(Entry::Turn {
        t: turn.number,
        s: status,
    });
    draft.head.usage += turn.usage;
    draft.head.active_ms = draft.now_ms;
    draft.head.turn = None;
    start_late(draft, late);
    draft.head.promote();
    Ok(())
}

/// Function calls that one commit can close or answer: each is up to three rows.
pub const CALLS_PER_COMMIT: usize = 5;

/// Closes some of the open function calls ahead of the Turn's end, where there are too many for one commit.
pub fn close_some_calls(draft: &mut Draft, attending: &Attending) {
    let Some(mut turn) = draft.head.turn.take() else {
        return;
    };
    let rest = turn.calls.split_off(turn.calls.len().min(CALLS_PER_COMMIT));
    close_calls(draft, attending, &turn);
    turn.calls = rest;
    draft.head.turn = Some(turn);
}

/// Gives the agent some of the answers that its clients gave to `wanted` calls: each becomes an Item, in the order of the calls.
/// Answers whether any are left.
pub fn take_answers(
    draft: &mut Draft,
    attending: &Attending,
    wanted: impl Fn(&OpenCall) -> bool,
) -> bool {
    let Some(mut turn) = draft.head.turn.take() else {
        return false;
    };
    let mut taken = 0;
    let mut kept = Vec::new();
    for call in std::mem::take(&mut turn.calls) {
        let answered = call
            .answer
            .filter(|_| taken < CALLS_PER_COMMIT && wanted(&call));
        let (Some(input), Some(mut row)) = (answered, attending.item(call.item).cloned()) else {
            kept.push(call);
            continue;
        };
        let ItemBody::Function {
            status, call_id, ..
        } = &mut row.body
        else {
            kept.push(call);
            continue;
        };
        taken += 1;
        *status = CallStatus::Completed;
        let call_id = call_id.clone();
        draft.put(keys::item(call.item), &row);
        draft.note(Entry::Done { i: call.item });
        let body = ItemBody::FunctionOutput {
            call: call.item,
            call_id,
            input,
        };
        let at_ms = draft.now_ms;
        add_item(
            draft,
            &ItemRow {
                turn: turn.number,
                output_index: None,
                at_ms,
                body,
            },
        );
        deliver_input(draft, input, turn.number);
    }
    turn.calls = kept;
    let left = turn
        .calls
        .iter()
        .any(|call| call.answer.is_some() && wanted(call));
    draft.head.turn = Some(turn);
    left
}

/// The active Turn waits for a client; nothing of it runs any more.
pub fn pause_turn(draft: &mut Draft, attending: &Attending) -> Result<(), TurnRefusal> {
    let now_ms = draft.now_ms;
    let Some(turn) = &mut draft.head.turn else {
        return Err(TurnRefusal {
            state: attending.turn.status,
            event: TurnEvent::Wait,
        });
    };
    turn.status = next_turn(turn.status, TurnEvent::Wait)?;
    turn.attempts = 0;
    let number = turn.number;
    let mut row = attending.turn.clone();
    row.status = TurnStatus::Waiting;
    draft.head.active_ms = now_ms;
    draft.put(keys::turn(number), &row);
    draft.note(Entry::Turn {
        t: number,
        s: TurnStatus::Waiting,
    });
    Ok(())
}

/// Tool calls that were running with a Run that is over: nobody knows what became of them (I6). Answers how many.
pub fn mark_unknown(draft: &mut Draft, attending: &Attending, turn: &ActiveTurn) -> u32 {
    let mut marked = 0;
    for &number in &turn.running {
        let Some(mut row) = attending.item(number).cloned() else {
            continue;
        };
        if let ItemBody::Call { state, .. } = &mut row.body
            && *state == CallState::Running
        {
            *state = CallState::Unknown;
            draft.put(keys::item(number), &row);
            draft.note(Entry::Done { i: number });
            marked += 1;
        }
    }
    if let Some(turn) = &mut draft.head.turn {
        // What subagents were doing is closed with them.
        turn.running.retain(|number| !of_root(number));
    }
    marked
}

/// Whether an Item of this number is the root agent's.
fn of_root(number: &u64) -> bool {
    subagent::of(*number) == 0
}

/// Function calls whose Turn ends: they stay in the history, closed without an answer.
fn close_calls(draft: &mut Draft, attending: &Attending, turn: &ActiveTurn) {
    for call in &turn.calls {
        if let Some(mut row) = attending.item(call.item).cloned()
            && let ItemBody::Function { status, .. } = &mut row.body
            && *status == CallStatus::InProgress
        {
            *status = CallStatus::Incomplete;
            draft.put(keys::item(call.item), &row);
            draft.note(Entry::Done { i: call.item });
        }
        if let Some(answer) = call.answer {
            let reason = "the turn ended before the agent was given this answer".to_owned();
            let end = EndRow {
                state: InputState::Failed { reason },
                at_ms: draft.now_ms,
            };
            draft.put(keys::input_end(answer), &end);
        }
    }
}

/// Ends the inputs of a Turn that ends: what started it stays with it, steers that came too late are handed back.
fn settle_inputs(draft: &mut Draft, turn: &ActiveTurn, row: &TurnRow) -> Vec<Pending> {
    let (mine, others): (Vec<_>, Vec<_>) = std::mem::take(&mut draft.head.pending)
        .into_iter()
        .partition(|p| p.turn == turn.number);
    draft.head.pending = others;
    let mut late = Vec::new();
    for pending in mine {
        if !row.starts_with(pending.input) {
            late.push(pending);
            continue;
        }
        if pending.item.is_none() {
            add_user_item(draft, pending.input, turn.number);
        }
        deliver_input(draft, pending.input, turn.number);
    }
    late
}

/// Steers that came too late become the next Turn (I5). Where Turns are queued already, a steer joins the one that was accepted
/// before it, so that everything still reaches the agent in acceptance order (I3).
fn start_late(draft: &mut Draft, late: Vec<Pending>) {
    for Pending { input, .. } in late {
        let before = draft
            .head
            .queue
            .iter()
            .rposition(|queued| queued.input < input);
        let turn = match before {
            Some(at) => draft.head.queue[at].number,
            None => {
                let number = new_turn(draft, input, 0);
                draft.head.queue.insert(0, QueuedTurn { number, input });
                number
            }
        };
        let moved = Pending {
            input,
            turn,
            claimed: 0,
            item: None,
        };
        let at = draft
            .head
            .pending
            .iter()
            .position(|pending| pending.input > input);
        draft
            .head
            .pending
            .insert(at.unwrap_or(draft.head.pending.len()), moved);
    }
}

/// Creates a queued Turn that `input` and the `joined` ones behind it start, and answers its number.
pub fn new_turn(draft: &mut Draft, input: u64, joined: u64) -> u64 {
    let number = draft.head.next.turn;
    draft.head.next.turn += 1;
    let row = TurnRow::queued(input, joined, draft.now_ms);
    draft.insert(keys::turn(number), &row);
    draft.note(Entry::Turn {
        t: number,
        s: TurnStatus::Queued,
    });
    number
}

/// Creates the Item of a user's message, and answers its number.
pub fn add_user_item(draft: &mut Draft, input: u64, turn: u64) -> u64 {
    let body = ItemBody::User { input };
    add_item(
        draft,
        &ItemRow {
            turn,
            output_index: None,
            at_ms: draft.now_ms,
            body,
        },
    )
}

/// Stores a new Item, and answers its number.
pub fn add_item(draft: &mut Draft, row: &ItemRow) -> u64 {
    let number = draft.head.next.item;
    draft.head.next.item += 1;
    draft.put(keys::item(number), row);
    draft.note(Entry::Added { i: number });
    number
}

/// Records that the agent has an input.
pub fn deliver_input(draft: &mut Draft, input: u64, turn: u64) {
    if let Ok(state) = next_input(&InputState::Claimed, InputEvent::Take, turn) {
        draft.put(
            keys::input_end(input),
            &EndRow {
                state,
                at_ms: draft.now_ms,
            },
        );
    }
}
