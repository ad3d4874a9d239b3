//! What the store counts, for tests and benches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rusqlite::ErrorCode;

use super::checkpoint::Log;

/// Counts since the store was opened, of this process alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Commits that were applied.
    pub commits: u64,
    /// Commits that were found to be applied already.
    pub repeats: u64,
    /// Commits that were answered without the writer's thread, of either kind or in conflict.
    pub alone: u64,
    /// Transactions that wrote something: each is one sync of the WAL.
    pub syncs: u64,
    /// Pages appended to the WAL (those of another process that came in between are counted too).
    pub wal_pages: u64,
    /// Pages that the WAL held after our last commit.
    pub wal_length_pages: u64,
    /// Groups that failed because a foreign program kept the database locked.
    pub busy: u64,
    /// Checkpoints made, by the helper or the writer.
    pub checkpoints: u64,
    /// Time spent in transactions, from their begin to the end of their sync, in nanoseconds.
    pub writing_ns: u64,
}

/// The counters behind [`StoreStats`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    commits: AtomicU64,
    repeats: AtomicU64,
    alone: AtomicU64,
    syncs: AtomicU64,
    busy: AtomicU64,
    writing_ns: AtomicU64,
    log: Arc<Log>,
}

impl Counters {
    pub(super) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    pub(super) fn busy(&self, error: &rusqlite::Error) {
        if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) {
            self.busy.fetch_add(1, Relaxed);
        }
    }

    /// The writer was at work for `time`.
    pub(super) fn worked(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.writing_ns.fetch_add(nanos, Relaxed);
    }

    /// A commit was answered where it was asked for.
    pub(super) fn answered_alone(&self) {
        self.alone.fetch_add(1, Relaxed);
    }

    /// A group was committed; `synced` if it wrote anything.
    pub(super) fn grouped(&self, written: u64, repeated: u64, synced: bool) {
        self.commits.fetch_add(written, Relaxed);
        self.repeats.fetch_add(repeated, Relaxed);
        self.syncs.fetch_add(u64::from(synced), Relaxed);
    }

    pub(super) fn snapshot(&self) -> StoreStats {
        StoreStats {
            commits: self.commits.load(Relaxed),
            repeats: self.repeats.load(Relaxed),
            alone: self.alone.load(Relaxed),
            syncs: self.syncs.load(Relaxed),
            wal_pages: self.log.appended(),
            wal_length_pages: self.log.length(),
            busy: self.busy.load(Relaxed),
            checkpoints: self.log.checkpoints(),
            writing_ns: self.writing_ns.load(Relaxed),
        }
    }
}
