//! A table, a bucket and a place for values under a world whose time stands still.
//!
//! The surprise: a test's time goes on when its runtime has nothing to do, and then it goes as far as somebody waits, so that a request on a
//! socket of that runtime would be too late in no time. Requests are sent in another runtime, whose time is real, and whoever waits for one
//! occupies a thread of the test's: while such a thread is at work, its time does not go on.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use rat_things::api::Secret;
use rat_things::backend::aws::blobs::S3Blobs;
use rat_things::backend::aws::client::AwsClients;
use rat_things::backend::aws::inventory::AwsInventory;
use rat_things::backend::aws::secrets::ManagedSecrets;
use rat_things::backend::aws::store::DynamoStore;
use rat_things::backend::local::clock::SystemClock;
use rat_things::engine::fsck::{Inventory, StoredBlob};
use rat_things::engine::ports::{
    BlobError, BlobRef, BlobScope, BlobSource, Blobs, Clock, Commit, Committed, Key, Page, Range,
    Record, SecretError, SecretRef, Secrets, Store, StoreError,
};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::runtime::{Builder, Runtime};

use crate::aws::emulators::Place;
use crate::aws::{place, sound};
use crate::engine::ground::{Ground, Rows, Shelves, Values};

/// A table and a bucket of its own.
pub(super) fn account() -> Ground {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let Place {
        places, clients, ..
    } = place();
    let inventory = Arc::new(AwsInventory::new(&clients, &places));
    let values = ManagedSecrets::new(&clients, &places.table, &places.bucket);
    Ground {
        rows: Arc::new(AccountRows {
            store: Arc::new(DynamoStore::new(&clients, &places)),
            inventory: inventory.clone(),
        }),
        shelves: Arc::new(AccountShelves {
            blobs: Arc::new(S3Blobs::new(&clients, &places)),
            inventory,
        }),
        values: Arc::new(AccountValues {
            secrets: Arc::new(values),
            clients,
            deployment: places.table,
            away: AtomicBool::new(false),
        }),
        // S3 says itself when something was stored.
        began_ms: SystemClock.now_ms(),
        seed: SEED.fetch_add(1, Ordering::Relaxed),
    }
}

/// Where requests are sent.
fn network() -> &'static Runtime {
    static NETWORK: OnceLock<Runtime> = OnceLock::new();
    NETWORK.get_or_init(|| {
        let mut network = Builder::new_multi_thread();
        network
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime")
    })
}

/// What comes of work of the network. It goes on if nobody waits any more, as what was sent does.
async fn sent<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let work = network().spawn(work);
    tokio::task::spawn_blocking(move || network().block_on(work))
        .await
        .expect("a thread")
        .expect("no port panics")
}

/// The same for a look in between: the whole test stands still.
fn seen<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let (tell, told) = std::sync::mpsc::channel();
    network().spawn(async move { tell.send(work.await) });
    told.recv().expect("no port panics")
}

struct AccountRows {
    store: Arc<DynamoStore>,
    inventory: Arc<AwsInventory>,
}

#[async_trait]
impl Store for AccountRows {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        let (store, key) = (self.store.clone(), key.clone());
        sent(async move { store.get(&key).await }).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        let (store, keys) = (self.store.clone(), keys.to_vec());
        sent(async move { store.get_many(&keys).await }).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        let (store, range) = (self.store.clone(), range.clone());
        sent(async move { store.range(&range).await }).await
    }

    async fn keys(&self, range: &Range) -> Result<(Vec<Key>, bool), StoreError> {
        let (store, range) = (self.store.clone(), range.clone());
        sent(async move { store.keys(&range).await }).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let store = self.store.clone();
        sent(async move { store.commit(commit).await }).await
    }
}

impl Rows for AccountRows {
    fn records(&self) -> Vec<Record> {
        let (store, inventory) = (self.store.clone(), self.inventory.clone());
        seen(async move {
            let partitions = inventory.partitions("", usize::MAX).await;
            let mut records = Vec::new();
            for partition in partitions.expect("a list") {
                records.extend(sound::partition(&*store, partition).await);
            }
            records
        })
    }
}

struct AccountShelves {
    blobs: Arc<S3Blobs>,
    inventory: Arc<AwsInventory>,
}

#[async_trait]
impl Blobs for AccountShelves {
    async fn put(&self, scope: &BlobScope, source: BlobSource) -> Result<BlobRef, BlobError> {
        let (blobs, scope) = (self.blobs.clone(), scope.clone());
        sent(async move { blobs.put(&scope, source).await }).await
    }

