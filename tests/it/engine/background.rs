//! Function calls that the agent does not wait for: it goes on, and their answers reach it when they come.

use std::time::Duration;

use pretty_assertions::assert_eq;
use rat_things::api::{Event, SessionStatus, TurnStatus};
use rat_things::engine::ids::SessionId;
use serde_json::json;

use super::world::{World, answer_to, ask, lines};

fn request(input: &str) -> serde_json::Value {
    let mut ask = ask();
    ask["async"] = true.into();
    json!({
        "environment": { "type": "openai_hosted" },
        "agent": { "model": "demo", "tools": [ask] },
        "input": input,
    })
}

async fn answer(world: &World, session: &SessionId) {
    let answer = answer_to(world, session, "42").await;
    world.send_surely(session, "answer", answer).await;
}

/// Waits until the call is there to be answered, while the agent works.
async fn asked(world: &World, session: &SessionId) {
    world
        .until(session, |s| !s.required_actions.is_empty())
        .await;
}

async fn kinds(world: &World, session: &SessionId) -> Vec<&'static str> {
    let read = world.read(session).await;
    let events = world.core.list_events(&read, None, 1_000).await;
    events.expect("listed").0.iter().map(Event::kind).collect()
}

#[tokio::test(start_paused = true)]
pub async fn the_agent_goes_on_and_the_turn_waits_only_when_nothing_else_is_left() {
    let world = World::new();
    let session = world
        .create(request("@call ask {}\n@exec one\n@say meanwhile"))
        .await;
    world
        .until(&session, |s| s.status == SessionStatus::RequiresAction)
        .await;
    world.at_rest().await;
    assert_eq!(world.commands(), ["one"]);
    answer(&world, &session).await;
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    assert_eq!(
        lines(&world.items(&session).await)[1..],
        [
            "ask({}) [Completed]",
            "$ one [Completed Some(0)]",
            "Assistant: meanwhile",
            "-> Some(Text(\"42\")) None",
            "Assistant: Done.",
        ]
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn an_answer_that_comes_while_the_agent_works_is_given_to_it_then() {
    let world = World::new();
    let session = world
        .create(request(
            "@call ask {}\n@exec one\n@sleep 5000\n@exec two\n@say last",
        ))
        .await;
    asked(&world, &session).await;
    answer(&world, &session).await;
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    let requires_action = Event::KINDS
        .iter()
        .find(|kind| kind.ends_with(".requires_action"))
        .expect("there is one");
    assert!(!kinds(&world, &session).await.contains(requires_action));
    let last = world.asked.requests().last().cloned().unwrap_or_default();
    assert!(last.contains("Result of the function call"), "{last}");
    assert_eq!(world.compute.granted().len(), 1, "no run was ended for it");
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn an_answer_at_the_very_end_is_never_lost() {
    // The answer comes a little later in each round, until the Turn waits for it.
    for delay_ms in 0..60 {
        let world = World::new();
        let session = world
            .create(request("@call ask {}\n@slow 5 one two three four"))
            .await;
        asked(&world, &session).await;
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        answer(&world, &session).await;
        world.settled(&session).await;
        assert_eq!(
            world.turns(&session).await,
            [TurnStatus::Completed],
            "after {delay_ms} ms"
        );
        let last = world.asked.requests().last().cloned().unwrap_or_default();
        assert!(
            last.contains("Result of the function call"),
            "after {delay_ms} ms: {last}"
        );
        world.sound();
    }
}

#[tokio::test(start_paused = true)]
pub async fn an_answer_that_was_handed_over_is_not_lost_with_the_worker() {
    let world = World::new();
    let session = world
        .create(request("@call ask {}\n@sleep 60000\n@say last"))
        .await;
    asked(&world, &session).await;
    answer(&world, &session).await;
    world
        .until(&session, |s| s.required_actions.is_empty())
        .await;
    world.kill_worker(1).await;
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    let last = world.asked.requests().last().cloned().unwrap_or_default();
    assert!(last.contains("Result of the function call"), "{last}");
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_call_that_is_open_when_its_turn_is_cancelled_is_closed() {
    let world = World::new();
    let session = world
        .create(request("@call ask {}\n@sleep 60000\n@say last"))
        .await;
    asked(&world, &session).await;
    let cancel = json!([{ "type": "agent.session.input.cancel" }]);
    world.send_surely(&session, "cancel", cancel).await;
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Cancelled]);
    assert_eq!(
        lines(&world.items(&session).await)[1..],
        ["ask({}) [Incomplete]"]
    );
    world.say(&session, "next", "@say next").await;
    world.settled(&session).await;
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_message_reaches_an_agent_that_waits_only_for_what_it_need_not_wait_for() {
    // It comes while the agent works, at the moment in which it rests, and behind that.
    for delay_ms in 0..40 {
        let world = World::new();
        let session = world
            .create(request("@call ask {}\n@slow 5 one two three"))
            .await;
        asked(&world, &session).await;
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        world.say(&session, "more", "@say more").await;
        let more = "Assistant: more";
        world
            .until(&session, |s| s.status == SessionStatus::RequiresAction)
            .await;
        for _ in 0..1_000 {
            if lines(&world.items(&session).await)
                .iter()
                .any(|line| line == more)
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let told = lines(&world.items(&session).await);
        assert!(
            told.iter().any(|line| line == more),
            "{delay_ms}: {told:#?}"
        );
        world
            .until(&session, |s| s.status == SessionStatus::RequiresAction)
            .await;
        answer(&world, &session).await;
        world.settled(&session).await;
        assert_eq!(
            world.turns(&session).await,
            [TurnStatus::Completed],
            "after {delay_ms} ms"
        );
        world.sound();
    }
}
