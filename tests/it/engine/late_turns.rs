//! What a Turn reads of the past when the same worker ran the Turns before it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use rat_things::backend::memory::MemoryStore;
use rat_things::engine::core::Core;
use rat_things::engine::history::Histories;
use rat_things::engine::keys;
use rat_things::engine::ports::{Commit, Committed, Key, Page, Range, Record, Store, StoreError};
use rat_things::engine::session::{Head, Pending};
use serde_json::json;

use super::world::{Setup, World};

/// Notes where the ranges begin that are read.
struct Noted {
    inner: Arc<MemoryStore>,
    ranges: Mutex<Vec<String>>,
}

#[async_trait]
impl Store for Noted {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.inner.get_many(keys).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        self.ranges
            .lock()
            .expect("no test panics with it")
            .push(range.from.clone());
        self.inner.range(range).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.inner.commit(commit).await
    }
}

/// The head as it was when Turn `turn` of a conversation of one message and one answer each had just been claimed.
fn claimed(head: &Head, turn: u64) -> Head {
    let mut head = head.clone();
    let message = 2 * turn - 1;
    head.next.item = message + 1;
    head.pending = vec![Pending {
        input: turn,
        turn,
        claimed: turn,
        item: Some(message),
    }];
    head
}

#[tokio::test(start_paused = true)]
async fn the_next_turn_reads_only_what_the_one_before_it_added() {
    let setup = Setup::default();
    let store = Arc::clone(&setup.store);
    let world: World = setup.build();
    let session = world
        .create(json!({
            "environment": { "type": "none" },
            "agent": { "model": "demo" },
            "input": "@say answer 1",
        }))
        .await;
    for turn in 2..=4 {
        world.settled(&session).await;
        let text = format!("@say answer {turn}");
        world.say(&session, &format!("k{turn}"), &text).await;
    }
    world.settled(&session).await;
    let head = world.read(&session).await.head;
    let noted = Arc::new(Noted {
        inner: store,
        ranges: Mutex::default(),
    });
    let core = Core {
        store: noted.clone(),
        ..world.core.clone()
    };
    let kept = Histories::default();
    for turn in 2..=4 {
        let head = claimed(&head, turn);
        let past = kept.load(&core, &session, &head, turn).await;
        let fresh = Histories::default();
        let anew = fresh.load(&world.core, &session, &head, turn).await;
        let (past, anew) = (past.expect("read"), anew.expect("read"));
        assert_eq!(past.len() as u64, 2 * (turn - 1));
        assert_eq!(past, anew);
    }
    let ranges = noted.ranges.lock().expect("no test panics with it");
    assert_eq!(*ranges, [keys::item(1), keys::item(3), keys::item(5)]);
}
