//! A store whose commits are counted and timed.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use super::counts::{Counter, Durations};
use crate::engine::ports::{Commit, Committed, Key, Page, Range, Record, Store, StoreError};

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitEnd {
    /// It was applied.
    Applied,
    /// It had been applied before.
    Repeated,
    /// Somebody else was quicker.
    Conflict,
    /// The store was saturated.
    Throttled,
    /// The store could not be reached, needed its operator, or refused it as malformed.
    Failed,
    /// It may have been applied.
    Unknown,
}

impl CommitEnd {
    /// Every end, in the order in which they are shown.
    pub const ALL: [CommitEnd; 6] = [
        CommitEnd::Applied,
        CommitEnd::Repeated,
        CommitEnd::Conflict,
        CommitEnd::Throttled,
        CommitEnd::Failed,
        CommitEnd::Unknown,
    ];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            CommitEnd::Applied => "applied",
            CommitEnd::Repeated => "repeated",
            CommitEnd::Conflict => "conflict",
            CommitEnd::Throttled => "throttled",
            CommitEnd::Failed => "failed",
            CommitEnd::Unknown => "unknown",
        }
    }

    fn of(answer: &Result<Committed, StoreError>) -> CommitEnd {
        match answer {
            Ok(Committed { repeated: false }) => CommitEnd::Applied,
            Ok(Committed { repeated: true }) => CommitEnd::Repeated,
            Err(StoreError::Conflict(_)) => CommitEnd::Conflict,
            Err(StoreError::Throttled) => CommitEnd::Throttled,
            Err(StoreError::Unknown(_)) => CommitEnd::Unknown,
            Err(
                StoreError::Unavailable(_) | StoreError::Broken { .. } | StoreError::Invalid(_),
            ) => CommitEnd::Failed,
        }
    }
}

/// What became of the commits of this process.
#[derive(Debug, Default)]
pub struct StoreCounts {
    ends: [Counter; CommitEnd::ALL.len()],
    /// How long those took that are durable, from the call to the answer.
    pub took: Durations,
}

impl StoreCounts {
    /// How many ended so.
    pub fn ended(&self, end: CommitEnd) -> u64 {
        self.ends[end as usize].get()
    }
}

/// Another store, whose commits are counted.
pub struct MeasuredStore {
    inner: Arc<dyn Store>,
    counts: Arc<StoreCounts>,
}

impl MeasuredStore {
    /// Over this store.
    pub fn new(inner: Arc<dyn Store>) -> MeasuredStore {
        MeasuredStore {
            inner,
            counts: Arc::default(),
        }
    }

    /// What is counted.
    pub fn counts(&self) -> Arc<StoreCounts> {
        Arc::clone(&self.counts)
    }
}

#[async_trait]
impl Store for MeasuredStore {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.inner.get_many(keys).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        self.inner.range(range).await
    }

    async fn keys(&self, range: &Range) -> Result<(Vec<Key>, bool), StoreError> {
        self.inner.keys(range).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let since = Instant::now();
        let answer = self.inner.commit(commit).await;
        if answer.is_ok() {
            self.counts.took.took(since.elapsed());
        }
        self.counts.ends[CommitEnd::of(&answer) as usize].one();
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_a_place_of_its_own() {
        for (at, end) in CommitEnd::ALL.into_iter().enumerate() {
            assert_eq!(end as usize, at, "{}", end.name());
        }
    }
}
