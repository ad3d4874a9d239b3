//! Why a Session is where it is: what `sessions explain` would say at any moment, held against what is so.

use rat_things::cli::daemon::Note;
use rat_things::cli::sessions::explain::{
    Attendance, Call, Explanation, Facts, Worker, explanation,
};
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys;
use rat_things::engine::session::Head;

use super::world::World;

/// What is known of a Session, as an operator beside a running daemon knows it.
fn facts(world: &World, session: &SessionId, head: &Head) -> Facts {
    let worker = |execution: &str| Worker {
        execution: execution.to_owned(),
        alive: world.fleet.life(execution).map(|life| !life.is_dead()),
    };
    let number = head.turn.as_ref().map_or(head.next.turn - 1, |t| t.number);
    let row = world.clients.row(session, keys::turn(number));
    let open = head.turn.iter().flat_map(|turn| &turn.calls);
    let calls = open.filter(|call| call.answer.is_none()).map(|call| Call {
        id: call.item.to_string(),
        name: "ask".into(),
        arguments: "{}".into(),
    });
    Facts {
        session: session.clone(),
        title: None,
        now_ms: world.shared.latest_ms(),
        turn: row.map(|row| (number, row)),
        calls: calls.collect(),
        waiting: Vec::new(),
        owner: head.fence.lease.as_ref().map(|l| worker(&l.execution.0)),
        missing: head
            .fence
            .quarantine
            .as_ref()
            .map(|q| worker(&q.execution.0)),
        daemon: Attendance::Here(Note {
            identity: "simulated".into(),
            version: "0".into(),
            started_ms: 0,
            listen: None,
            endpoint_url: None,
            tls: false,
        }),
        turn_attempts: 5,
        room: 8,
        began_anew: None,
        head: head.clone(),
    }
}

/// What is said of one Session, with a daemon that runs, or without one.
pub fn of(world: &World, session: &SessionId, daemon: bool) -> Option<Explanation> {
    let head = world.parts.watch.head(session)?;
    let mut facts = facts(world, session, &head);
    if !daemon {
        facts.daemon = Attendance::Nobody;
    }
    Some(explanation(&facts))
}

/// Every Session can be explained, now.
pub fn all(world: &World, at_rest: bool) {
    let mut heads = Vec::new();
    world.parts.watch.each(|id, watched| {
        let head = watched
            .facts
            .head()
            .filter(|head| head.deleted_ms.is_none());
        heads.extend(head.map(|head| (id.clone(), head.clone())));
    });
    for (session, head) in heads {
        let explained = explanation(&facts(world, &session, &head));
        let first = explained.causes.first();
        let code = first.map_or("", |cause| cause.code);
        let broken = |what: &str| {
            let what = format!("{session}: {what}: {:?} of {head:?}", explained.causes);
            world.shared.broken("explain", &what);
        };
        if first.is_none_or(|cause| cause.message.is_empty()) {
            broken("nothing is said");
        }
        world.shared.count("explanations");
        let asks = head.turn.as_ref().is_some_and(|turn| turn.asks_client());
        if head.fence.lease.is_none() && head.fence.quarantine.is_none() && asks {
            if code != "requires_action" || !explained.needs_person {
                broken("it waits for its client");
            }
        } else if at_rest && head.turn.is_some() {
            broken("it does not move, and waits for nobody");
        }
        let expiry = head.expiry.as_ref();
        let over = code == "expired" && expiry.is_some_and(|expiry| expiry.erased);
        let idle = code == "idle" || code == "no_input" || over;
        if idle
            != (head.turn.is_none()
                && expiry.is_none_or(|expiry| expiry.erased)
                && head.fence.lease.is_none()
                && head.fence.quarantine.is_none())
        {
            broken("it owes work, or owes none");
        }
        let queued = explained.causes.iter().any(|cause| cause.code == "queue");
        if queued == head.queue.is_empty() {
            broken("turns are queued, or none is");
        }
    }
}
