//! The store fails once, at every commit of a whole story, in every way: nobody who reads the Session can tell.

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use rat_things::api::{SessionStatus, TurnStatus, parse_session_update};
use rat_things::backend::memory::{Fault, MemoryStore};
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{
    Fenced, Harness, ModelUsage, Observation, StoreError, TurnEnd, TurnLink, TurnTask,
};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

use super::ground::Ground;
use super::perils::{Fuse, NthCommit, Peril, Role, WAYS};
use super::world::{OWNER, Setup, World, answer_to, eventually, lines, managed, next_turn};

/// What a story leaves to be seen.
#[derive(Debug, PartialEq)]
struct Story {
    lines: Vec<String>,
    turns: Vec<TurnStatus>,
    commands: Vec<String>,
    artifacts: Vec<String>,
    tokens: u64,
}

fn setup(ground: Ground) -> Setup {
    Setup {
        ground,
        script: Box::new(|spec, files| {
            let path = format!("/workspace/outputs/{}", files.len());
            files.insert(path, format!("{:?}", spec.program).into());
            rat_things::backend::memory::environments::Scripted::ok("done")
        }),
        ..Setup::default()
    }
}

/// A Turn with two commands and a steer; one that calls a function; one that is cancelled at work with another behind it.
async fn story(world: &World) -> (SessionId, Story) {
    let first = managed("@exec one\n@exec two\n@sleep 15000\n@say first");
    let session = world.create_surely("create", first).await;
    world.items_reach(&session, 3).await;
    let call = "@exec three\n@call ask {\"q\":1}\n@say thanks";
    world
        .send_surely(&session, "queue", json!([next_turn(call)]))
        .await;
    world.say(&session, "steer", "@say second").await;
    world
        .until(&session, |s| s.status == SessionStatus::RequiresAction)
        .await;
    let answer = answer_to(world, &session, "42").await;
    world.send_surely(&session, "answer", answer).await;
    world.settled(&session).await;
    world
        .say(&session, "slow", "@exec four\n@sleep 60000000")
        .await;
    world.items_reach(&session, 13).await;
    world
        .send_surely(&session, "last", json!([next_turn("@say last")]))
        .await;
    let cancel = json!([{ "type": "agent.session.input.cancel" }]);
    world.send_surely(&session, "cancel", cancel).await;
    world.settled(&session).await;
    world.at_rest().await;
    world.sound();
    let told = Story {
        lines: lines(&world.items(&session).await),
        turns: world.turns(&session).await,
        commands: world.commands(),
        artifacts: world.artifacts(&session).await,
        tokens: world.read(&session).await.head.usage.input,
    };
    (session, told)
}

async fn ending(world: &World, session: &SessionId) {
    world.delete_surely(session).await;
    let gone = async || {
        let records = world.store.records();
        records
            .iter()
            .all(|record| record.key.sort.starts_with("create/"))
    };
    assert!(
        eventually(gone).await,
        "rows are left: {:#?}",
        world.store.records()
    );
    assert_eq!(world.blobs.stored_bytes(), 0);
}

#[tokio::test(start_paused = true)]
pub async fn the_story_is_as_it_should_be() {
    let world = setup(Ground::here()).build();
    let (session, mut told) = story(&world).await;
    // How a model counts is its own affair.
    assert!(std::mem::take(&mut told.tokens) > 1_000);
    // Named, because it is looked at twice in a process: over an account, too.
    insta::assert_debug_snapshot!("the_story_is_as_it_should_be", told);
    ending(&world, &session).await;
}

#[tokio::test(start_paused = true)]
pub async fn a_commit_that_fails_once_in_any_way_changes_nothing_that_can_be_seen() {
    let (_, untroubled) = story(&setup(Ground::here()).build()).await;
    for way in WAYS {
        let mut n = 0;
        loop {
            let plan = NthCommit::new(n, way.clone());
            let world = setup(Ground::over(plan.store())).build();
            let (session, told) = story(&world).await;
            assert_eq!(told, untroubled, "commit {n}: {way:?}");
            ending(&world, &session).await;
            if !plan.happened() {
                break;
            }
            n += 1;
        }
        assert!(n > 30, "only {n} commits");
    }
}

#[tokio::test(start_paused = true)]
pub async fn p10_every_third_commit_loses_its_answer_and_nothing_that_can_be_seen_changes() {
    let (_, untroubled) = story(&setup(Ground::here()).build()).await;
    let seen = std::sync::atomic::AtomicUsize::new(0);
    let faults = move |_: &_| match seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % 3 {
        0 => Fault::ApplyThenUnknown,
        1 => Fault::Throttle,
        _ => Fault::None,
    };
    let store = MemoryStore::with_faults(Box::new(faults));
    let world = setup(Ground::over(store)).build();
    let (session, told) = story(&world).await;
    assert_eq!(told, untroubled);
    ending(&world, &session).await;
}

#[tokio::test(start_paused = true)]
pub async fn p16_a_store_call_of_worker_or_daemon_that_fails_once_changes_nothing_that_can_be_seen()
{
    let calm = setup(Ground::here()).build();
    let (_, untroubled) = story(&calm).await;
    let runs = calm.compute.granted().len();
    for role in [Role::Worker, Role::Daemon] {
        let mut n = 0;
        loop {
            let fuse = Fuse::new(role, n, Peril::Fails);
            let world = Setup {
                fuse: Some(fuse.clone()),
                ..setup(Ground::here())
            }
            .build();
            let (session, told) = story(&world).await;
            assert_eq!(told, untroubled, "{role:?}, store call {n}");
            // Not even a run was lost over it (I12).
            assert_eq!(
                world.compute.granted().len(),
                runs,
                "{role:?}, store call {n}"
            );
            ending(&world, &session).await;
            if !fuse.blown() {
                break;
            }
            n += 1;
        }
        assert!(n > 30, "only {n} calls");
    }
}

