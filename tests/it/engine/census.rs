//! What is measured of the engine at work: Turns from the records, commits and leases where they pass.

use std::sync::Arc;
use std::time::Duration;

use pretty_assertions::assert_eq;
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys::Group;
use rat_things::engine::measure::{Census, CommitEnd, Ended, MeasuredStore};
use rat_things::engine::ports::{
    Change, Commit, CommitId, Environments, Guard, Key, Store, StoreError, Write,
};
use serde_json::json;
use tokio::sync::watch;

use super::world::{World, managed};

const CANCEL: &str = "agent.session.input.cancel";

/// A census at work; it ends with the sender.
fn census(world: &World) -> (Arc<Census>, watch::Sender<bool>) {
    let census = Census::begin(world.core.clone());
    let stop = watch::Sender::new(false);
    tokio::spawn(census.clone().run(stop.subscribe()));
    (census, stop)
}

/// Completed, failed, cancelled; model calls.
async fn counted(census: &Census) -> [u64; 4] {
    // Whatever was rung has arrived by then.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let Ended {
        completed,
        failed,
        cancelled,
        model_calls,
        ..
    } = census.ended().await;
    [completed, failed, cancelled, model_calls].map(|counter| counter.get())
}

async fn another_turn(world: &World, session: &SessionId, key: &str, text: &str) {
    world.say(session, key, text).await;
    world.settled(session).await;
}

#[tokio::test(start_paused = true)]
pub async fn every_end_of_a_turn_is_counted_once_though_rings_are_lost() {
    let world = World::new();
    let (census, _stop) = census(&world);
    let session = world.create(managed("@say one")).await;
    world.settled(&session).await;
    assert_eq!(counted(&census).await, [1, 0, 0, 1]);
    world.bell.lose_rings(true);
    another_turn(&world, &session, "a", "@fail server_error no").await;
    assert_eq!(counted(&census).await, [1, 0, 0, 1], "nobody told");
    world.bell.lose_rings(false);
    world.say(&session, "b", "@exec true\n@sleep 6000000").await;
    world.items_reach(&session, 4).await;
    assert_eq!(
        counted(&census).await[..3],
        [1, 1, 0],
        "the next ring tells"
    );
    let cancel = json!([{ "type": CANCEL }]);
    world.send(&session, "c", cancel).await.expect("accepted");
    world.settled(&session).await;
    for _ in 0..3 {
        assert_eq!(counted(&census).await[..3], [1, 1, 1]);
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    let usage = world.core.load(&session).await.expect("reads");
    let usage = usage.expect("is there").head.usage;
    assert_eq!(census.ended().await.input_tokens.get(), usage.input);
    assert_eq!(census.ended().await.output_tokens.get(), usage.output);
}

#[tokio::test(start_paused = true)]
pub async fn what_ended_before_is_not_counted_and_what_is_deleted_is_in_nobodys_way() {
    let world = World::new();
    let old = world.create(managed("@say before")).await;
    world.settled(&old).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (census, _stop) = census(&world);
    another_turn(&world, &old, "a", "@say after").await;
    assert_eq!(counted(&census).await[0], 1);
    let gone = world.create(managed("@say gone")).await;
    world.settled(&gone).await;
    assert_eq!(counted(&census).await[0], 2);
    let deleted = world.core.delete_session(super::world::OWNER, &gone).await;
    deleted.expect("deletes");
    tokio::time::sleep(Duration::from_secs(60)).await;
    another_turn(&world, &old, "b", "@say more").await;
    assert_eq!(counted(&census).await[0], 3);
}

#[tokio::test(start_paused = true)]
pub async fn a_lost_worker_is_one_lease_taken_over() {
    let world = World::new();
    world.stop_dispatching();
    // The one of the world has to notice.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let environments = world.environments.clone() as Arc<dyn Environments>;
    let compute = Arc::new(world.compute.clone());
    let dispatcher = Dispatcher::new(world.core.clone(), compute, environments);
    let counts = dispatcher.counts();
    let stop = watch::Sender::new(false);
    tokio::spawn(dispatcher.run(stop.subscribe()));
    let session = world
        .create(managed("@exec true\n@sleep 60000\n@say done"))
        .await;
    world.items_reach(&session, 2).await;
    assert_eq!((counts.claimed.get(), counts.taken_over.get()), (1, 0));
    let agenda = world.core.agenda_now(Group::Execute).await.expect("reads");
    assert_eq!((agenda.entries, agenda.due, agenda.oldest_ms), (1, 0, 0));
    world.kill_worker(1).await;
    world.settled(&session).await;
    assert_eq!((counts.claimed.get(), counts.taken_over.get()), (2, 1));
    assert_eq!((counts.fenced.get(), counts.not_started.get()), (0, 0));
}

#[tokio::test(start_paused = true)]
pub async fn work_that_nobody_does_is_due_and_grows_old() {
    let world = World::new();
    world.stop_dispatching();
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.create(managed("@say later")).await;
    tokio::time::sleep(Duration::from_secs(7)).await;
    let agenda = world.core.agenda_now(Group::Execute).await.expect("reads");
    assert_eq!((agenda.entries, agenda.due), (1, 1));
    assert!((7_000..8_000).contains(&agenda.oldest_ms), "{agenda:?}");
    let other = world.core.agenda_now(Group::Deliver).await.expect("reads");
    assert_eq!(other.entries, 0);
}

#[tokio::test]
pub async fn commits_are_counted_by_how_they_end() {
    let world = World::new();
    let store = MeasuredStore::new(world.core.store.clone());
    let counts = store.counts();
    let commit = || Commit {
        id: CommitId::random(&*world.core.ids),
        writes: vec![Write {
            key: Key::new("S/x", "row"),
            guard: Guard::Absent,
            change: Change::Put(vec![1]),
        }]
        .into(),
    };
    let first = commit();
    store.commit(first.clone()).await.expect("is applied");
    let again = store.commit(first).await.expect("is a repetition");
    assert!(again.repeated);
    let beaten = store.commit(commit()).await;
    assert!(matches!(beaten, Err(StoreError::Conflict(_))), "{beaten:?}");
    assert_eq!(
        CommitEnd::ALL.map(|end| counts.ended(end)),
        [1, 1, 1, 0, 0, 0]
    );
    let durable = counts.took.now().at_most;
    assert_eq!(durable.last(), Some(&2));
}
