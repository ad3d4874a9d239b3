//! Permissions of new files, the check and the backup.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;
use rat_things::backend::local::store::{BackupError, schema_version};
use rat_things::engine::ports::Store;

use super::{APPLIED, has, one, open, place};

#[tokio::test]
async fn every_file_is_for_its_owner_alone() {
    let (dir, path) = place();
    let store = open(&path).expect("a new database");
    assert_eq!(store.commit(one(1, 10)).await, APPLIED);
    store
        .backup(&dir.path().join("copy"))
        .await
        .expect("a backup");
    let mut names = Vec::new();
    for entry in fs::read_dir(dir.path()).expect("the directory") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("its mode").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{:?}", entry.file_name());
        names.push(entry.file_name().into_string().expect("a plain name"));
    }
    names.sort_unstable();
    let expected = [
        "copy",
        "store.db",
        "store.db-shm",
        "store.db-turn",
        "store.db-wal",
        "store.db-write",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn the_last_close_leaves_one_database_file() {
    let (dir, path) = place();
    let store = open(&path).expect("a new database");
    assert_eq!(store.commit(one(1, 10)).await, APPLIED);
    drop(store);
    assert!(!dir.path().join("store.db-wal").exists());
    assert!(has(&open(&path).expect("it opens"), 1, 10).await);
}

#[tokio::test]
async fn a_link_leads_to_the_database() {
    let (dir, path) = place();
    let link = dir.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    fs::write(&path, "").expect("an empty file");
    let store = open(&link).expect("it opens");
    let beside = open(&path).expect("it opens");
    assert_eq!(store.commit(one(1, 10)).await, APPLIED);
    assert!(has(&beside, 1, 10).await);
    assert_eq!(store.path(), fs::canonicalize(&path).expect("it exists"));
}

#[tokio::test]
async fn a_sound_database_has_no_problems() {
    let (_dir, path) = place();
    let store = open(&path).expect("a new database");
    for n in 0..20 {
        assert_eq!(store.commit(one(n, 1000)).await, APPLIED);
    }
    let health = store.check().await.expect("it can be read");
    let newest = schema_version() as i64;
    assert_eq!(
        (health.schema_version, health.problems),
        (newest, Vec::new())
    );
    assert!(health.database_bytes > 0 && health.wal_bytes > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_taken_under_load_is_a_whole_store() {
    let (dir, path) = place();
    let store = std::sync::Arc::new(open(&path).expect("a new database"));
    for n in 0..100 {
        assert_eq!(store.commit(one(n, 2000)).await, APPLIED);
    }
    let writer = tokio::spawn({
        let store = std::sync::Arc::clone(&store);
        async move {
            for n in 100..300 {
                assert_eq!(store.commit(one(n, 2000)).await, APPLIED);
            }
        }
    });
    let to = dir.path().join("backup.db");
    store.backup(&to).await.expect("a backup");
    writer.await.expect("the writer goes on");
    let copy = open(&to).expect("a backup is a store");
    let health = copy.check().await.expect("it can be read");
    let newest = schema_version() as i64;
    assert_eq!(
        (health.schema_version, health.problems),
        (newest, Vec::new())
    );
    let mut there = 0;
    while has(&copy, there, 2000).await {
        there += 1;
    }
    // One instant: everything up to it, nothing behind it.
    assert!(there >= 100);
    for n in there..300 {
        assert!(!has(&copy, n, 2000).await);
    }
    assert_eq!(copy.commit(one(1000, 10)).await, APPLIED);
}

#[tokio::test]
async fn a_backup_overwrites_nothing_and_leaves_nothing_behind() {
    let (dir, path) = place();
    let store = open(&path).expect("a new database");
    let there = dir.path().join("precious");
    fs::write(&there, "precious").expect("a file");
    let answer = store.backup(&there).await;
    assert_eq!(answer, Err(BackupError::Exists(there.clone())));
    assert_eq!(fs::read(&there).expect("it is there"), b"precious");
    let nowhere = dir.path().join("nowhere/copy");
    let answer = store.backup(&nowhere).await;
    assert!(
        matches!(answer, Err(BackupError::Target { .. })),
        "{answer:?}"
    );
    assert!(!dir.path().join("nowhere").exists());
}