/// The Session of a world that has one.
fn only_session(world: &World) -> SessionId {
    let records = world.store.records();
    let found = records
        .iter()
        .find_map(|record| record.key.partition.strip_prefix("S/"));
    SessionId::parse(found.expect("there is a session")).expect("a partition of a session")
}

/// Somebody else changes the Session, in a way that no Run minds.
async fn meddle(world: &World, session: &SessionId) {
    let metadata = json!({ "metadata": { "seen": "meanwhile" } }).to_string();
    let update = parse_session_update(metadata.as_bytes()).expect("a valid update");
    let updated = world.core.update_session(OWNER, session, &update).await;
    updated.expect("updated");
}

#[tokio::test(start_paused = true)]
pub async fn an_answer_that_is_lost_just_before_somebody_else_commits_changes_nothing_that_can_be_seen()
 {
    let (_, untroubled) = story(&setup(Ground::here()).build()).await;
    for role in [Role::Worker, Role::Daemon] {
        let mut n = 0;
        loop {
            let fuse = Fuse::new(role, n, Peril::LosesAnswer);
            let world = Setup {
                fuse: Some(fuse.clone()),
                ..setup(Ground::here())
            }
            .build();
            let world = Arc::new(world);
            let (beside, loses) = (world.clone(), fuse.clone());
            let meddler = tokio::spawn(async move {
                let life = loses.victim().await;
                let session = only_session(&beside);
                meddle(&beside, &session).await;
                life.thaw();
            });
            let (session, told) = story(&world).await;
            assert_eq!(told, untroubled, "{role:?}, commit {n}");
            let metadata = world.read(&session).await.config.metadata;
            assert_eq!(
                metadata.contains_key("seen"),
                fuse.blown(),
                "{role:?}, commit {n}"
            );
            meddler.abort();
            if !fuse.blown() {
                break;
            }
            n += 1;
        }
        assert!(n >= 3, "only {n} commits");
    }
}

#[tokio::test(start_paused = true)]
pub async fn a_store_that_is_away_for_longer_than_a_lease_costs_no_run() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let down = Arc::new(AtomicBool::new(false));
    let is_down = down.clone();
    let store = MemoryStore::with_faults(Box::new(move |_| match is_down.load(Ordering::SeqCst) {
        true => Fault::FailBefore(StoreError::Unavailable("away".into())),
        false => Fault::None,
    }));
    let world = setup(Ground::over(store)).build();
    let text = "@exec one\n@sleep 100000\n@exec two\n@say done";
    let session = world.create(managed(text)).await;
    world.items_reach(&session, 2).await;
    down.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(2 * world.core.settings.lease_ms)).await;
    down.store(false, Ordering::SeqCst);
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    assert_eq!(world.compute.granted().len(), 1, "the run was not stopped");
    world.sound();
}

/// Calls a function, and learns only later what the call of the model cost.
struct CountsLater;

#[async_trait]
impl Harness for CountsLater {
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd {
        let seen = async || {
            let fed = task.feed.iter().map(|feed| feed.input).collect();
            link.saw(Observation::Took(fed)).await?;
            if task.resumed {
                return Ok(TurnEnd::Completed);
            }
            let call = Observation::FunctionCall {
                call_id: "c".into(),
                name: "ask".into(),
                arguments: "{}".into(),
                background: false,
            };
            link.saw(call).await?;
            // What was seen so far is committed meanwhile.
            tokio::time::sleep(Duration::from_millis(100)).await;
            let usage = ModelUsage {
                input: 7,
                ..ModelUsage::default()
            };
            link.saw(Observation::ModelCall(usage)).await?;
            Ok::<_, Fenced>(TurnEnd::Waiting)
        };
        seen().await.unwrap_or(TurnEnd::Left)
    }

    fn name(&self) -> &'static str {
        "test"
    }
}

#[tokio::test(start_paused = true)]
pub async fn tokens_are_counted_once_though_an_answer_is_lost_and_somebody_else_commits() {
    for n in 0.. {
        let fuse = Fuse::new(Role::Worker, n, Peril::LosesAnswer);
        let world = Setup {
            fuse: Some(fuse.clone()),
            harness: Some(Arc::new(CountsLater)),
            ..setup(Ground::here())
        };
        let world = Arc::new(world.build());
        let (beside, loses) = (world.clone(), fuse.clone());
        let meddler = tokio::spawn(async move {
            let life = loses.victim().await;
            let session = only_session(&beside);
            meddle(&beside, &session).await;
            life.thaw();
        });
        let session = world.create(managed("go")).await;
        world
            .until(&session, |s| s.status == SessionStatus::RequiresAction)
            .await;
        let answer = answer_to(&world, &session, "42").await;
        world.send_surely(&session, "answer", answer).await;
        world.settled(&session).await;
        world.at_rest().await;
        world.sound();
        let tokens = world.read(&session).await.head.usage.input;
        assert_eq!(tokens, 7, "commit {n}");
        meddler.abort();
        if !fuse.blown() {
            assert!(n > 3, "only {n} commits");
            return;
        }
    }
}
