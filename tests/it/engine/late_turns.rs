//! What a Turn reads of the past when the same worker ran the Turns before it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use rat_things::engine::core::Core;
use rat_things::engine::history::Histories;
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys;
use rat_things::engine::ports::{
    Change, Commit, Committed, Feed, Guard, Key, Page, Range, Record, Store, StoreError, Write,
};
use rat_things::engine::session::{Head, Pending};
use serde_json::json;

use super::world::{Setup, World};

/// Notes where the ranges begin that are read, and which single rows are.
struct Noted {
    inner: Arc<dyn Store>,
    ranges: Mutex<Vec<String>>,
    rows: Mutex<Vec<String>>,
}

impl Noted {
    fn rows(&self, keys: &[Key]) {
        let mut rows = self.rows.lock().expect("no test panics with it");
        rows.extend(keys.iter().map(|key| key.sort.clone()));
    }
}

#[async_trait]
impl Store for Noted {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.rows(std::slice::from_ref(key));
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.rows(keys);
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

/// A Session of four Turns of one message and one answer each, and its store, noted.
async fn four_turns() -> (World, SessionId, Head, Arc<Noted>, Core) {
    let setup = Setup::default();
    let store = setup.ground.rows.clone();
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
        rows: Mutex::default(),
    });
    let core = Core {
        store: noted.clone(),
        ..world.core.clone()
    };
    (world, session, head, noted, core)
}

#[tokio::test(start_paused = true)]
pub async fn the_next_turn_reads_only_what_the_one_before_it_added() {
    let (world, session, head, noted, core) = four_turns().await;
    let kept = Histories::default();
    for turn in 2..=4 {
        let head = claimed(&head, turn);
        let past = kept.load(&core, &session, &head, turn, ALL).await;
        let fresh = Histories::default();
        let anew = fresh.load(&world.core, &session, &head, turn, ALL).await;
        let (past, anew) = (past.expect("read"), anew.expect("read"));
        assert_eq!(past.past.len() as u64, 2 * (turn - 1));
        assert_eq!(past, anew);
    }
    let ranges = noted.ranges.lock().expect("no test panics with it");
    assert_eq!(*ranges, [keys::item(1), keys::item(3), keys::item(5)]);
}

/// More than these Sessions have.
const ALL: usize = 1 << 20;

#[tokio::test(start_paused = true)]
pub async fn of_a_long_past_a_worker_keeps_what_its_harness_can_use() {
    let (world, session, last, _noted, core) = four_turns().await;
    let kept = Histories::default();
    for turn in 1..=4 {
        let head = claimed(&last, turn);
        let past = kept.load(&core, &session, &head, turn, 1).await;
        let past = past.expect("read").past;
        let fresh = Histories::default();
        let whole = fresh.load(&world.core, &session, &head, turn, ALL).await;
        let whole = whole.expect("read").past;
        // The newest answer, and the message that it is an answer to.
        assert_eq!(past.len(), whole.len().min(2));
        assert!(whole.ends_with(&past));
    }
}

#[tokio::test(start_paused = true)]
pub async fn what_a_worker_wrote_and_handed_over_itself_it_does_not_read_back() {
    let (world, session, last, noted, core) = four_turns().await;
    let kept = Histories::default();
    let partition = keys::session_partition(&session);
    for turn in 1..=4 {
        let head = claimed(&last, turn);
        let past = kept.load(&core, &session, &head, turn, ALL).await;
        let fresh = Histories::default();
        let anew = fresh.load(&world.core, &session, &head, turn, ALL).await;
        assert_eq!(past.expect("read"), anew.expect("read"));
        // The Run gives its agent the message and commits the answer.
        let content = vec![json!({
            "type": "input_text",
            "text": format!("@say answer {turn}"),
        })];
        let feed = Feed {
            input: turn,
            content,
        };
        kept.handed_over(&session, &head, &[feed]);
        let key = Key::new(partition.clone(), keys::item(2 * turn));
        let record = world.core.store.get(&key).await.expect("read");
        let write = Write {
            key,
            guard: Guard::Any,
            change: Change::Put(record.expect("an answer").value),
        };
        kept.wrote(&session, vec![write]);
    }
    let ranges = noted.ranges.lock().expect("no test panics with it");
    let rows = noted.rows.lock().expect("no test panics with it");
    assert_eq!((ranges.as_slice(), rows.as_slice()), (&[][..], &[][..]));
}

#[tokio::test(start_paused = true)]
pub async fn what_a_worker_did_not_write_it_reads() {
    let (_world, session, last, noted, core) = four_turns().await;
    let kept = Histories::default();
    let head = claimed(&last, 1);
    let first = kept.load(&core, &session, &head, 1, ALL).await;
    assert_eq!(first.expect("read").past.len(), 0);
    // Somebody else told the agent its message, and committed its answer.
    let second = kept.load(&core, &session, &claimed(&last, 2), 2, ALL).await;
    assert_eq!(second.expect("read").past.len(), 2);
    let ranges = noted.ranges.lock().expect("no test panics with it");
    assert_eq!(*ranges, [keys::item(1)]);
}
