//! Lists are read window by window: whatever their size, order and start, every row is shown once and in order.

use std::sync::Arc;

use proptest::prelude::*;
use rat_things::backend::memory::MemoryStore;
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::backend::memory::blobs::MemoryBlobs;
use rat_things::backend::memory::clock::ManualClock;
use rat_things::backend::memory::ids::SeededIds;
use rat_things::backend::memory::secrets::MemorySecrets;
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::ports::{Change, Commit, CommitId, Guard, Record, Store, Write};
use rat_things::engine::read::ListQuery;

use super::bench::{Bench, OWNER};

/// The engine over these records.
async fn core_over(records: Vec<Record>) -> Core {
    let store = Arc::new(MemoryStore::new());
    for (n, record) in (0u64..).zip(records) {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&n.to_be_bytes());
        let write = Write {
            key: record.key,
            guard: Guard::Absent,
            change: Change::Put(record.value),
        };
        let commit = Commit {
            id: CommitId(id),
            writes: vec![write].into(),
        };
        store.commit(commit).await.expect("an empty store takes it");
    }
    Core {
        store,
        blobs: Arc::new(MemoryBlobs::new()),
        clock: Arc::new(ManualClock::default()),
        ids: Arc::new(SeededIds::new(1)),
        bell: Arc::new(MemoryBell::new()),
        secrets: Arc::new(MemorySecrets::new()),
        settings: Settings::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_turn_and_every_event_is_in_one_window_in_order(
        turns in 0u64..14,
        windows in prop::collection::vec(1usize..6, 1..6),
        ascending: bool,
    ) {
        let mut bench = Bench::new();
        for _ in 0..turns {
            bench.queue("message");
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("no IO");
        runtime.block_on(async {
            let core = core_over(bench.records()).await;
            let read = core.read_session(OWNER, &bench.session).await.expect("stored");
            let mut limits = windows.iter().copied().cycle();
            let mut limit = || limits.next().unwrap_or(1);
            let mut seen = Vec::new();
            let mut after = None;
            loop {
                let query = ListQuery { limit: limit(), after: after.clone(), ascending };
                let (page, _) = core.list_turns(&read, &query).await.expect("readable");
                assert!(page.data.len() <= query.limit);
                seen.extend(page.data.iter().map(|turn| turn.id.clone()));
                after = seen.last().cloned();
                if !page.has_more {
                    break;
                }
            }
            let id = |n| rat_things::engine::view::turn_id(&bench.session, n);
            let mut all: Vec<String> = (1..=turns).map(id).collect();
            if !ascending {
                all.reverse();
            }
            assert_eq!(seen, all);
            let (whole, _) = core.list_events(&read, None, 10_000).await.expect("readable");
            let mut told = Vec::new();
            let mut after: Option<String> = None;
            loop {
                let window = core.list_events(&read, after.as_deref(), limit()).await;
                let (events, more) = window.expect("readable");
                let last = events.last().map(|event| serde_json::to_value(event).expect("JSON"));
                after = last.and_then(|event| Some(event["event_id"].as_str()?.to_owned())).or(after);
                told.extend(events);
                if !more {
                    break;
                }
            }
            assert_eq!(told, whole);
        });
    }
}
