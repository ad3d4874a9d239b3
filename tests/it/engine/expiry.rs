//! An environment that an operator ended for good: nothing more happens in it, and everything that was saved stays readable.

use std::time::Duration;

use pretty_assertions::assert_eq;
use rat_things::api::{Event, SessionStatus, TurnStatus};
use rat_things::backend::memory::environments::Scripted;
use rat_things::engine::error::EngineError;
use rat_things::engine::expire::Expired;
use rat_things::engine::fence::RunState;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{FilesQuery, Liveness, Program};
use serde_json::json;

use super::archives::{IMPORTER, Target, export, import};
use super::perils::{Fuse, Peril, Role};
use super::world::{OWNER, Setup, World, ask, eventually, lines, managed};

/// Commands named `stay` never end; `make` leaves an output, others do nothing.
fn world() -> World {
    World::with(|spec, files| match &spec.program {
        Program::Shell(text) if text == "stay" => Scripted::Hangs {
            output: String::new(),
        },
        Program::Shell(text) if text == "make" => {
            files.insert("/workspace/outputs/made".to_owned(), "made".into());
            Scripted::ok("made")
        }
        _ => Scripted::ok("done"),
    })
}

async fn expire(world: &World, session: &SessionId) -> Expired {
    let expired = world.core.expire_environment(OWNER, session, "it is over");
    expired.await.expect("it expires")
}

async fn environment_of(world: &World, session: &SessionId) -> String {
    let environment = world.read(session).await.config.environment;
    environment.expect("managed").id
}

/// Waits until nothing is owed of the environment any more.
async fn erased(world: &World, session: &SessionId) {
    let is_erased = async || {
        let head = world.read(session).await.head;
        head.expiry.is_some_and(|expiry| expiry.erased)
    };
    assert!(eventually(is_erased).await, "it is not erased");
    world.sound();
    assert_eq!(world.read(session).await.head.agenda.execute, None);
    let id = environment_of(world, session).await;
    assert_eq!(world.environments.files(&id), None);
}

async fn events(world: &World, session: &SessionId) -> Vec<Event> {
    let read = world.read(session).await;
    let listed = world.core.list_events(&read, None, 1_000).await;
    listed.expect("listed").0
}

async fn is_refused(world: &World, session: &SessionId, key: &str) {
    let events = json!([super::world::message("@say more")]);
    let refused = world.send(session, key, events).await;
    let Err(EngineError::Conflict(words)) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        words.contains("it is over") && words.contains("create another session"),
        "{words}"
    );
}

#[tokio::test(start_paused = true)]
pub async fn an_environment_that_expires_between_turns_leaves_a_session_that_is_read_and_not_written()
 {
    let world = world();
    let session = world.create(managed("@exec make\n@say done")).await;
    world.settled(&session).await;
    let before = (world.items(&session).await, world.artifacts(&session).await);
    assert_eq!(before.1, ["/workspace/outputs/made"]);
    assert!(!expire(&world, &session).await.already);
    erased(&world, &session).await;

    let told = world
        .core
        .get_session(OWNER, &session)
        .await
        .expect("readable");
    assert_eq!(told.status, SessionStatus::Failed);
    let why = "the environment of this session expired: it is over";
    assert_eq!(told.error.as_deref(), Some(why));
    assert_eq!(
        (world.items(&session).await, world.artifacts(&session).await),
        before
    );
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    let all = events(&world, &session).await;
    let last: Vec<&str> = { all.iter().rev().take(2) }.map(Event::kind).collect();
    assert_eq!(
        last,
        ["agent.session.failed", "agent.session.environment.expired"]
    );
    let expired = all.iter().find_map(|event| match event {
        Event::EnvironmentExpired(expired) => expired.environment.error.clone(),
        _ => None,
    });
    let error = expired.expect("it says why");
    assert_eq!(
        (error.code.as_str(), error.message.as_str()),
        ("environment_expired", "it is over")
    );

    is_refused(&world, &session, "more").await;
    let id = environment_of(&world, &session).await;
    let info = world
        .core
        .environment_info(OWNER, &id)
        .await
        .expect("readable");
    assert_eq!(info.status.to_string(), "expired");
    let query = FilesQuery {
        below: "/workspace".to_owned(),
        limit: 10,
        reverse: false,
        after: None,
    };
    let listed = world
        .core
        .environment_files(&*world.environments, OWNER, &id, &query)
        .await;
    assert!(
        matches!(listed, Err(EngineError::Conflict(_))),
        "{listed:?}"
    );
    assert_eq!(world.commands(), ["make"]);
}

#[tokio::test(start_paused = true)]
pub async fn a_turn_under_which_its_environment_expires_fails_and_so_do_those_behind_it() {
    let world = world();
    let session = world
        .create(managed("@exec make\n@exec stay\n@say done"))
        .await;
    assert!(eventually(async || world.commands().len() == 2).await);
    world
        .say_next(&session, "next", "@exec never\n@say next")
        .await;
    world.say(&session, "steer", "steered").await;
    let begun = tokio::time::Instant::now();
    expire(&world, &session).await;
    let fence = world.read(&session).await.head.fence;
    assert_eq!(
        fence.state(),
        RunState::Quarantined,
        "its Run may not write from then on"
    );
    is_refused(&world, &session, "more").await;
    erased(&world, &session).await;
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "its worker says that it is over"
    );

    let turns = world.turns(&session).await;
    assert!(turns.len() >= 2, "{turns:?}");
    assert!(
        turns.iter().all(|turn| *turn == TurnStatus::Failed),
        "{turns:?}"
    );
    let read = world.read(&session).await;
    let (turn, _) = world.core.get_turn(&read, 1).await.expect("readable");
    let error = turn.error.expect("it says why");
    assert_eq!(error.code.to_string(), "sandbox_error");
    assert_eq!(
        error.message,
        "the environment of this session expired: it is over"
    );
    let told = lines(&world.items(&session).await);
    for message in ["User: steered", "User: @exec never\n@say next"] {
        assert!(told.iter().any(|line| line == message), "{told:#?}");
    }
    assert_eq!(world.commands(), ["make", "stay"], "nothing more ran");
    assert_eq!(read.head.status(), SessionStatus::Failed);
    let all = events(&world, &session).await;
    let kinds: Vec<&str> = all.iter().map(Event::kind).collect();
    assert_eq!(kinds.last(), Some(&"agent.session.failed"), "{kinds:#?}");
    let later = kinds
        .iter()
        .skip_while(|kind| !kind.ends_with("environment.expired"));
    assert_eq!(
        later.filter(|kind| kind.contains(".environment.")).count(),
        1
    );
}

