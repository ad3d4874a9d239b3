//! Wake-ups: promptness depends on them, nothing else does (I13).

use pretty_assertions::assert_eq;
use rat_things::api::{SessionStatus, TurnStatus};
use rat_things::engine::ports::{ExecutionId, RunGrant};
use serde_json::json;

use super::world::{World, answer_to, lines, managed, next_turn};

const CANCEL: &str = "agent.session.input.cancel";

#[tokio::test(start_paused = true)]
pub async fn a_run_hears_of_a_cancel_though_another_grant_came_and_went_here() {
    let world = World::new();
    let session = world.create(managed("@exec true\n@sleep 6000000")).await;
    world.items_reach(&session, 2).await;
    let stale = RunGrant {
        session: session.to_string(),
        generation: 0,
        execution: ExecutionId("nobody".into()),
    };
    world.worker.run(stale).await;
    let asked_ms = world.core.clock.now_ms();
    world
        .send(&session, "x", json!([{ "type": CANCEL }]))
        .await
        .expect("accepted");
    world.settled(&session).await;
    let took_ms = world.core.clock.now_ms() - asked_ms;
    // Without its ring the run would look at the head when it renews its lease.
    assert!(took_ms < world.core.settings.lease_ms / 3, "{took_ms} ms");
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn p22_everything_is_done_though_every_ring_is_lost() {
    let world = World::new();
    world.bell.lose_rings(true);
    let session = world
        .create(managed("@exec one\n@sleep 90000\n@say first"))
        .await;
    world.items_reach(&session, 2).await;
    world
        .send(
            &session,
            "q",
            json!([next_turn("@call ask {}\n@say third")]),
        )
        .await
        .expect("accepted");
    world.say(&session, "s", "@say second").await;
    world
        .until(&session, |s| s.status == SessionStatus::RequiresAction)
        .await;
    let answer = answer_to(&world, &session, "42").await;
    world.send(&session, "a", answer).await.expect("accepted");
    world.settled(&session).await;
    world.say(&session, "l", "@exec two\n@sleep 6000000").await;
    world.items_reach(&session, 11).await;
    world
        .send(&session, "c", json!([{ "type": CANCEL }]))
        .await
        .expect("accepted");
    world.settled(&session).await;
    use TurnStatus::{Cancelled, Completed};
    assert_eq!(
        world.turns(&session).await,
        [Completed, Completed, Cancelled]
    );
    let expected = ["one", "two"];
    assert_eq!(world.commands(), expected);
    assert_eq!(lines(&world.items(&session).await).len(), 11);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_dispatcher_that_starts_later_finds_what_was_accepted_without_one() {
    let world = World::new();
    world.stop_dispatching();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let session = world.create(managed("@say hello")).await;
    world.say(&session, "k", "@say again").await;
    tokio::time::sleep(std::time::Duration::from_secs(20 * 60)).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Queued]);
    world.start_dispatching();
    world.settled(&session).await;
    assert_eq!(
        lines(&world.items(&session).await),
        [
            "User: @say hello",
            "User: @say again",
            "Assistant: hello",
            "Assistant: again"
        ]
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn two_dispatchers_at_once_do_everything_once() {
    let world = World::new();
    world.start_dispatching();
    let mut sessions = Vec::new();
    for n in 0..20 {
        sessions.push(
            world
                .create(managed(&format!("@exec c{n}\n@say done")))
                .await,
        );
    }
    for session in &sessions {
        world.settled(session).await;
        assert_eq!(world.turns(session).await, [TurnStatus::Completed]);
    }
    let mut commands = world.commands();
    commands.sort();
    commands.dedup();
    assert_eq!(commands.len(), 20);
    assert_eq!(world.environments.log().len(), 20);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn an_idle_session_is_not_looked_at() {
    let world = World::new();
    let session = world.create(managed("@say hello")).await;
    world.settled(&session).await;
    world.at_rest().await;
    let before = world.store.records();
    tokio::time::sleep(std::time::Duration::from_secs(3_600)).await;
    assert_eq!(world.store.records(), before);
    assert!(
        !before
            .iter()
            .any(|record| record.key.partition.starts_with("A/"))
    );
}
