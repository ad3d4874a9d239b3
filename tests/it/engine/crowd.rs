//! Many Sessions at once, on several threads and in real time: what single-threaded tests can't meet.

use std::collections::BTreeMap;
use std::sync::Arc;

use pretty_assertions::assert_eq;
use rat_things::api::TurnStatus;
use serde_json::json;

use super::world::{World, lines, managed, message, next_turn};

const SESSIONS: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
pub async fn many_sessions_steered_queued_and_cancelled_at_once_lose_and_repeat_nothing() {
    let world = Arc::new(World::new());
    // A second dispatcher races the first for every claim.
    world.start_dispatching();
    let mut clients = Vec::new();
    for n in 0..SESSIONS {
        let world = world.clone();
        clients.push(tokio::spawn(async move {
            let text = format!("@exec s{n}-a\n@exec s{n}-b\n@say first");
            let session = world
                .create_surely(&format!("create {n}"), managed(&text))
                .await;
            let behind = format!("@exec s{n}-c\n@say behind");
            let events = [
                ("steer", json!([message("@say steered")])),
                ("queue", json!([next_turn(&behind)])),
                ("both", json!([message("@say one"), next_turn("@say two")])),
                ("again", json!([message("@say steered")])),
            ];
            let sent = events.into_iter().map(|(key, events)| {
                let (world, session) = (world.clone(), session.clone());
                tokio::spawn(async move { world.send_surely(&session, key, events).await })
            });
            for sent in sent.collect::<Vec<_>>() {
                sent.await.expect("no panic");
            }
            if n % 4 == 0 {
                let first = rat_things::engine::view::turn_id(&session, 1);
                let cancel = json!([{ "type": "agent.session.input.cancel", "turn_id": first }]);
                world.send_surely(&session, "cancel", cancel).await;
            }
            session
        }));
    }
    let mut sessions = Vec::new();
    for client in clients {
        sessions.push(client.await.expect("no panic"));
    }
    for (n, session) in sessions.iter().enumerate() {
        world.settled(session).await;
        let turns = world.turns(session).await;
        let ended = |turn: &TurnStatus| {
            *turn == TurnStatus::Completed || (n % 4 == 0 && *turn == TurnStatus::Cancelled)
        };
        assert!(turns.iter().all(ended), "{turns:?}");
        let told = lines(&world.items(session).await);
        let users = told
            .iter()
            .filter(|line| line.starts_with("User: "))
            .count();
        assert_eq!(users, 6, "{told:#?}");
    }
    world.at_rest().await;
    world.sound();
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    for command in world.commands() {
        *ran.entry(command).or_default() += 1;
    }
    let again: Vec<_> = ran.iter().filter(|(_, times)| **times > 1).collect();
    assert_eq!(again, Vec::<(&String, &usize)>::new());
    for n in (0..SESSIONS).filter(|n| n % 4 != 0) {
        assert!(ran.contains_key(&format!("s{n}-c")));
    }
}