#[tokio::test(start_paused = true)]
pub async fn a_turn_that_waits_for_its_client_ends_with_its_environment() {
    let world = world();
    let mut request = managed("@exec make\n@call ask {}\n@say done");
    request["agent"]["tools"] = json!([ask()]);
    let session = world.create(request).await;
    let waits = |s: &rat_things::api::AgentSession| s.status == SessionStatus::RequiresAction;
    world.until(&session, waits).await;
    expire(&world, &session).await;
    let told = world
        .core
        .get_session(OWNER, &session)
        .await
        .expect("readable");
    assert_eq!(told.required_actions, [], "nobody is asked any more");
    erased(&world, &session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Failed]);
}

#[tokio::test(start_paused = true)]
pub async fn what_has_expired_stays_as_it_is_however_often_it_is_asked_for() {
    let world = world();
    let session = world.create(managed("@say no command")).await;
    world.settled(&session).await;
    let first = expire(&world, &session).await;
    erased(&world, &session).await;
    let revision = world.read(&session).await.head.revision;
    let again = world
        .core
        .expire_environment(OWNER, &session, "another reason")
        .await;
    let again = again.expect("it is so already");
    assert!(again.already);
    assert_eq!(
        (again.expiry.at_ms, again.expiry.why),
        (first.expiry.at_ms, first.expiry.why)
    );
    assert_eq!(world.read(&session).await.head.revision, revision);
    let others = world
        .core
        .expire_environment("somebody else", &session, "no")
        .await;
    assert!(
        matches!(others, Err(EngineError::NotFound { .. })),
        "{others:?}"
    );
    let without = world.create(json!({
        "agent": {"model": "demo"}, "environment": {"type": "none"}, "input": "@say hi",
    }));
    let without = without.await;
    world.settled(&without).await;
    let refused = world.core.expire_environment(OWNER, &without, "no").await;
    assert!(
        matches!(refused, Err(EngineError::Invalid { .. })),
        "{refused:?}"
    );
}

#[tokio::test(start_paused = true)]
pub async fn of_two_who_end_it_at_once_one_is_told_what_the_other_said() {
    let world = world();
    let session = world.create(managed("@exec make")).await;
    world.settled(&session).await;
    let (one, other) = tokio::join!(
        world.core.expire_environment(OWNER, &session, "one"),
        world.core.expire_environment(OWNER, &session, "other"),
    );
    let (one, other) = (one.expect("it is so"), other.expect("it is so"));
    assert!(one.already != other.already);
    assert_eq!(one.expiry.why, other.expiry.why);
    erased(&world, &session).await;
}

#[tokio::test(start_paused = true)]
pub async fn a_worker_that_can_not_be_accounted_for_keeps_the_workspace_until_it_is_proven_gone() {
    let fuse = Fuse::new(Role::Worker, 20, Peril::Stops);
    let world = Setup {
        fuse: Some(fuse.clone()),
        ..Setup::default()
    }
    .build();
    let session = world
        .create(managed("@exec one\n@exec two\n@exec three"))
        .await;
    let life = fuse.victim().await;
    let execution = world.compute.execution_of(life.generation);
    world.compute.say(&execution, Some(Liveness::Unknown));
    expire(&world, &session).await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let id = environment_of(&world, &session).await;
    let state = async || world.read(&session).await.head.fence.state();
    assert_eq!(state().await, RunState::Quarantined);
    assert!(
        world.environments.files(&id).is_some(),
        "somebody may be at work there"
    );
    assert_eq!(world.turns(&session).await, [TurnStatus::InProgress]);
    world.sound();
    world.compute.say(&execution, Some(Liveness::Gone));
    erased(&world, &session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Failed]);
    assert_eq!(world.compute.granted().len(), 1, "nobody took over");
}

#[tokio::test(start_paused = true)]
pub async fn a_session_whose_environment_expired_is_exported_imported_and_deleted_like_any_other() {
    let world = world();
    let session = world.create(managed("@exec make\n@say done")).await;
    world.settled(&session).await;
    expire(&world, &session).await;
    erased(&world, &session).await;
    let entries = export(&world.core, OWNER, &session).await;
    let there = Target::new();
    import(&there.core, IMPORTER, &entries)
        .await
        .expect("imports");
    there.assert_sound();
    let read = there
        .core
        .read_session(IMPORTER, &session)
        .await
        .expect("is there");
    assert_eq!(read.head.status(), SessionStatus::Failed);
    let again = there
        .core
        .expire_environment(IMPORTER, &session, "again")
        .await;
    assert!(again.expect("it is so").already);
    world.delete_surely(&session).await;
    let gone = async || world.core.load(&session).await.is_ok_and(|l| l.is_none());
    assert!(eventually(gone).await);
    world.sound();
}
