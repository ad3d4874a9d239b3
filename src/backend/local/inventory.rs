//! What is in a data directory: the partitions of its store, and its blobs.

use std::sync::Arc;

use async_trait::async_trait;

use super::blobs::LocalBlobs;
use super::store::SqliteStore;
use crate::engine::fsck::{Inventory, StoredBlob};
use crate::engine::ports::{BlobError, BlobScope, Blobs, StoreError};

/// The Inventory of the local world.
pub struct LocalInventory {
    store: Arc<SqliteStore>,
    blobs: LocalBlobs,
}

impl LocalInventory {
    /// Of this store and these blobs.
    pub fn new(store: Arc<SqliteStore>, blobs: LocalBlobs) -> LocalInventory {
        LocalInventory { store, blobs }
    }
}

#[async_trait]
impl Inventory for LocalInventory {
    async fn partitions(&self, after: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        self.store.partitions(after, limit).await
    }

    async fn scopes(&self) -> Result<Vec<BlobScope>, BlobError> {
        self.blobs.scopes().await
    }

    async fn blobs(&self, scope: &BlobScope) -> Result<Vec<StoredBlob>, BlobError> {
        self.blobs.stored(scope).await
    }

    async fn remove_blob(
        &self,
        scope: &BlobScope,
        sha256: &str,
        before_ms: u64,
    ) -> Result<bool, BlobError> {
        self.blobs.remove(scope, sha256, before_ms).await
    }
}
