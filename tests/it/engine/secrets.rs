//! Values of an environment's variables: in no record, there for every command, gone with their Session.

use pretty_assertions::assert_eq;
use rat_things::api::TurnStatus;
use rat_things::backend::memory::{Fault, MemoryStore};
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys;
use rat_things::engine::ports::{Change, Commit, CommitId, Guard, Key, StoreError, Write};
use serde_json::json;

use super::ground::Ground;
use super::world::{OWNER, Setup, World};

const VALUE: &str = "planted-value-4721";

fn with_token(input: &str) -> serde_json::Value {
    json!({
        "environment": { "type": "openai_hosted", "env": { "TOKEN": VALUE } },
        "agent": { "model": "demo" },
        "input": input,
    })
}

/// Whether any record or blob holds the value.
fn is_recorded(world: &World) -> bool {
    let records = world.store.records();
    records.iter().any(|record| {
        let text = String::from_utf8_lossy(&record.value);
        text.contains(VALUE)
    })
}

#[tokio::test(start_paused = true)]
pub async fn no_record_holds_a_value_and_the_environment_is_opened_with_it() {
    let world = World::new();
    let session = world.create(with_token("@exec true")).await;
    assert_eq!(world.secrets.count(), 1);
    world.settled(&session).await;
    assert!(!is_recorded(&world));
    let specs = world.environments.opened_with();
    assert_eq!(specs[0].env["TOKEN"], VALUE);
    assert!(!format!("{specs:?}").contains(VALUE), "{specs:?}");
    let shown = world.core.get_session(OWNER, &session).await;
    let shown = serde_json::to_string(&shown.expect("readable")).expect("JSON");
    assert!(
        !shown.contains("TOKEN") && !shown.contains(VALUE),
        "{shown}"
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn values_are_erased_with_their_session_and_with_a_creation_that_was_refused() {
    let world = World::new();
    let session = world.create(with_token("@say hi")).await;
    world.settled(&session).await;
    world.delete_surely(&session).await;
    while world.secrets.count() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let away = |_: &Commit| Fault::FailBefore(StoreError::Unavailable("away".into()));
    let world = Setup {
        ground: Ground::over(MemoryStore::with_faults(Box::new(away))),
        ..Setup::default()
    }
    .build();
    assert!(world.try_create(with_token("@say hi")).await.is_err());
    assert_eq!(world.secrets.count(), 0, "nothing points at it");
}

#[tokio::test(start_paused = true)]
pub async fn without_variables_nothing_is_stored() {
    let world = World::new();
    let session = world.create(super::world::managed("@exec true")).await;
    world.settled(&session).await;
    assert_eq!(world.secrets.count(), 0);
}

#[tokio::test(start_paused = true)]
pub async fn a_command_whose_values_can_not_be_read_is_not_run_and_the_session_goes_on() {
    let world = World::new();
    let session = world.create(with_token("@say hi")).await;
    world.settled(&session).await;
    world.secrets.be_away(true);
    world.say(&session, "a", "@exec true\n@say oh").await;
    world.settled(&session).await;
    assert_eq!(world.commands(), Vec::<String>::new());
    world.secrets.be_away(false);
    world.say(&session, "b", "@exec true\n@say done").await;
    world.settled(&session).await;
    assert_eq!(world.commands(), ["true"]);
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed; 3]);
    world.sound();
}

/// Writes the configuration as Sessions had it before values were stored apart.
async fn as_of_old(world: &World, session: &SessionId) {
    let key = Key::new(keys::session_partition(session), keys::CONFIG);
    let record = world
        .store
        .get(&key)
        .await
        .expect("readable")
        .expect("there");
    let mut row: serde_json::Value = serde_json::from_slice(&record.value).expect("JSON");
    row["environment"]["env"] = json!({ "TOKEN": "of old" });
    let row = serde_json::to_vec(&row).expect("JSON");
    let commit = Commit {
        id: CommitId([7; 16]),
        writes: vec![Write {
            key,
            guard: Guard::Version(record.version),
            change: Change::Put(row),
        }]
        .into(),
    };
    world.store.commit(commit).await.expect("stored");
}

#[tokio::test(start_paused = true)]
pub async fn a_session_of_old_keeps_the_values_in_its_configuration() {
    let world = World::new();
    let session = world.create(super::world::managed("@say hi")).await;
    world.settled(&session).await;
    as_of_old(&world, &session).await;
    world.say(&session, "a", "@exec true").await;
    world.settled(&session).await;
    let specs = world.environments.opened_with();
    assert_eq!(specs[0].env["TOKEN"], "of old");
}
