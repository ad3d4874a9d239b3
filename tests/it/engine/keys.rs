//! Idempotency keys: the same key and body is one submission, whatever happens to the answers; another body is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pretty_assertions::assert_eq;
use rat_things::api;
use rat_things::backend::memory::{Fault, MemoryStore};
use rat_things::engine::accept::digest_of;
use rat_things::engine::error::EngineError;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{Commit, StoreError, StoreFault};
use rat_things::engine::receipt::Outcome;
use serde_json::json;

use super::ground::Ground;
use super::world::{OWNER, Setup, World, lines, managed, message, next_turn};

/// A world without a dispatcher: what is accepted stays as it is.
async fn still(ground: Ground) -> World {
    let world = Setup {
        ground,
        ..Setup::default()
    }
    .build();
    world.stop_dispatching();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    world
}

/// A store whose commits fail as `plan` says, in order; those behind it work.
fn failing(plan: Vec<Fault>) -> Ground {
    let next = AtomicUsize::new(0);
    Ground::over(MemoryStore::with_faults(Box::new(move |_: &Commit| {
        let at = next.fetch_add(1, Ordering::SeqCst);
        plan.get(at).cloned().unwrap_or_default()
    })))
}

async fn inputs(world: &World, session: &SessionId) -> u64 {
    world.read(session).await.head.next.input - 1
}

