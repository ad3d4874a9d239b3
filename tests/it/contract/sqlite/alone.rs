//! A lone client's commits, and the room that is made for them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rat_things::backend::local::store::{Durability, SqliteStore, StoreOptions};
use rat_things::engine::ports::{Store, StoreError};

use super::{APPLIED, REPEATED, has, one, open, place};
use crate::store_child::until;

/// Bytes that a page takes in the WAL.
const FRAME_BYTES: u64 = 24 + 4096;

/// How long the machine may be too busy for a commit to be quick.
const LONG: Duration = Duration::from_secs(60);

fn wal_bytes(path: &Path) -> u64 {
    fs::metadata(path.with_extension("db-wal")).map_or(0, |wal| wal.len())
}

/// Without a sync, which takes longer than a change of thread on some machines.
fn quick(path: &Path) -> SqliteStore {
    let options = StoreOptions {
        durability: Durability::ProcessOnly,
        ..StoreOptions::default()
    };
    SqliteStore::open(path, options).expect("a new database")
}

/// Commits rows from `from` on until one was committed where it was asked for; the next number.
async fn until_alone(store: &SqliteStore, mut from: u64) -> u64 {
    let (before, begun) = (store.stats().alone, Instant::now());
    while store.stats().alone == before {
        assert!(begun.elapsed() < LONG, "{:?}", store.stats());
        assert_eq!(store.commit(one(from, 500)).await, APPLIED);
        from += 1;
    }
    from
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lone_client_commits_where_it_is_and_is_answered_the_same() {
    let (_dir, path) = place();
    let store = quick(&path);
    let next = until_alone(&store, 0).await;
    for n in 0..next {
        assert!(has(&store, n, 500).await, "row {n}");
    }
    // Whichever way they go from here, a repeat is one and a conflict is one.
    assert_eq!(store.commit(one(next - 1, 500)).await, REPEATED);
    let mut other = one(next - 1, 500);
    other.id.0[15] = 1;
    let conflict = store.commit(other).await;
    assert!(
        matches!(conflict, Err(StoreError::Conflict(_))),
        "{conflict:?}"
    );
    let next = until_alone(&store, next).await;
    drop(store);
    let store = open(&path).expect("it opens again");
    for n in 0..next {
        assert!(has(&store, n, 500).await, "row {n}");
    }
}

/// There, a commit on the spot would keep everything else waiting for the disk.
async fn nobody_commits_alone() {
    let (_dir, path) = place();
    let store = quick(&path);
    for n in 0..50 {
        assert_eq!(store.commit(one(n, 500)).await, APPLIED);
    }
    assert_eq!(store.stats().alone, 0);
}

#[tokio::test]
async fn nobody_commits_alone_on_the_only_thread_of_a_runtime() {
    nobody_commits_alone().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nobody_commits_alone_on_a_runtime_that_could_have_more_threads_and_has_one() {
    // On a task: what `main` does is beside the runtime's threads.
    let task = tokio::spawn(nobody_commits_alone());
    assert!(task.await.is_ok());
}

/// What another program's lock would make wait is left to the thread that may wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lone_client_does_not_wait_for_a_foreign_lock_itself() {
    let (_dir, path) = place();
    let store = quick(&path);
    let next = until_alone(&store, 0).await;
    let foreign = rusqlite::Connection::open(&path).expect("it opens");
    foreign
        .execute_batch("BEGIN IMMEDIATE")
        .expect("the lock is free");
    let alone = store.stats().alone;
    let waiting = store.commit(one(next, 500));
    let release = async {
        // The commit found the database locked, and went to the thread.
        while store.stats().busy == 0 {
            tokio::task::yield_now().await;
        }
        foreign.execute_batch("ROLLBACK").expect("it ends");
    };
    let (answer, ()) = tokio::join!(waiting, release);
    assert_eq!(answer, APPLIED);
    assert_eq!(store.stats().alone, alone);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn room_is_made_behind_the_log_and_is_taken_for_its_end() {
    let (dir, path) = place();
    let store = open(&path).expect("a new database");
    for n in 0..100 {
        assert_eq!(store.commit(one(n, 2_000)).await, APPLIED);
    }
    let room = || {
        let used = store.stats().wal_length_pages * FRAME_BYTES;
        wal_bytes(&path).saturating_sub(used)
    };
    until("there is room", || room() >= 1 << 20);
    for n in 100..150 {
        assert_eq!(store.commit(one(n, 2_000)).await, APPLIED);
    }
    // What a crash would leave behind: the room is in the copy, too.
    let copy = dir.path().join("copy.db");
    fs::copy(&path, &copy).expect("the database");
    fs::copy(path.with_extension("db-wal"), copy.with_extension("db-wal")).expect("its log");
    let copy = open(&copy).expect("it opens after a crash");
    for n in 0..150 {
        assert!(has(&copy, n, 2_000).await, "row {n}");
    }
    assert_eq!(copy.commit(one(150, 2_000)).await, APPLIED);
    assert_eq!(copy.check().await.map(|h| h.problems), Ok(Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_writes_little_makes_no_room() {
    let (_dir, path) = place();
    let store = open(&path).expect("a new database");
    for n in 0..4 {
        assert_eq!(store.commit(one(n, 500)).await, APPLIED);
    }
    let stats = store.stats();
    assert!(stats.wal_length_pages < 64, "{stats:?}");
    assert!(wal_bytes(&path) <= 32 + stats.wal_length_pages * FRAME_BYTES);
}
