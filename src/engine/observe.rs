//! Observe: what a harness saw becomes rows of one commit. Pure: operations applied to a draft, as often as it takes to commit.

use super::checkpoint::{self, Kept};
use super::draft::Draft;
use super::environment::{self, Trouble};
use super::fence::RunRow;
use super::input::Body;
use super::item::{Delegation, ItemBody, ItemRow};
use super::journal::Entry;
use super::keys;
use super::open_call::{MAX_OPEN_CALLS, OpenCall};
use super::ports::{Claim, ModelUsage};
use super::settle::{add_item, add_user_item, deliver_input};
use super::subagent::{self, SubagentRows};
use super::subagents::call_body;
use crate::api::CallStatus;

/// One thing that was seen, with its large bodies stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// The agent has these inputs.
    Took(Vec<u64>),
    /// A complete item of the agent.
    Item(ItemBody),
    /// A function call for a client.
    Function {
        /// The model's call id.
        call_id: String,
        /// Function name.
        name: String,
        /// Arguments as the model wrote them.
        arguments: Body,
        /// The agent does not wait for the answer.
        background: bool,
    },
    /// A tool call is claimed. It is always the last operation of its commit.
    Began {
        /// What is claimed.
        claim: Claim,
        /// Its arguments, stored.
        arguments: Body,
        /// What it does to other agents.
        delegates: Option<Box<Delegation>>,
    },
    /// Rows of a subagent.
    Subagent(Box<SubagentRows>),
    /// A subagent told the agent something.
    Heard {
        /// Its number.
        from: u64,
        /// In its words.
        text: Body,
    },
    /// A claimed tool call ended: its Item's number and final row.
    Ended(u64, Box<ItemRow>),
    /// A model call ended.
    ModelCall(ModelUsage),
    /// The Run is known better.
    Run(Box<RunRow>),
    /// The environment was opened; `lost` says that files of its earlier life are gone.
    Opened {
        /// Files were lost.
        lost: bool,
    },
    /// A command met trouble in the environment.
    Troubled(Trouble),
    /// The harness's own state, whose bytes are stored. It holds all that was seen before.
    Checkpoint(Box<Kept>),
}

/// Applies one operation for the Run of `generation`.
pub fn apply(draft: &mut Draft, op: &Op, generation: u64) {
    let Some(turn) = draft.head.turn.as_ref().map(|turn| turn.number) else {
        return;
    };
    match op {
        Op::Took(inputs) => took(draft, inputs, turn, generation),
        Op::Item(body) => {
            let number = add_output(draft, turn, body.clone());
            draft.note(Entry::Done { i: number });
            made_progress(draft);
        }
        Op::Function { .. } => called(draft, op, turn),
        Op::Began {
            claim,
            arguments,
            delegates,
        } => {
            let body = call_body(claim.clone(), arguments.clone(), delegates.clone());
            let item = add_output(draft, turn, body);
            if let Some(active) = &mut draft.head.turn {
                active.running.push(item);
            }
        }
        Op::Ended(item, row) => {
            draft.put(keys::item(*item), row.as_ref());
            if subagent::of(*item) == 0 {
                draft.note(Entry::Done { i: *item });
            }
            if let Some(active) = &mut draft.head.turn {
                active.running.retain(|running| running != item);
            }
            made_progress(draft);
        }
        Op::Subagent(rows) => {
            rows.put(draft);
            if rows.item.is_some() {
                made_progress(draft);
            }
        }
        Op::Heard { from, text } => {
            let body = ItemBody::FromAgent {
                from: *from,
                text: text.clone(),
            };
            let row = ItemRow {
                turn,
                output_index: None,
                at_ms: draft.now_ms,
                body,
            };
            add_item(draft, &row);
        }
        Op::ModelCall(usage) => {
            if let Some(active) = &mut draft.head.turn {
                active.usage += *usage;
                active.model_calls += 1;
            }
        }
        Op::Run(row) => draft.put(keys::run(generation), row.as_ref()),
        Op::Opened { lost } => environment::opened(draft, *lost),
        Op::Troubled(trouble) => environment::troubled(draft, trouble),
        Op::Checkpoint(kept) => checkpoint::keep(draft, kept, generation),
    }
}

/// A function call: open for its client, or closed at once where too many are.
fn called(draft: &mut Draft, op: &Op, turn: u64) {
    let Op::Function {
        call_id,
        name,
        arguments,
        background,
    } = op
    else {
        return;
    };
    let open = draft.head.turn.as_ref().map_or(0, |turn| turn.calls.len());
    let room = open < MAX_OPEN_CALLS;
    let body = ItemBody::Function {
        call_id: call_id.clone(),
        name: name.clone(),
        arguments: arguments.clone(),
        status: match room {
            true => CallStatus::InProgress,
            false => CallStatus::Incomplete,
        },
        background: *background,
    };
    let item = add_output(draft, turn, body);
    match &mut draft.head.turn {
        Some(active) if room => {
            active
                .calls
                .push(OpenCall::new(call_id, item).in_background(*background));
        }
        _ => draft.note(Entry::Done { i: item }),
    }
    made_progress(draft);
}

fn took(draft: &mut Draft, inputs: &[u64], turn: u64, generation: u64) {
    for &input in inputs {
        let at = draft
            .head
            .pending
            .iter()
            .position(|p| p.input == input && p.claimed == generation);
        let Some(at) = at else { continue };
        let pending = draft.head.pending.remove(at);
        if pending.item.is_none() {
            add_user_item(draft, input, turn);
        }
        deliver_input(draft, input, turn);
    }
}

fn add_output(draft: &mut Draft, turn: u64, body: ItemBody) -> u64 {
    let mut output_index = None;
    if let Some(active) = &mut draft.head.turn {
        output_index = Some(active.outputs);
        active.outputs += 1;
    }
    add_item(
        draft,
        &ItemRow {
            turn,
            output_index,
            at_ms: draft.now_ms,
            body,
        },
    )
}

/// A Run that gets something done has not lost its worker in vain.
fn made_progress(draft: &mut Draft) {
    if let Some(active) = &mut draft.head.turn {
        active.attempts = 0;
    }
}
