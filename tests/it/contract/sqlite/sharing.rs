//! Other processes and programs on the same file.

use std::os::unix::process::ExitStatusExt;

use rat_things::backend::local::store::{Durability, SqliteStore, StoreOptions};
use rat_things::engine::ports::{Change, Commit, CommitId, Guard, Key, Store, StoreError, Write};
use rustix::fs::{FlockOperation, flock};

use super::{APPLIED, has, one, open, place};
use crate::store_child::{Job, noted, prove, until};

fn job(dir: &std::path::Path, process: u64, tasks: u64, steps: u64) -> Job {
    Job {
        database: dir.join("store.db"),
        acks: dir.join(format!("acks-{process}")),
        tasks,
        process,
        steps,
        durability: Durability::Full,
    }
}

#[tokio::test]
async fn two_processes_write_one_file_and_neither_finds_it_locked() {
    let (dir, path) = place();
    // Both create the database at once, too.
    let jobs = [job(dir.path(), 0, 8, 40), job(dir.path(), 1, 8, 40)];
    let children: Vec<_> = jobs.iter().map(Job::start).collect();
    for mut child in children {
        let status = child.0.wait().expect("the child ends");
        assert!(status.success(), "{status} {:?}", status.signal());
    }
    let store = open(&path).expect("the store opens");
    for job in &jobs {
        let proof = prove(&store, &job.acks).await;
        assert_eq!((proof.acknowledged, proof.lost, proof.damaged), (320, 0, 0));
    }
}

#[tokio::test]
async fn short_lived_opens_beside_a_busy_writer_never_fail() {
    let (dir, path) = place();
    let job = job(dir.path(), 0, 8, 0);
    let child = job.start();
    until("the writer writes", || noted(&job.acks) > 50);
    for n in 0..30 {
        let store = open(&path).expect("it opens");
        assert_eq!(store.commit(one(n, 1000)).await, APPLIED);
        assert!(has(&store, n, 1000).await);
        assert!(n == 0 || has(&store, n - 1, 1000).await);
    }
    drop(child);
    let store = open(&path).expect("it opens");
    let proof = prove(&store, &job.acks).await;
    assert_eq!((proof.lost, proof.damaged), (0, 0));
}

#[tokio::test]
async fn what_one_store_acknowledged_the_other_reads_at_once() {
    let (_dir, path) = place();
    let left = open(&path).expect("it opens");
    let right = open(&path).expect("it opens a second time");
    for n in 0..50 {
        let (writer, reader) = if n % 2 == 0 {
            (&left, &right)
        } else {
            (&right, &left)
        };
        assert_eq!(writer.commit(one(n, 700)).await, APPLIED);
        assert!(has(reader, n, 700).await);
    }
}

/// A store may not answer from what it wrote itself.
#[tokio::test]
async fn a_head_that_another_store_or_program_changed_is_read_as_it_is_now() {
    let (_dir, path) = place();
    let stores = [open(&path), open(&path)].map(|store| store.expect("it opens"));
    let key = Key::new("S/a", "head");
    let head = |n: u64| Commit {
        id: CommitId(u128::from(n).to_be_bytes()),
        writes: vec![Write {
            key: key.clone(),
            guard: match n {
                1 => Guard::Absent,
                n => Guard::Version(n - 1),
            },
            change: Change::Put(n.to_string().into_bytes()),
        }]
        .into(),
    };
    for n in 1..=200 {
        // Each writes three times in turn, so that both find their own last word and the other's.
        let writer = &stores[n as usize / 3 % 2];
        assert_eq!(writer.commit(head(n)).await, APPLIED);
        for reader in &stores {
            let found = reader.get(&key).await.expect("reads work").expect("a row");
            assert_eq!(
                (found.version, found.value),
                (n, n.to_string().into_bytes())
            );
        }
    }
    let foreign = rusqlite::Connection::open(&path).expect("any program can open it");
    let changed = foreign.execute("UPDATE k SET v = CAST('other' AS BLOB)", []);
    assert_eq!(changed, Ok(1));
    for reader in &stores {
        let found = reader.get(&key).await.expect("reads work").expect("a row");
        assert_eq!((found.version, found.value), (200, b"other".to_vec()));
    }
}

fn impatient(path: &std::path::Path) -> SqliteStore {
    let options = StoreOptions {
        patience_ms: 100,
        ..StoreOptions::default()
    };
    SqliteStore::open(path, options).expect("it opens")
}

/// As when a process is stopped (Ctrl-Z) in the middle of a commit.
#[tokio::test]
async fn a_turn_that_never_comes_is_answered_as_unavailable() {
    let (dir, path) = place();
    let store = impatient(&path);
    assert_eq!(store.commit(one(1, 10)).await, APPLIED);
    let lock = std::fs::File::open(dir.path().join("store.db-write")).expect("the lock file");
    flock(&lock, FlockOperation::LockExclusive).expect("nobody writes now");
    let (second, third) = tokio::join!(store.commit(one(2, 10)), store.commit(one(3, 10)));
    for refused in [second, third] {
        assert!(
            matches!(refused, Err(StoreError::Unavailable(_))),
            "{refused:?}"
        );
    }
    assert!(has(&store, 1, 10).await);
    flock(&lock, FlockOperation::Unlock).expect("it was locked");
    assert_eq!(store.commit(one(4, 10)).await, APPLIED);
    // The answer said that nothing was written, so nothing is.
    assert!(!has(&store, 2, 10).await && !has(&store, 3, 10).await);
}

#[tokio::test]
async fn a_foreign_program_that_keeps_the_lock_makes_the_store_unavailable() {
    let (_dir, path) = place();
    let store = impatient(&path);
    assert_eq!(store.commit(one(1, 10)).await, APPLIED);
    let foreign = rusqlite::Connection::open(&path).expect("any program can open it");
    foreign
        .execute_batch("BEGIN IMMEDIATE")
        .expect("nobody writes now");
    let refused = store.commit(one(2, 10)).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    assert_eq!(store.stats().busy, 1);
    assert!(has(&store, 1, 10).await && !has(&store, 2, 10).await);
    foreign.execute_batch("ROLLBACK").expect("it was begun");
    assert_eq!(store.commit(one(2, 10)).await, APPLIED);
}

#[tokio::test]
async fn closing_while_another_process_has_the_turn_does_not_hang() {
    let (dir, path) = place();
    let store = impatient(&path);
    assert_eq!(store.commit(one(1, 10)).await, APPLIED);
    let lock = std::fs::File::open(dir.path().join("store.db-write")).expect("the lock file");
    flock(&lock, FlockOperation::LockExclusive).expect("nobody writes now");
    let refused = store.commit(one(2, 10)).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    drop(store);
}
