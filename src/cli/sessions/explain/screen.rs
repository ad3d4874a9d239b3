//! An explanation on one screen, and as a document.

use serde_json::{Value, json};

use super::cause::Explanation;
use super::facts::{Attendance, Facts, Worker};
use crate::api::Words;
use crate::cli::out::{Cell, Column, Details, Role, Table};
use crate::cli::show;
use crate::engine::ids::{Kind, derived};
use crate::engine::view::turn_id;

/// Pending inputs that fit on a screen.
const SHOWN_INPUTS: usize = 6;

/// The explanation as data.
pub(super) fn document(facts: &Facts, explained: &Explanation) -> Value {
    let head = &facts.head;
    let causes: Vec<Value> = explained
        .causes
        .iter()
        .map(|cause| json!({"code": cause.code, "message": cause.message}))
        .collect();
    let pending: Vec<Value> = facts
        .waiting
        .iter()
        .enumerate()
        .map(|(at, waiting)| {
            json!({
                "position": at + 1,
                "input_id": derived(Kind::Input, &facts.session, waiting.input),
                "turn_id": turn_id(&facts.session, waiting.turn),
                "in_hand": waiting.in_hand,
                "accepted_ms": waiting.accepted_ms,
            })
        })
        .collect();
    let calls: Vec<Value> = facts
        .calls
        .iter()
        .map(|call| json!({"call_id": call.id, "name": call.name, "arguments": call.arguments}))
        .collect();
    let worker =
        |worker: &Worker| json!({"execution": worker.execution, "process_alive": worker.alive});
    let lease = head.fence.lease.as_ref().zip(facts.owner.as_ref());
    let quarantine = head.fence.quarantine.as_ref().zip(facts.missing.as_ref());
    json!({
        "object": "rat_things.explanation",
        "session_id": facts.session.as_str(),
        "status": facts.status().as_str(),
        "needs_person": explained.needs_person,
        "causes": causes,
        "next": explained.next,
        "active_turn": head.turn.as_ref().map(|turn| json!({
            "id": turn_id(&facts.session, turn.number),
            "status": turn.status.as_str(),
            "cancelling": turn.cancel.is_some(),
            "attempts": turn.attempts,
            "commands_running": turn.running.len(),
            "not_before_ms": (turn.not_before_ms > 0).then_some(turn.not_before_ms),
        })),
        "queued_turns": head.queue.iter().map(|q| turn_id(&facts.session, q.number)).collect::<Vec<_>>(),
        "required_actions": calls,
        "pending_inputs": pending,
        "lease": lease.map(|(lease, owner)| json!({"until_ms": lease.until_ms, "worker": worker(owner)})),
        "quarantine": quarantine.map(|(q, missing)| json!({"since_ms": q.since_ms, "worker": worker(missing)})),
        "generation": head.fence.generation,
        "last_error": head.last_error,
        "next_due_ms": head.agenda.execute,
        "daemon": facts.daemon.note().map(|note| json!({"identity": note.identity, "version": note.version})),
    })
}

/// The explanation for a person.
pub(super) fn details(facts: &Facts, explained: &Explanation) -> Details {
    let head = &facts.head;
    let mut causes = explained.causes.iter().map(|cause| cause.message.as_str());
    let mut details = Details::new()
        .value("session", Cell::text(facts.session.as_str()))
        .value("title", Cell::maybe(facts.title.as_deref(), Cell::text))
        .value("status", show::session_status(facts.status()))
        .prose("because", causes.next().unwrap_or_default());
    for more in causes {
        details = details.prose("", more);
    }
    if let Some(next) = &explained.next {
        let label = if explained.needs_person {
            "to do"
        } else {
            "next"
        };
        details = details.value(label, Cell::text(next));
    }
    details = match &facts.turn {
        Some((number, row)) => {
            let label = if head.turn.is_some() {
                "turn"
            } else {
                "last turn"
            };
            let id = turn_id(&facts.session, *number);
            details
                .value(label, Cell::text(id))
                .value("  is", show::turn_status(row.status))
                .value(
                    "  since",
                    Cell::Time(
                        row.completed_ms
                            .or(row.started_ms)
                            .unwrap_or(row.created_ms),
                    ),
                )
        }
        None => details.value("turn", Cell::Nothing),
    };
    if let Some((lease, owner)) = head.fence.lease.as_ref().zip(facts.owner.as_ref()) {
        details = details
            .value("worker", Cell::text(&owner.execution))
            .value("  process", liveness(owner.alive))
            .value("  lease until", Cell::Time(lease.until_ms));
    }
    if let Some((quarantine, missing)) = head.fence.quarantine.as_ref().zip(facts.missing.as_ref())
    {
        details = details
            .value("missing worker", Cell::text(&missing.execution))
            .value("  process", liveness(missing.alive))
            .value("  since", Cell::Time(quarantine.since_ms));
    }
    let daemon = match &facts.daemon {
        Attendance::Here(note) => {
            Cell::word(format!("running, version {}", note.version), Role::Good)
        }
        Attendance::Nobody => Cell::word("not running", Role::Dim),
        Attendance::Unseen => Cell::word("not running here", Role::Dim),
    };
    details = details
        .value("daemon", daemon)
        .value("next due", Cell::maybe(head.agenda.execute, Cell::Time));
    if let Some(error) = &head.last_error {
        details = details.prose("last error", error);
    }
    details.table("pending inputs", pending(facts))
}

fn liveness(alive: Option<bool>) -> Cell {
    match alive {
        Some(true) => Cell::word("alive", Role::Active),
        Some(false) => Cell::word("gone", Role::Bad),
        None => Cell::word("unknown", Role::Warn),
    }
}

fn pending(facts: &Facts) -> Table {
    let mut table = Table::new([
        Column::new("#"),
        Column::new("TURN"),
        Column::new("WHERE"),
        Column::new("ACCEPTED"),
    ]);
    for (at, waiting) in facts.waiting.iter().enumerate().take(SHOWN_INPUTS) {
        let place = match waiting.in_hand {
            true => "with the worker",
            false => "waits",
        };
        table.row([
            Cell::Count(at as u64 + 1),
            Cell::text(turn_id(&facts.session, waiting.turn)),
            Cell::text(place),
            Cell::Time(waiting.accepted_ms),
        ]);
    }
    let more = facts.waiting.len().saturating_sub(SHOWN_INPUTS);
    if more > 0 {
        table.row([Cell::Nothing, Cell::text(format!("and {more} more"))]);
    }
    table
}