    async fn get(&self, scope: &BlobScope, blob: &BlobRef) -> Result<Bytes, BlobError> {
        let (blobs, scope, blob) = (self.blobs.clone(), scope.clone(), blob.clone());
        sent(async move { blobs.get(&scope, &blob).await }).await
    }

    async fn open(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
        offset: u64,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>, BlobError> {
        let (blobs, scope, blob) = (self.blobs.clone(), scope.clone(), blob.clone());
        // Whoever reads does not wait for the network: all of it is here first.
        let read = sent(async move {
            let (mut from, mut bytes) = (blobs.open(&scope, &blob, offset).await?, Vec::new());
            let read = from.read_to_end(&mut bytes).await;
            read.map_err(|error| BlobError::Unavailable(error.to_string()))?;
            Ok(bytes)
        });
        Ok(Box::new(std::io::Cursor::new(read.await?)))
    }

    async fn has(&self, scope: &BlobScope, blob: &BlobRef) -> Result<bool, BlobError> {
        let (blobs, scope, blob) = (self.blobs.clone(), scope.clone(), blob.clone());
        sent(async move { blobs.has(&scope, &blob).await }).await
    }

    async fn remove(
        &self,
        scope: &BlobScope,
        sha256: &str,
        before_ms: u64,
    ) -> Result<bool, BlobError> {
        let (blobs, scope, sha256) = (self.blobs.clone(), scope.clone(), sha256.to_owned());
        sent(async move { blobs.remove(&scope, &sha256, before_ms).await }).await
    }

    async fn delete_scope(&self, scope: &BlobScope) -> Result<(), BlobError> {
        let (blobs, scope) = (self.blobs.clone(), scope.clone());
        sent(async move { blobs.delete_scope(&scope).await }).await
    }
}

impl Shelves for AccountShelves {
    fn stored(&self, scope: &BlobScope) -> BTreeMap<String, Bytes> {
        let (blobs, inventory) = (self.blobs.clone(), self.inventory.clone());
        let scope = scope.clone();
        seen(async move {
            let mut stored = BTreeMap::new();
            for StoredBlob {
                sha256, size_bytes, ..
            } in inventory.blobs(&scope).await.expect("a list")
            {
                let blob = BlobRef { sha256, size_bytes };
                let bytes = blobs.get(&scope, &blob).await.expect("its bytes");
                stored.insert(blob.sha256, bytes);
            }
            stored
        })
    }

    fn stored_bytes(&self) -> u64 {
        let inventory = self.inventory.clone();
        seen(async move {
            let mut bytes = 0;
            for scope in inventory.scopes().await.expect("a list") {
                let blobs = inventory.blobs(&scope).await.expect("a list");
                bytes += blobs.iter().map(|blob| blob.size_bytes).sum::<u64>();
            }
            bytes
        })
    }
}

struct AccountValues {
    secrets: Arc<ManagedSecrets>,
    clients: AwsClients,
    deployment: String,
    away: AtomicBool,
}

impl AccountValues {
    fn there(&self) -> Result<Arc<ManagedSecrets>, SecretError> {
        match self.away.load(Ordering::SeqCst) {
            false => Ok(self.secrets.clone()),
            true => Err(SecretError::Unavailable("away".into())),
        }
    }
}

#[async_trait]
impl Secrets for AccountValues {
    async fn put(&self, scope: &BlobScope, value: &Secret) -> Result<SecretRef, SecretError> {
        let (secrets, scope, value) = (self.there()?, scope.clone(), value.clone());
        sent(async move { secrets.put(&scope, &value).await }).await
    }

    async fn get(&self, scope: &BlobScope, at: &SecretRef) -> Result<Secret, SecretError> {
        let (secrets, scope, at) = (self.there()?, scope.clone(), at.clone());
        sent(async move { secrets.get(&scope, &at).await }).await
    }

    async fn erase(&self, scope: &BlobScope) -> Result<(), SecretError> {
        let (secrets, scope) = (self.there()?, scope.clone());
        sent(async move { secrets.erase(&scope).await }).await
    }
}

impl Values for AccountValues {
    fn count(&self) -> usize {
        let (client, ours) = (self.clients.secrets(), format!("{}/", self.deployment));
        seen(async move {
            let mut pages = client.list_secrets().into_paginator().send();
            let mut count = 0;
            while let Some(page) = pages.next().await {
                let page = page.expect("a list");
                let names = page.secret_list().iter().filter_map(|secret| secret.name());
                count += names.filter(|name| name.starts_with(&ours)).count();
            }
            count
        })
    }

    fn be_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }
}
