//! One input's way from acceptance to its saved results, and the forks on that way.

use pretty_assertions::assert_eq;
use rat_things::api::{SessionStatus, TurnStatus};
use rat_things::backend::memory::environments::Scripted;
use serde_json::json;

use super::world::{OWNER, World, answer_to, ask, eventually, lines, managed, next_turn};

const CANCEL: &str = "agent.session.input.cancel";

#[tokio::test(start_paused = true)]
pub async fn a_turn_runs_commands_and_saves_items_and_artifacts() {
    let world = World::with(|spec, files| {
        files.insert("/workspace/outputs/report.md".into(), "# done\n".into());
        Scripted::ok(format!("ran {:?}", spec.program))
    });
    let session = world.create(managed("@exec echo one\n@say finished")).await;
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    assert_eq!(
        lines(&world.items(&session).await),
        [
            "User: @exec echo one\n@say finished",
            "$ echo one [Completed Some(0)]",
            "Assistant: finished",
        ]
    );
    assert_eq!(
        world.artifacts(&session).await,
        ["/workspace/outputs/report.md"]
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_function_call_waits_without_a_worker_and_goes_on_in_the_same_turn() {
    let world = World::new();
    let session = world
        .create(json!({
            "environment": { "type": "none" },
            "agent": { "model": "demo", "tools": [ask()] },
            "input": "@call ask {\"q\":1}\n@say thanks",
        }))
        .await;
    world
        .until(&session, |s| s.status == SessionStatus::RequiresAction)
        .await;
    // Nothing runs while a client is awaited.
    world.at_rest().await;
    world.sound();
    let answer = answer_to(&world, &session, "42").await;
    world
        .send(&session, "k1", answer.clone())
        .await
        .expect("accepted");
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    assert_eq!(
        lines(&world.items(&session).await)[1..],
        [
            "ask({\"q\":1}) [Completed]",
            "-> Some(Text(\"42\")) None",
            "Assistant: thanks",
        ]
    );
    let again = world
        .send(&session, "k1", answer.clone())
        .await
        .expect("the receipt");
    assert!(again.repeated);
    let other = world
        .send(&session, "k2", answer)
        .await
        .expect_err("the call is over");
    assert!(
        other.to_string().starts_with("Unknown pending tool call: "),
        "{other}"
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_steer_joins_the_running_turn_and_a_queued_message_starts_the_next() {
    let world = World::new();
    let session = world
        .create(managed("@exec true\n@sleep 60000\n@say first"))
        .await;
    world.items_reach(&session, 2).await;
    world
        .send(&session, "k1", json!([next_turn("@say third")]))
        .await
        .expect("accepted");
    world.say(&session, "k2", "@say second").await;
    world.settled(&session).await;
    assert_eq!(
        world.turns(&session).await,
        [TurnStatus::Completed, TurnStatus::Completed]
    );
    assert_eq!(
        lines(&world.items(&session).await),
        [
            "User: @exec true\n@sleep 60000\n@say first",
            "$ true [Completed Some(0)]",
            "Assistant: first",
            "User: @say second",
            "Assistant: second",
            "User: @say third",
            "Assistant: third",
        ]
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_cancel_ends_the_turn_and_what_was_queued_survives_in_order() {
    let world = World::new();
    let session = world.create(managed("@exec true\n@sleep 6000000")).await;
    world.items_reach(&session, 2).await;
    for (key, text) in [("a", "@say one"), ("b", "@say two"), ("c", "@say three")] {
        world
            .send(&session, key, json!([next_turn(text)]))
            .await
            .expect("accepted");
    }
    world
        .send(&session, "x", json!([{ "type": CANCEL }]))
        .await
        .expect("accepted");
    world.settled(&session).await;
    use TurnStatus::{Cancelled, Completed};
    assert_eq!(
        world.turns(&session).await,
        [Cancelled, Completed, Completed, Completed]
    );
    assert_eq!(
        lines(&world.items(&session).await),
        [
            "User: @exec true\n@sleep 6000000",
            "$ true [Completed Some(0)]",
            "User: @say one",
            "Assistant: one",
            "User: @say two",
            "Assistant: two",
            "User: @say three",
            "Assistant: three",
        ]
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_deleted_session_is_gone_at_once_and_its_rows_soon() {
    let world = World::new();
    let session = world.create(managed("@exec true\n@sleep 6000000")).await;
    world.items_reach(&session, 2).await;
    world
        .core
        .delete_session(OWNER, &session)
        .await
        .expect("deleted");
    assert!(world.core.get_session(OWNER, &session).await.is_err());
    world.sound();
    let empty = eventually(async || world.store.records().is_empty()).await;
    assert!(empty, "rows are left: {:#?}", world.store.records());
    world.at_rest().await;
}
