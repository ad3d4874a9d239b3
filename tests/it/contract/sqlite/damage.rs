//! Files that are not what they should be, or change under an open store.

use std::fs;
use std::path::Path;

use rat_things::backend::local::store::{SqliteStore, schema_version};
use rat_things::engine::ports::{Store, StoreError, StoreFault};
use rusqlite::Connection;

use super::{APPLIED, has, one, open, place};
use crate::store_child::{fault, until};

/// The message of a refused open, which must name the file.
fn refused(path: &Path) -> (StoreFault, String) {
    let (fault, message) = fault(open(path).map(|_| ()));
    let name = path.file_name().expect("a name").to_string_lossy();
    assert!(message.contains(&*name), "{message}");
    (fault, message)
}

#[test]
fn garbage_is_no_database_and_stays_as_it_is() {
    let (_dir, path) = place();
    let garbage = b"this is not a database, it is a long enough text".repeat(300);
    fs::write(&path, &garbage).expect("it is written");
    let (fault, message) = refused(&path);
    assert_eq!(fault, StoreFault::Corrupt);
    assert!(message.contains("not a rat-things database"), "{message}");
    assert!(fs::read(&path).expect("it is there") == garbage);
}

#[test]
fn a_database_of_another_program_is_refused_and_stays_as_it_is() {
    let (_dir, path) = place();
    let other = Connection::open(&path).expect("a new database");
    other
        .execute_batch("CREATE TABLE songs(title)")
        .expect("a table");
    drop(other);
    let before = fs::read(&path).expect("it is there");
    let (fault, message) = refused(&path);
    assert_eq!(fault, StoreFault::Corrupt);
    assert!(message.contains("another program"), "{message}");
    assert!(fs::read(&path).expect("it is there") == before);
}

#[test]
fn a_directory_and_a_missing_directory_are_told_apart() {
    let (dir, path) = place();
    fs::create_dir(&path).expect("a directory");
    assert!(refused(&path).1.contains("it is a directory"));
    let nowhere = dir.path().join("nowhere/store.db");
    assert!(refused(&nowhere).1.contains("nowhere does not exist"));
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let (_dir, path) = place();
    fs::write(&path, "").expect("an empty file");
    let store = open(&path).expect("it opens");
    assert_eq!(store.commit(one(1, 10)).await, APPLIED);
}

#[test]
fn a_newer_schema_is_refused_naming_both_versions() {
    let (_dir, path) = place();
    drop(open(&path).expect("a new database"));
    set_version(&path, 99);
    let (fault, message) = refused(&path);
    assert_eq!(fault, StoreFault::NewerSchema);
    assert!(
        message.contains("99") && message.contains(&format!("up to {}", schema_version())),
        "{message}"
    );
}

#[tokio::test]
async fn a_schema_that_becomes_newer_under_an_open_store_stops_its_commits() {
    let (_dir, path) = place();
    let store = open(&path).expect("a new database");
    let current = schema_version() as i64;
    assert_eq!(store.commit(one(1, 10)).await, APPLIED);
    set_version(&path, current + 1);
    let (fault, _) = fault(store.commit(one(2, 10)).await);
    assert_eq!(fault, StoreFault::NewerSchema);
    set_version(&path, current);
    assert!(!has(&store, 2, 10).await);
    assert_eq!(store.commit(one(2, 10)).await, APPLIED);
}

fn set_version(path: &Path, version: i64) {
    let conn = Connection::open(path).expect("it opens");
    conn.pragma_update(None, "user_version", version)
        .expect("it is set");
}

#[tokio::test]
async fn a_damaged_page_is_reported_by_reads_and_by_the_check() {
    let (_dir, path) = place();
    let store = open(&path).expect("a new database");
    for n in 0..200 {
        assert_eq!(store.commit(one(n, 3000)).await, APPLIED);
    }
    drop(store);
    let mut bytes = fs::read(&path).expect("it is there");
    let from = 4096 * 2;
    bytes[from..].fill(0xa5);
    fs::write(&path, bytes).expect("it is written");
    let store = open(&path).expect("the first page is whole");
    let (fault, message) = fault(store.get(&super::key(77)).await);
    assert_eq!(fault, StoreFault::Corrupt);
    assert!(message.contains("backup"), "{message}");
    // The check either lists what is wrong or can't read the file at all.
    match store.check().await {
        Ok(health) => assert_ne!(health.problems, Vec::<String>::new()),
        Err(StoreError::Broken { fault, .. }) => assert_eq!(fault, StoreFault::Corrupt),
        Err(other) => panic!("{other}"),
    }
}

/// Moves one of the three files away under an open store, and back.
async fn moved_away(suffix: &str) {
    let (dir, path) = place();
    let store = open(&path).expect("a new database");
    assert_eq!(store.commit(one(1, 700)).await, APPLIED);
    let file = dir.path().join(format!("store.db{suffix}"));
    let aside = dir.path().join("aside");
    fs::rename(&file, &aside).expect("it is moved");
    let (fault, message) = fault(store.commit(one(2, 700)).await);
    assert_eq!(fault, StoreFault::Replaced, "{message}");
    until_reads_notice(&store).await;
    // Something else in its place is no better.
    fs::copy(&aside, &file).expect("it is copied");
    let (fault, _) = self::fault(store.commit(one(3, 700)).await);
    assert_eq!(fault, StoreFault::Replaced);
    fs::rename(&aside, &file).expect("it is moved back");
    assert_eq!(store.commit(one(4, 700)).await, APPLIED);
    assert!(has(&store, 1, 700).await && has(&store, 4, 700).await);
    assert!(!has(&store, 2, 700).await && !has(&store, 3, 700).await);
}

/// Reads look at the files a hundred times a second, not each time.
async fn until_reads_notice(store: &SqliteStore) {
    let handle = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        until("reads notice", || {
            let answer = handle.block_on(store.get(&super::key(1)));
            matches!(
                answer,
                Err(StoreError::Broken {
                    fault: StoreFault::Replaced,
                    ..
                })
            )
        });
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_moved_away_is_noticed() {
    moved_away("").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_moved_away_is_noticed() {
    moved_away("-wal").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_index_that_is_moved_away_is_noticed() {
    moved_away("-shm").await;
}
