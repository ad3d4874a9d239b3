//! What a world keeps outside of its programs: rows, bytes and values. They are in memory, unless whoever calls a test says otherwise: the
//! same tests run over an account (`tests/it/aws/journey`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use rat_things::backend::memory::MemoryStore;
use rat_things::backend::memory::blobs::MemoryBlobs;
use rat_things::backend::memory::secrets::MemorySecrets;
use rat_things::engine::ports::{BlobScope, Blobs, Record, Secrets, Store};

/// A store that shows all it has.
pub trait Rows: Store {
    /// Every row there is, in order.
    fn records(&self) -> Vec<Record>;
}

/// Blobs that show all they have.
pub trait Shelves: Blobs {
    /// What is stored in a scope, by digest.
    fn stored(&self, scope: &BlobScope) -> BTreeMap<String, Bytes>;

    /// Bytes stored in all scopes.
    fn stored_bytes(&self) -> u64;
}

/// Sealed values that can be counted and taken away.
pub trait Values: Secrets {
    /// How many values are stored.
    fn count(&self) -> usize;

    /// From now on nothing works, or everything does again.
    fn be_away(&self, away: bool);
}

/// See the module.
#[derive(Clone)]
pub struct Ground {
    /// Where records are.
    pub rows: Arc<dyn Rows>,
    /// Where bytes are.
    pub shelves: Arc<dyn Shelves>,
    /// Where sealed values are.
    pub values: Arc<dyn Values>,
    /// What its clock shows when a world begins, in Unix ms.
    pub began_ms: u64,
    /// What ids come from. Commits of two worlds in one account have no id in common.
    pub seed: u64,
}

impl Ground {
    /// A new one for the test of this thread.
    pub fn here() -> Ground {
        MAKE.with_borrow(|make| match make {
            Some(make) => make(),
            None => Ground::over(MemoryStore::new()),
        })
    }

    /// In memory, with this store; for tests whose store fails by itself.
    pub fn over(store: MemoryStore) -> Ground {
        Ground {
            rows: Arc::new(store),
            shelves: Arc::new(MemoryBlobs::new()),
            values: Arc::new(MemorySecrets::new()),
            began_ms: 1_780_000_000_000,
            seed: 1,
        }
    }
}

type Make = fn() -> Ground;

thread_local! {
    static MAKE: RefCell<Option<Make>> = const { RefCell::new(None) };
}

/// Calls a test whose worlds stand on what `make` makes.
pub fn standing_on(make: Make, test: impl FnOnce()) {
    // The thread is this test's own and ends with it.
    MAKE.replace(Some(make));
    test();
    MAKE.replace(None);
}

impl Rows for MemoryStore {
    fn records(&self) -> Vec<Record> {
        MemoryStore::records(self)
    }
}

impl Shelves for MemoryBlobs {
    fn stored(&self, scope: &BlobScope) -> BTreeMap<String, Bytes> {
        MemoryBlobs::stored(self, scope)
    }

    fn stored_bytes(&self) -> u64 {
        MemoryBlobs::stored_bytes(self)
    }
}

impl Values for MemorySecrets {
    fn count(&self) -> usize {
        MemorySecrets::count(self)
    }

    fn be_away(&self, away: bool) {
        MemorySecrets::be_away(self, away);
    }
}
