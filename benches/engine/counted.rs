//! A store that counts what the engine asks of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use async_trait::async_trait;
use rat_things::backend::local::store::SqliteStore;
use rat_things::engine::ports::{Commit, Committed, Key, Page, Range, Record, Store, StoreError};

/// Passes everything on.
pub struct Counted {
    inner: Arc<SqliteStore>,
    reads: AtomicU64,
    scans: AtomicU64,
}

impl Counted {
    /// In front of `inner`.
    pub fn new(inner: Arc<SqliteStore>) -> Counted {
        Counted {
            inner,
            reads: AtomicU64::new(0),
            scans: AtomicU64::new(0),
        }
    }

    /// Calls that read rows by their keys.
    pub fn reads(&self) -> u64 {
        self.reads.load(Relaxed)
    }

    /// Calls that read a range of rows, those of the agenda left out.
    pub fn scans(&self) -> u64 {
        self.scans.load(Relaxed)
    }
}

#[async_trait]
impl Store for Counted {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.reads.fetch_add(1, Relaxed);
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.reads.fetch_add(1, Relaxed);
        self.inner.get_many(keys).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        // The agenda is read as time goes by, not as Turns do.
        if !range.partition.starts_with("A/") {
            self.scans.fetch_add(1, Relaxed);
        }
        self.inner.range(range).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.inner.commit(commit).await
    }
}
