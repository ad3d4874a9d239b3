//! No space left.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rat_things::backend::local::store::SqliteStore;
use rat_things::engine::ports::{Store, StoreError, StoreFault};

use super::{APPLIED, has, one, open};
use crate::mounts::with_tmpfs;
use crate::store_child::{fault, skip};

/// Tells the child where its small file system is.
const SMALL: &str = "RAT_THINGS_TEST_SMALL_DISK";

/// Bytes of each value.
const SIZE: usize = 20_000;

#[test]
fn a_full_disk_refuses_commits_keeps_what_it_has_and_works_again() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let role = "contract::sqlite::full::full_disk_role";
    if let Err(reason) = with_tmpfs(dir.path(), "3m", role, SMALL) {
        skip(
            "a_full_disk_refuses_commits_keeps_what_it_has_and_works_again",
            &reason,
        );
    }
}

/// What the child of the test above does, on a file system of 3 MiB.
#[tokio::test(flavor = "multi_thread")]
async fn full_disk_role() {
    let Ok(dir) = std::env::var(SMALL) else {
        return;
    };
    let dir = Path::new(&dir);
    let filler = dir.join("filler");
    fs::write(&filler, vec![1; 800_000]).expect("there is room");
    let path = dir.join("store.db");
    let store = Arc::new(open(&path).expect("a new database"));
    let (applied, refused) = fill(&store, 0..200).await;
    assert!(
        !applied.is_empty() && !refused.is_empty(),
        "{} fit",
        applied.len()
    );
    check(&store, &applied, &refused).await;
    // Still full: nothing gets better by trying, and a small commit is answered as well, one way or the other.
    assert_eq!(
        fault(store.commit(one(1000, 300_000)).await).0,
        StoreFault::DiskFull
    );
    check(&store, &applied, &refused).await;

    fs::remove_file(&filler).expect("space is freed");
    assert_eq!(store.commit(one(1001, SIZE)).await, APPLIED);
    for n in refused.iter().take(10) {
        assert_eq!(store.commit(one(*n, SIZE)).await, APPLIED);
    }
    check(&store, &applied, &refused[10..]).await;
    drop(store);
    let store = Arc::new(open(&path).expect("it opens again"));
    assert_eq!(store.check().await.map(|h| h.problems), Ok(Vec::new()));
    check(&store, &applied, &refused[10..]).await;
    drop(store);

    // Not even room for a new database.
    fs::write(&filler, "").expect("it was removed");
    while fs::OpenOptions::new()
        .append(true)
        .open(&filler)
        .and_then(|mut file| std::io::Write::write_all(&mut file, &[1; 4096]))
        .is_ok()
    {}
    let other = open(&dir.join("other.db")).map(|_| ());
    assert_eq!(fault(other).0, StoreFault::DiskFull);
}

/// Commits many rows at once, so that they come in groups; those that were applied, and those that were refused.
async fn fill(store: &Arc<SqliteStore>, rows: std::ops::Range<u64>) -> (Vec<u64>, Vec<u64>) {
    let tasks: Vec<_> = rows
        .map(|n| {
            let store = Arc::clone(store);
            (
                n,
                tokio::spawn(async move { store.commit(one(n, SIZE)).await }),
            )
        })
        .collect();
    let (mut applied, mut refused) = (Vec::new(), Vec::new());
    for (n, task) in tasks {
        match task.await.expect("no panic") {
            Ok(committed) => {
                assert!(!committed.repeated);
                applied.push(n);
            }
            Err(StoreError::Broken { fault, message }) => {
                assert_eq!(fault, StoreFault::DiskFull);
                assert!(message.contains("store.db"), "{message}");
                refused.push(n);
            }
            Err(other) => panic!("{other}"),
        }
    }
    (applied, refused)
}

async fn check(store: &Arc<SqliteStore>, applied: &[u64], refused: &[u64]) {
    for n in applied {
        assert!(has(&**store, *n, SIZE).await, "row {n} was acknowledged");
    }
    for n in refused {
        assert!(!has(&**store, *n, SIZE).await, "row {n} was refused");
    }
}
