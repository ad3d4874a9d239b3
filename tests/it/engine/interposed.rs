//! A store in which something happens just when somebody reads: races, made to order.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys;
use rat_things::engine::ports::{Commit, Committed, Key, Page, Range, Record, Store, StoreError};

/// What happens.
pub type Hook = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// A store in which something happens before the rows of a Session are listed for the first time.
pub struct Interposed {
    store: Arc<dyn Store>,
    partition: String,
    hook: Mutex<Option<Hook>>,
}

impl Interposed {
    /// Over this store, when the rows of this Session are listed.
    pub fn new(store: Arc<dyn Store>, session: &SessionId, hook: Hook) -> Interposed {
        Interposed {
            store,
            partition: keys::session_partition(session),
            hook: Mutex::new(Some(hook)),
        }
    }
}

#[async_trait]
impl Store for Interposed {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.store.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.store.get_many(keys).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        if range.partition == self.partition {
            let hook = self.hook.lock().expect("no test panics with it").take();
            if let Some(hook) = hook {
                hook().await;
            }
        }
        self.store.range(range).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.store.commit(commit).await
    }
}
