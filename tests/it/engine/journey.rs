//! One input's way from acceptance to its saved results, and the forks on that way.

use pretty_assertions::assert_eq;
use rat_things::api::{SessionStatus, TurnStatus};
use serde_json::json;

use super::world::{World, lines, managed, message};

#[tokio::test]
async fn a_turn_runs_commands_and_saves_items_and_artifacts() {
    let world = World::with(|spec, files| {
        files.insert("/workspace/outputs/report.md".into(), "# done\n".into());
        rat_things::backend::memory::environments::Scripted::ok(format!("ran {:?}", spec.program))
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
    let read = world
        .core
        .read_session(super::world::OWNER, &session)
        .await
        .expect("readable");
    let artifacts = world
        .core
        .list_artifacts(&read, None, &Default::default())
        .await
        .expect("listed");
    assert_eq!(artifacts.data.len(), 1);
    assert_eq!(artifacts.data[0].path, "/workspace/outputs/report.md");
}

#[tokio::test]
async fn a_function_call_waits_without_a_worker_and_goes_on_in_the_same_turn() {
    let world = World::new();
    let session = world
        .create(json!({
            "environment": { "type": "none" },
            "agent": { "model": "demo", "tools": [{
                "type": "function", "name": "ask", "description": "d", "parameters": {} }] },
            "input": "@call ask {\"q\":1}\n@say thanks",
        }))
        .await;
    world
        .until(&session, |s| s.status == SessionStatus::RequiresAction)
        .await;
    for _ in 0..200 {
        if world.compute.runs() == 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(
        world.compute.runs(),
        0,
        "nothing runs while a client is awaited"
    );
    let now = world
        .core
        .get_session(super::world::OWNER, &session)
        .await
        .expect("readable");
    let rat_things::api::RequiredAction::FunctionCall {
        turn_id, call_id, ..
    } = &now.required_actions[0]
    else {
        panic!("{:?}", now.required_actions);
    };
    let answer = json!([{
        "type": "agent.session.input.tool_result", "turn_id": turn_id, "call_id": call_id,
        "success": true, "output": "42" }]);
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
    assert_eq!(
        other.to_string(),
        format!("Unknown pending tool call: {call_id}")
    );
}

#[tokio::test]
async fn a_steer_joins_the_running_turn_and_a_queued_message_starts_the_next() {
    let world = World::new();
    let session = world
        .create(managed("@exec true\n@sleep 150\n@say first"))
        .await;
    world.items_reach(&session, 2).await;
    let queued = json!([{
        "type": "agent.session.input.message", "delivery": "next_turn",
        "input": [{ "role": "user", "content": [{ "type": "input_text", "text": "@say third" }] }] }]);
    world.send(&session, "k1", queued).await.expect("accepted");
    world.say(&session, "k2", "@say second").await;
    world.settled(&session).await;
    assert_eq!(
        world.turns(&session).await,
        [TurnStatus::Completed, TurnStatus::Completed]
    );
    assert_eq!(
        lines(&world.items(&session).await),
        [
            "User: @exec true\n@sleep 150\n@say first",
            "$ true [Completed Some(0)]",
            "Assistant: first",
            "User: @say second",
            "Assistant: second",
            "User: @say third",
            "Assistant: third",
        ]
    );
}

#[tokio::test]
async fn a_cancel_ends_the_turn_and_what_was_queued_survives_in_order() {
    let world = World::new();
    let session = world.create(managed("@exec true\n@sleep 60000")).await;
    world.items_reach(&session, 2).await;
    for (key, text) in [("a", "@say one"), ("b", "@say two"), ("c", "@say three")] {
        let mut event = message(text);
        event["delivery"] = "next_turn".into();
        world
            .send(&session, key, json!([event]))
            .await
            .expect("accepted");
    }
    world
        .send(
            &session,
            "x",
            json!([{ "type": "agent.session.input.cancel" }]),
        )
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
            "User: @exec true\n@sleep 60000",
            "$ true [Completed Some(0)]",
            "User: @say one",
            "Assistant: one",
            "User: @say two",
            "Assistant: two",
            "User: @say three",
            "Assistant: three",
        ]
    );
}

#[tokio::test]
async fn a_deleted_session_is_gone_at_once_and_its_rows_soon() {
    let world = World::new();
    let session = world.create(managed("@sleep 60000")).await;
    world
        .core
        .delete_session(super::world::OWNER, &session)
        .await
        .expect("deleted");
    assert!(
        world
            .core
            .get_session(super::world::OWNER, &session)
            .await
            .is_err()
    );
    for _ in 0..400 {
        if world.store.records().is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("rows are left: {:#?}", world.store.records());
}
