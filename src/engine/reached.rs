//! A store that knows when it was reached last: whoever can't reach it for long works for nobody.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::ports::{Commit, Committed, Key, Page, Range, Record, Store, StoreError};

/// Another store, whose answers are noted.
pub struct Reached {
    inner: Arc<dyn Store>,
    last: Mutex<Instant>,
}

impl Reached {
    /// Over this store, which counts as reached now.
    pub fn new(inner: Arc<dyn Store>) -> Reached {
        Reached {
            inner,
            last: Mutex::new(Instant::now()),
        }
    }

    /// How long ago it answered last.
    pub fn silent_for(&self) -> Duration {
        self.last().elapsed()
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note<T>(&self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        match &answer {
            // A refusal is an answer, too.
            Ok(_)
            | Err(StoreError::Conflict(_) | StoreError::Throttled | StoreError::Invalid(_)) => {
                *self.last() = Instant::now();
            }
            // Who may not use it any more is as good as cut off.
            Err(
                StoreError::Unavailable(_) | StoreError::Unknown(_) | StoreError::Broken { .. },
            ) => {}
        }
        answer
    }
}

#[async_trait]
impl Store for Reached {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.note(self.inner.get(key).await)
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.note(self.inner.get_many(keys).await)
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        self.note(self.inner.range(range).await)
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.note(self.inner.commit(commit).await)
    }
}
