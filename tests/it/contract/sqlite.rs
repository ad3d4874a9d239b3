//! What only the SQLite store promises: several processes on one file, nothing lost by a crash, and a clear word about every kind of
//! trouble a file can be in.

use std::path::{Path, PathBuf};

use rat_things::backend::local::store::{SqliteStore, StoreOptions};
use rat_things::engine::ports::{
    Change, Commit, CommitId, Committed, Guard, Key, Store, StoreError, Write,
};
use tempfile::TempDir;

/// A lone client's commits, and the room that is made for them.
mod alone;
/// Kill -9 and lost syncs.
mod crash;
/// Files that are not what they should be, or change under an open store.
mod damage;
/// No space left.
mod full;
/// Mounts and permissions that forbid writing.
mod read_only;
/// Other processes and programs on the same file.
mod sharing;
/// Permissions of new files, the check and the backup.
mod upkeep;

/// A directory and where a database may be in it.
fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("store.db");
    (dir, path)
}

fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, StoreOptions::default())
}

/// A commit of one row that was not there.
fn one(n: u64, size: usize) -> Commit {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&n.to_be_bytes());
    Commit {
        id: CommitId(id),
        writes: vec![Write {
            key: key(n),
            guard: Guard::Absent,
            change: Change::Put(value(n, size)),
        }]
        .into(),
    }
}

fn key(n: u64) -> Key {
    Key::new("p", format!("row/{n}"))
}

/// Nothing repeats in it, so that it takes its size wherever it is.
fn value(n: u64, size: usize) -> Vec<u8> {
    let mix = |at: u64| {
        (n << 32 | at)
            .wrapping_add(1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    let blocks = (0..size as u64).step_by(8).flat_map(|at| {
        let mixed = mix(at);
        (mixed ^ (mixed >> 29))
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
            .to_le_bytes()
    });
    blocks.take(size).collect()
}

/// Whether the row of [`one`] is there, whole.
async fn has(store: &dyn Store, n: u64, size: usize) -> bool {
    let found = store.get(&key(n)).await.expect("reads work");
    found.is_some_and(|record| {
        assert!(record.value == value(n, size), "row {n} is whole");
        true
    })
}

const APPLIED: Result<Committed, StoreError> = Ok(Committed { repeated: false });
const REPEATED: Result<Committed, StoreError> = Ok(Committed { repeated: true });
