//! The end of a world: the faults stop, and everything that was accepted must come to its end by itself.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt;
use rat_things::engine::check::{Around, OwnerFacts, SessionFacts};
use rat_things::engine::delivery::DeliveryState;
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys::{self, Group};
use rat_things::engine::outbox::Reconcile;
use rat_things::engine::ports::{BlobScope, Blobs};
use rat_things::engine::session::Head;
use rat_things::engine::turn::TurnRow;
use rat_things::engine::view::turn_id;
use serde_json::json;

use super::explain;
use super::requests::{answer_to, event_id};
use super::world::{OWNER, World};

/// Virtual time in which everything must come to its end once the faults are over.
const PATIENCE_S: u64 = 45 * 60;

/// Lets a world come to rest, and reports whatever does not.
pub async fn come_to_rest(world: &World) {
    let shared = &world.shared;
    if shared.failed() {
        return;
    }
    shared.calm();
    world.fleet.calm();
    insist(world).await;
    reconcile(world).await;
    let mut answered = false;
    for _ in 0..PATIENCE_S {
        if shared.failed() {
            return;
        }
        if restless(world).is_none() {
            if answered {
                break;
            }
            // Some questions are answered now; others wait for ever, which is their right.
            answered = true;
            answer(world).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    if let Some(what) = restless(world) {
        shared.broken("liveness", &what);
        return;
    }
    // What a run does last, it does after its last commit; and what was launched late comes late.
    for _ in 0..120 {
        if world.fleet.runs() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    if world.fleet.runs() > 0 {
        let what = format!("{} runs go on without a lease", world.fleet.runs());
        shared.broken("liveness", &what);
    }
    explain::all(world, true);
    commands(world);
    if !world.parts.real {
        counted(world);
    }
    kept(world);
    whole(world);
    followed(world).await;
}

/// Every submission of which nobody knows what became of it is repeated until it is known.
async fn insist(world: &World) {
    let created = world.clients.memory().created.clone();
    for (key, (request, id)) in created {
        if id.is_none() && world.clients.create(&key, &request).await.is_none() {
            let what = format!("{key} can't be created though nothing goes wrong");
            world.shared.broken("liveness", &what);
        }
    }
    let sent = world.clients.memory().sent.clone();
    for sent in sent.iter().filter(|sent| sent.told.is_none()) {
        // A refusal is an answer, too: it was not accepted before.
        world
            .clients
            .insist(&sent.session, &sent.key, &sent.events)
            .await;
    }
}

/// A person settles what nobody else may.
async fn reconcile(world: &World) {
    let core = world.parts.plain();
    let notices = world.clients.memory().notices.clone();
    for (session, _) in notices {
        let Ok(read) = core.read_session(OWNER, &session).await else {
            continue;
        };
        let Ok((deliveries, _)) = core.list_deliveries(&read, None, 50).await else {
            continue;
        };
        for (id, row) in deliveries {
            if !matches!(row.state, DeliveryState::Uncertain | DeliveryState::Failed) {
                continue;
            }
            let how = match world.shared.below(3) {
                0 => Reconcile::Arrived,
                1 => Reconcile::SendAgain,
                _ => Reconcile::GiveUp,
            };
            if how == Reconcile::SendAgain {
                world.parts.post.again(&id);
            }
            let life = world.parts.client("reconcile");
            let core = world.parts.core(&life);
            let _ = core.reconcile_delivery(OWNER, &session, &id, how).await;
        }
    }
}

/// Answers what Sessions ask, for half of them.
async fn answer(world: &World) {
    let mut asking = Vec::new();
    world.parts.watch.each(|id, watched| {
        let asks = |head: &Head| {
            head.deleted_ms.is_none() && head.turn.as_ref().is_some_and(|t| t.asks_client())
        };
        if watched.facts.head().is_some_and(asks) {
            asking.push(id.clone());
        }
    });
    for session in asking {
        if world.shared.below(2) == 0 {
            continue;
        }
        for round in 0..20 {
            let now = world.parts.plain().get_session(OWNER, &session).await;
            let Some(action) = now
                .ok()
                .and_then(|now| now.required_actions.first().cloned())
            else {
                break;
            };
            let key = format!("last-{round}");
            let event = answer_to(&action, "42");
            world.clients.insist(&session, &key, &json!([event])).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    }
}

/// A Session that is not at rest, and why.
fn restless(world: &World) -> Option<String> {
    let mut found = None;
    world.parts.watch.each(|id, watched| {
        let why = match watched.facts.head() {
            None if watched.facts.is_empty() && watched.around.agenda.is_empty() => None,
            None => Some(format!(
                "rows of an erased session stay: {:?}",
                watched.facts
            )),
            Some(head) => unsettled(head),
        };
        if let Some(why) = why {
            found.get_or_insert(format!("{id}: {why}"));
        }
    });
    found
}

fn unsettled(head: &Head) -> Option<String> {
    let open = head.turn.as_ref().is_some_and(|turn| !turn.asks_client());
    let why = if head.deleted_ms.is_some() {
        "deleted, and not erased"
    } else if head.fence.lease.is_some() || head.fence.quarantine.is_some() {
        "a run or a quarantine goes on"
    } else if open {
        "its turn does not end"
    } else if head.deliveries_due_ms.is_some() {
        "a delivery is owed"
    } else {
        return None;
    };
    Some(format!("{why}: {head:?}"))
}

/// Everything that was confirmed is there, with its end; and the bytes that records name are stored.
fn kept(world: &World) {
    let clients = &world.clients;
    let sent = clients.memory().sent.clone();
    for sent in sent {
        let Some(told) = &sent.told else { continue };
        if !clients.exists(&sent.session) {
            if !clients.memory().deleted.contains_key(&sent.session) {
                world
                    .shared
                    .broken("I1", &format!("{} is gone", sent.session));
            }
            continue;
        }
        let receipt = clients.row(&sent.session, keys::receipt(&keys::key_hash(&sent.key)));
        if receipt.as_ref() != Some(told) {
            let what = format!(
                "{}: the receipt of {} became {receipt:?}",
                sent.session, sent.key
            );
            world.shared.broken("I1", &what);
        }
        for at in 0..told.outcomes.len() as u64 {
            let input = told.first_input + at;
            if clients.end_of(&sent.session, input).is_none() {
                let what = format!("{}: input {input} was accepted and is gone", sent.session);
                world.shared.broken("I1", &what);
            }
        }
    }
    world.parts.watch.each(|id, watched| {
        for (sort, blob) in watched.facts.blobs() {
            let owner = watched
                .facts
                .head()
                .map_or(String::new(), |head| head.owner.clone());
            let session = id.to_string();
            let scope = BlobScope { owner, session };
            let got = world.parts.blobs.get(&scope, blob).now_or_never();
            if !matches!(got, Some(Ok(_))) {
                world
                    .shared
                    .broken("I8", &format!("{id} {sort}: its bytes are {got:?}"));
            }
        }
    });
}

/// No command ran more often than it was recorded as claimed.
fn commands(world: &World) {
    let mut ran = world.parts.commands();
    world.parts.watch.each(|_, watched| {
        for (command, times) in &watched.commands {
            if let Some(ran) = ran.get_mut(command) {
                *ran = ran.saturating_sub(*times);
            }
        }
    });
    ran.retain(|_, times| *times > 0);
    if !ran.is_empty() {
        let what = format!("commands ran more often than they were claimed: {ran:?}");
        world.shared.broken("I7", &what);
    }
}

/// No Turn counts more than its agents reported: what is observed is counted once, whatever became of an answer.
fn counted(world: &World) {
    let mut heads = Vec::new();
    world.parts.watch.each(|id, watched| {
        let head = watched
            .facts
            .head()
            .filter(|head| head.deleted_ms.is_none());
        heads.extend(head.map(|head| (id.clone(), head.next.turn)));
    });
    for (session, turns) in heads {
        for turn in 1..turns {
            let row: Option<TurnRow> = world.clients.row(&session, keys::turn(turn));
            let Some(usage) = row.and_then(|row| row.usage) else {
                continue;
            };
            let most = world.parts.outside.tokens_read(&turn_id(&session, turn));
            if usage.input > most {
                let what =
                    format!("{session}: turn {turn} counts {usage:?}, at most {most} were read");
                world.shared.broken("I12", &what);
            }
        }
    }
}

/// The store read from the beginning says the same as what was gathered commit by commit.
fn whole(world: &World) {
    let mut sessions: BTreeMap<SessionId, (SessionFacts, Around)> = BTreeMap::new();
    let mut owner = OwnerFacts::new();
    for record in world.parts.store.records() {
        let partition = &record.key.partition;
        if let Some(id) = partition.strip_prefix("S/").and_then(SessionId::parse) {
            sessions.entry(id).or_default().0.take(&record);
        } else if partition.starts_with("O/") {
            owner.take(&record);
        } else if let Some((due_ms, id)) = keys::parse_agenda(&record.key.sort) {
            let group = match partition.starts_with("A/execute/") {
                true => Group::Execute,
                false => Group::Deliver,
            };
            let around = &mut sessions.entry(id).or_default().1;
            around.agenda.insert((group, due_ms));
        }
    }
    let mut findings = owner.findings(OWNER);
    for (id, (facts, around)) in &mut sessions {
        let created_ms = facts.head().map_or(0, |head| head.created_ms);
        around.listed_by_id = owner.lists_by_id(id.as_str());
        around.listed_by_time = owner.lists_by_time(id.as_str(), created_ms);
        findings.extend(facts.findings(id, around, world.shared.latest_ms()));
    }
    for finding in findings {
        world.shared.broken(
            finding.invariant.code(),
            &format!("{}: {}", finding.key, finding.what),
        );
    }
}

/// Whoever followed a Session was told every event once, in order, and is told the rest now.
async fn followed(world: &World) {
    let core = world.parts.plain();
    let followed = world.clients.memory().followed.clone();
    for (session, told) in followed {
        let Ok(read) = core.read_session(OWNER, &session).await else {
            continue;
        };
        let Ok((all, _)) = core.list_events(&read, None, 100_000).await else {
            continue;
        };
        let all: Vec<String> = all.iter().map(event_id).collect();
        if !all.starts_with(&told) {
            let what = format!(
                "{session}: a follower was told {} events otherwise",
                told.len()
            );
            world.shared.broken("I16", &what);
        }
    }
}
