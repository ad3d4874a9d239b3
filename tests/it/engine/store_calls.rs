//! What each step of the journey asks of the store and of the blobs. Over a network each call is a request that is waited for and paid
//! for, so their number is a promise: it is small, it does not grow with what a Session has behind it, and who is idle asks for nothing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use rat_things::engine::core::Core;
use rat_things::engine::ports::{Commit, Committed, Key, Page, Range, Record, Store, StoreError};
use serde_json::json;

use super::world::{OWNER, Setup, World};

/// A store that writes down what it is asked, in one line each.
struct Told {
    inner: Arc<dyn Store>,
    lines: Mutex<Vec<String>>,
}

impl Told {
    fn note(&self, call: &str, rows: impl IntoIterator<Item = String>) {
        let rows: Vec<String> = rows.into_iter().collect();
        let mut lines = self.lines.lock().expect("no test panics with it");
        lines.push(format!("{call} {}", rows.join(" ")));
    }

    /// What it was asked since the last time.
    fn since(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().expect("no test panics with it"))
    }
}

/// The kind of a row: `S/sess_x` and `item/7` is `S:item`.
fn kind(key: &Key) -> String {
    let first = |text: &str| text.split('/').next().unwrap_or_default().to_owned();
    match first(&key.partition).as_str() {
        // The rest is a time.
        "A" => key
            .partition
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned(),
        partition => format!("{partition}:{}", first(&key.sort)),
    }
}

#[async_trait]
impl Store for Told {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.note("get", [kind(key)]);
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.note("get_many", keys.iter().map(kind));
        self.inner.get_many(keys).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        let from = Key::new(range.partition.clone(), range.from.clone());
        self.note("range", [kind(&from)]);
        self.inner.range(range).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.note("commit", commit.writes.iter().map(|write| kind(&write.key)));
        self.inner.commit(commit).await
    }
}

/// A world over such a store.
fn told() -> (World, Arc<Told>) {
    let setup = Setup::default();
    let told = Arc::new(Told {
        inner: setup.ground.rows.clone(),
        lines: Mutex::default(),
    });
    let seen = Arc::clone(&told) as Arc<dyn Store>;
    let world = Setup {
        seen: Some(seen),
        ..setup
    }
    .build();
    (world, told)
}

/// Without what a dispatcher looks through by itself.
fn caused(lines: Vec<String>) -> Vec<String> {
    lines
        .into_iter()
        .filter(|line| !line.starts_with("range A/"))
        .collect()
}

fn request() -> serde_json::Value {
    json!({
        "environment": { "type": "none" },
        "agent": { "model": "demo" },
        "input": "@say hello",
    })
}

#[tokio::test(start_paused = true)]
pub async fn accepting_asks_for_no_more_than_it_has_to() {
    let (world, told) = told();
    world.stop_dispatching();
    tokio::time::sleep(Duration::from_secs(10)).await;
    told.since();
    let session = world.create(request()).await;
    let create = told.since();
    world.create_surely("key", request()).await;
    let with_key = told.since();
    world.say(&session, "k", "and more").await;
    let send = told.since();
    let asked = format!(
        "create\n  {}\ncreate under a key\n  {}\nsend\n  {}",
        create.join("\n  "),
        with_key.join("\n  "),
        send.join("\n  ")
    );
    // Named, because it is looked at twice in a process: over an account, too.
    insta::assert_snapshot!("accepting_asks_for_no_more_than_it_has_to", asked);
}

#[tokio::test(start_paused = true)]
pub async fn a_turn_asks_the_same_whatever_the_session_has_behind_it() {
    let (world, told) = told();
    let session = world.create(request()).await;
    world.settled(&session).await;
    let mut turns = Vec::new();
    for turn in 2..=40 {
        let core: &Core = &world.core;
        told.since();
        let said = format!("@say {turn}");
        world.say(&session, &format!("k{turn}"), &said).await;
        told.since();
        // Reading goes past what is counted.
        let unseen = Core {
            store: Arc::clone(&told.inner),
            ..core.clone()
        };
        loop {
            let head = unseen.load_owned(OWNER, &session).await.expect("read").head;
            if head.turn.is_none() && head.fence.lease.is_none() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        turns.push(caused(told.since()));
    }
    assert_eq!(turns.first(), turns.last());
    insta::assert_snapshot!(turns[0].join("\n"));
}

#[tokio::test(start_paused = true)]
pub async fn who_is_idle_asks_for_next_to_nothing() {
    const SECONDS: u64 = 120;
    let (world, told) = told();
    for _ in 0..20 {
        let session = world.create(request()).await;
        world.settled(&session).await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    told.since();
    tokio::time::sleep(Duration::from_secs(SECONDS)).await;
    let lines = told.since();
    // Sessions cause nothing at all, however many there are.
    assert_eq!(caused(lines.clone()), Vec::<String>::new());
    // Chores and the question whether a daemon is still needed come on top: two requests a second are the budget of all together.
    let calls = lines.len() as u64;
    assert!(calls * 10 <= 17 * SECONDS, "{calls} calls in {SECONDS} s");
}
