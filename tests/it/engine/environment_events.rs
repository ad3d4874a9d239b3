//! What a follower is told about the environment: each change that was seen, in the commit that follows it.

use std::time::Duration;

use pretty_assertions::assert_eq;
use rat_things::api::Event;
use rat_things::backend::memory::environments::Scripted;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{EnvironmentError, Environments as _, Program};

use super::world::{World, eventually, managed};

/// Commands named `die` lose their environment, `stay` never end; others do nothing.
fn world() -> World {
    World::with(|spec, _| match &spec.program {
        Program::Shell(text) if text == "die" => Scripted::Lost("it died".to_owned()),
        Program::Shell(text) if text == "stay" => Scripted::Hangs {
            output: String::new(),
        },
        _ => Scripted::ok("done"),
    })
}

async fn events(world: &World, session: &SessionId) -> Vec<Event> {
    let read = world.read(session).await;
    let (events, more) = world
        .core
        .list_events(&read, None, 1_000)
        .await
        .expect("listed");
    assert!(!more);
    events
}

/// The events about the environment, without what their names have in common.
async fn told(world: &World, session: &SessionId) -> Vec<String> {
    let events = events(world, session).await;
    let names = events.iter().map(Event::kind);
    names
        .filter_map(|name| name.strip_prefix("agent.session.environment."))
        .map(str::to_owned)
        .collect()
}

async fn next_turn(world: &World, session: &SessionId, key: &str, text: &str) {
    world.say(session, key, text).await;
    world.settled(session).await;
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn the_first_command_finds_the_environment_ready_and_later_ones_tell_nothing() {
    let world = world();
    let session = world.create(managed("@say no command")).await;
    world.settled(&session).await;
    assert_eq!(told(&world, &session).await, Vec::<String>::new());
    let before = world.read(&session).await.head.revision;
    next_turn(&world, &session, "a", "@exec true\n@say done").await;
    // The message, and three commits of the Turn, as without the events.
    assert_eq!(world.read(&session).await.head.revision, before + 4);
    assert_eq!(told(&world, &session).await, ["ready", "connected"]);
    next_turn(&world, &session, "b", "@exec true\n@say done").await;
    assert_eq!(told(&world, &session).await, ["ready", "connected"]);

    let all = events(&world, &session).await;
    let at = all
        .iter()
        .position(|event| matches!(event, Event::EnvironmentConnected(_)))
        .expect("it was told");
    let Event::EnvironmentConnected(connected) = &all[at] else {
        panic!("{:?}", all[at]);
    };
    let read = world.read(&session).await;
    let (turn, _) = world.core.get_turn(&read, 2).await.expect("readable");
    assert_eq!(connected.turn_id.as_deref(), Some(turn.id.as_str()));
    assert_eq!(connected.environment.kind, "openai_hosted");
    assert_eq!(
        Some(&connected.environment.id),
        read.config.environment.as_ref().map(|spec| &spec.id)
    );
    assert!(
        all[at..].iter().any(|e| matches!(e, Event::ItemDone(_))),
        "it is told before the command's end"
    );
}

#[tokio::test(start_paused = true)]
pub async fn an_environment_that_dies_under_a_command_is_disconnected_until_it_is_opened_again() {
    let world = world();
    let session = world.create(managed("@exec die\n@say oh")).await;
    world.settled(&session).await;
    assert_eq!(
        told(&world, &session).await,
        ["ready", "connected", "disconnected"]
    );
    next_turn(&world, &session, "a", "@exec true").await;
    assert_eq!(told(&world, &session).await[3..], ["connected".to_owned()]);
}

#[tokio::test(start_paused = true)]
pub async fn an_environment_that_can_not_be_opened_has_failed_and_says_why() {
    let world = world();
    world.environments.refuse(Some(EnvironmentError::Refused {
        cause: "no namespaces".into(),
        remedy: "allow them".into(),
    }));
    let session = world
        .create(managed("@exec true\n@exec true\n@say oh"))
        .await;
    world.settled(&session).await;
    assert_eq!(told(&world, &session).await, ["failed"], "once");
    let all = events(&world, &session).await;
    let failed = all.iter().find_map(|event| match event {
        Event::EnvironmentFailed(failed) => failed.environment.error.clone(),
        _ => None,
    });
    let error = failed.expect("it says why");
    assert_eq!(error.code, "isolation_unavailable");
    assert_eq!(error.message, "no namespaces; allow them");
    world.environments.refuse(None);
    next_turn(&world, &session, "a", "@exec true").await;
    assert_eq!(
        told(&world, &session).await,
        ["failed", "ready", "connected"]
    );
}

#[tokio::test(start_paused = true)]
pub async fn the_environment_of_a_worker_that_died_is_disconnected() {
    let world = world();
    let session = world.create(managed("@exec true\n@exec stay")).await;
    while world.commands().len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    world.kill_worker(1).await;
    world.settled(&session).await;
    world.sound();
    assert_eq!(
        told(&world, &session).await,
        ["ready", "connected", "disconnected"]
    );
    next_turn(&world, &session, "a", "@exec true").await;
    assert_eq!(told(&world, &session).await[3..], ["connected".to_owned()]);
}

#[tokio::test(start_paused = true)]
pub async fn a_run_that_was_fenced_leaves_the_environment_to_a_newer_one_in_its_process() {
    let world = world();
    let session = world.create(managed("@exec stay\n@exec stay")).await;
    assert!(eventually(async || world.commands().len() == 1).await);
    // The older Run hears of nothing, and finds out when it renews its lease, long after the newer one has begun.
    world.bell.lose_rings(true);
    let fenced = world.core.fence_all().await.expect("fenced");
    for fenced in &fenced {
        world.core.account_for(fenced).await.expect("accounted for");
    }
    assert!(eventually(async || world.commands().len() == 2).await);
    let newer = world.read(&session).await.head.fence.generation;
    let told_by_then = told(&world, &session).await;
    tokio::time::sleep(Duration::from_millis(2 * world.core.settings.lease_ms)).await;
    assert_eq!(world.compute.runs(), 1, "the older one is over");
    assert_eq!(world.read(&session).await.head.fence.generation, newer);
    assert_eq!(
        told(&world, &session).await,
        told_by_then,
        "its environment is there"
    );
    let id = world
        .read(&session)
        .await
        .config
        .environment
        .expect("managed")
        .id;
    assert!(world.environments.held(&id).await.is_some());
    assert!(
        world.environments.log()[1].how.is_none(),
        "its command goes on"
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_worker_that_leaves_suspends_the_environment() {
    let world = world();
    let session = world.create(managed("@exec true\n@sleep 60000")).await;
    world.until(&session, |s| s.usage.is_some()).await;
    while told(&world, &session).await.len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    world.stop_dispatching();
    world.leave(10);
    while told(&world, &session).await.len() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(
        told(&world, &session).await,
        ["ready", "connected", "suspended"]
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn files_that_are_gone_are_a_reset_and_a_new_beginning() {
    let world = world();
    let session = world.create(managed("@exec true")).await;
    world.settled(&session).await;
    let read = world.read(&session).await;
    let id = &read.config.environment.as_ref().expect("managed").id;
    rat_things::engine::ports::Environments::remove(&*world.environments, id)
        .await
        .expect("removed");
    next_turn(&world, &session, "a", "@exec true").await;
    assert_eq!(
        told(&world, &session).await[2..],
        [
            "reset".to_owned(),
            "ready".to_owned(),
            "connected".to_owned()
        ]
    );
}