#[tokio::test(start_paused = true)]
pub async fn two_inputs_without_a_common_key_are_two() {
    let world = still(Ground::here()).await;
    let session = world.create(managed("@say one")).await;
    let first = world.say(&session, "a", "@say same").await;
    let second = world.say(&session, "b", "@say same").await;
    assert_ne!(first.receipt_id, second.receipt_id);
    assert_eq!(first.receipt.digest, second.receipt.digest);
    assert_eq!(inputs(&world, &session).await, 3);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn clients_with_one_key_at_one_moment_are_told_the_same() {
    let world = Arc::new(still(Ground::here()).await);
    let session = world.create(managed("@say one")).await;
    let mut clients = Vec::new();
    for _ in 0..16 {
        let (world, session) = (world.clone(), session.clone());
        clients.push(tokio::spawn(async move {
            world
                .send(&session, "k", json!([message("@say two")]))
                .await
        }));
    }
    let mut told = Vec::new();
    for client in clients {
        told.push(client.await.expect("no panic").expect("accepted"));
    }
    assert_eq!(told.iter().filter(|accepted| !accepted.repeated).count(), 1);
    for accepted in &told {
        assert_eq!(accepted.receipt, told[0].receipt);
        assert_eq!(accepted.receipt_id, told[0].receipt_id);
    }
    assert_eq!(inputs(&world, &session).await, 2);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn another_body_under_a_key_is_refused_with_both_digests() {
    let world = still(Ground::here()).await;
    let session = world.create(managed("@say one")).await;
    world.say(&session, "k", "@say two").await;
    let before = world.store.records();
    let digest = |text: &str| {
        let body = json!({ "events": [message(text)] }).to_string();
        digest_of(&api::parse_events(body.as_bytes()).expect("valid").events)
    };
    let refused = world
        .send(&session, "k", json!([message("@say three")]))
        .await;
    let expected = EngineError::KeyReused {
        stored: digest("@say two"),
        given: digest("@say three"),
    };
    assert_eq!(refused, Err(expected));
    assert_eq!(world.store.records(), before);
}

#[tokio::test(start_paused = true)]
pub async fn the_order_of_fields_and_blanks_make_no_other_body() {
    let world = still(Ground::here()).await;
    let session = world.create(managed("@say one")).await;
    let texts = [
        r#"{"events":[{"type":"agent.session.input.message","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]}]}]}"#,
        r#"{ "events": [ { "input": [ { "content": [ { "text": "x", "type": "input_text" } ], "role": "user" } ], "type": "agent.session.input.message" } ] }"#,
    ];
    let mut receipts = Vec::new();
    for text in texts {
        let params = api::parse_events(text.as_bytes()).expect("valid");
        let accepted = world.core.send(OWNER, &session, "k", &params.events).await;
        receipts.push(accepted.expect("accepted").receipt);
    }
    assert_eq!(receipts[0], receipts[1]);
}

#[tokio::test(start_paused = true)]
pub async fn a_refused_request_is_not_remembered_under_its_key() {
    let world = still(Ground::here()).await;
    let session = world.create(managed("@say one")).await;
    let turn_id = rat_things::engine::view::turn_id(&session, 1);
    let nobody_asked = json!([{ "type": "agent.session.input.tool_result", "turn_id": turn_id,
        "call_id": "c", "success": true, "output": "x" }]);
    let refused = world
        .send(&session, "k", nobody_asked)
        .await
        .expect_err("nobody asked");
    assert!(
        matches!(refused, EngineError::Invalid { .. }),
        "{refused:?}"
    );
    let accepted = world
        .send(&session, "k", json!([message("@say two")]))
        .await
        .expect("accepted");
    assert!(!accepted.repeated);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_repeat_is_answered_though_the_same_would_be_refused_by_now() {
    let world = still(Ground::here()).await;
    let session = world.create(managed("@say 0")).await;
    let first = world.say(&session, "k0", "@say 0").await;
    for n in 1..63 {
        world
            .say(&session, &format!("k{n}"), &format!("@say {n}"))
            .await;
    }
    let full = world
        .send(&session, "new", json!([message("@say more")]))
        .await;
    assert!(matches!(full, Err(EngineError::Conflict(_))), "{full:?}");
    let again = world
        .send(&session, "k0", json!([message("@say 0")]))
        .await
        .expect("the receipt");
    assert!(again.repeated);
    assert_eq!(again.receipt, first.receipt);
}

#[tokio::test(start_paused = true)]
pub async fn a_lost_answer_is_settled_by_repeating_the_same_call() {
    // The answer of every attempt at the second commit is lost, so the caller is told that nobody knows.
    let mut plan = vec![Fault::None];
    plan.extend(vec![Fault::ApplyThenUnknown; 8]);
    let world = still(failing(plan)).await;
    let session = world.create(managed("@say one")).await;
    let lost = world
        .send(&session, "k", json!([message("@say two")]))
        .await;
    assert!(matches!(lost, Err(EngineError::Unknown(_))), "{lost:?}");
    let again = world
        .send(&session, "k", json!([message("@say two")]))
        .await
        .expect("the receipt");
    assert!(again.repeated);
    assert_eq!(again.receipt.outcomes, [Outcome::Steered { turn: 1 }]);
    assert_eq!(inputs(&world, &session).await, 2);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_full_disk_behind_a_lost_answer_is_not_told_as_if_nothing_had_happened() {
    let full = Fault::FailBefore(StoreError::Broken {
        fault: StoreFault::DiskFull,
        message: "no space".into(),
    });
    let mut plan = vec![Fault::None, Fault::ApplyThenUnknown];
    plan.extend(vec![full.clone(); 7]);
    let world = still(failing(plan)).await;
    let session = world.create(managed("@say one")).await;
    let lost = world
        .send(&session, "k", json!([message("@say two")]))
        .await;
    assert!(matches!(lost, Err(EngineError::Unknown(_))), "{lost:?}");
    assert_eq!(inputs(&world, &session).await, 2);

    let world = still(failing(vec![Fault::None, full])).await;
    let session = world.create(managed("@say one")).await;
    let broken = world
        .send(&session, "k", json!([message("@say two")]))
        .await;
    assert!(
        matches!(broken, Err(EngineError::Broken { .. })),
        "{broken:?}"
    );
    assert_eq!(inputs(&world, &session).await, 1);
}

#[tokio::test(start_paused = true)]
pub async fn a_session_is_created_once_under_its_key() {
    for lost in [0, 1, 8] {
        let world = still(failing(vec![Fault::ApplyThenUnknown; lost])).await;
        let world = Arc::new(world);
        let mut clients = Vec::new();
        for _ in 0..4 {
            let world = world.clone();
            clients.push(tokio::spawn(async move {
                world.create_surely("k", managed("@say one")).await
            }));
        }
        let mut sessions = Vec::new();
        for client in clients {
            sessions.push(client.await.expect("no panic"));
        }
        sessions.dedup();
        assert_eq!(sessions.len(), 1, "{lost} answers lost");
        assert_eq!(inputs(&world, &sessions[0]).await, 1);
        let other = managed("@say other").to_string();
        let params = api::parse_session_create(other.as_bytes()).expect("valid");
        let refused = world.core.create_session(OWNER, Some("k"), &params).await;
        assert!(
            matches!(refused, Err(EngineError::KeyReused { .. })),
            "{refused:?}"
        );
        world.sound();
    }
}

#[tokio::test(start_paused = true)]
pub async fn a_large_body_is_the_same_under_its_key_and_is_given_whole_to_the_agent() {
    let world = World::new();
    let session = world.create(managed("@say one")).await;
    world.settled(&session).await;
    let large = format!("@say large\n{}", "x".repeat(200 << 10));
    let first = world.say(&session, "k", &large).await;
    let again = world.say(&session, "k", &large).await;
    assert_eq!(first.receipt, again.receipt);
    world.settled(&session).await;
    let told = lines(&world.items(&session).await);
    assert_eq!(told.len(), 4);
    assert_eq!(told[2], format!("User: {large}"));
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn the_sessions_of_others_are_not_found() {
    let world = still(Ground::here()).await;
    let session = world.create(managed("@say one")).await;
    let before = world.store.records();
    let stranger = "f".repeat(32);
    let body = json!({ "events": [next_turn("@say mine")] }).to_string();
    let params = api::parse_events(body.as_bytes()).expect("valid");
    let not_found = |error: EngineError| matches!(error, EngineError::NotFound { .. });
    let core = &world.core;
    assert!(not_found(
        core.send(&stranger, &session, "k", &params.events)
            .await
            .expect_err("refused")
    ));
    assert!(not_found(
        core.get_session(&stranger, &session)
            .await
            .expect_err("refused")
    ));
    assert!(not_found(
        core.delete_session(&stranger, &session)
            .await
            .expect_err("refused")
    ));
    assert!(not_found(
        core.release_quarantine(&stranger, &session)
            .await
            .expect_err("refused")
    ));
    assert_eq!(world.store.records(), before);
}
