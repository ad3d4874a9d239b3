//! What a store and its blobs can list, beside their ports: only a check of everything needs it.

use async_trait::async_trait;

use crate::engine::ports::{BlobError, BlobScope, StoreError};

/// Bytes as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// Of what the bytes should be: their name.
    pub sha256: String,
    /// As stored.
    pub size_bytes: u64,
    /// Last stored, by whoever stored the same bytes last. Unix ms.
    pub written_ms: u64,
}

/// Lists everything.
#[async_trait]
pub trait Inventory: Send + Sync {
    /// Partitions that have rows, in order, behind `after`, at most `limit`.
    async fn partitions(&self, after: &str, limit: usize) -> Result<Vec<String>, StoreError>;

    /// Scopes that have bytes.
    async fn scopes(&self) -> Result<Vec<BlobScope>, BlobError>;

    /// The bytes of a scope; none if there is no such scope.
    async fn blobs(&self, scope: &BlobScope) -> Result<Vec<StoredBlob>, BlobError>;

    /// Removes bytes that nobody stored since `before_ms` (Unix ms); whether it did. Whoever stores the same bytes at this moment keeps
    /// them.
    async fn remove_blob(
        &self,
        scope: &BlobScope,
        sha256: &str,
        before_ms: u64,
    ) -> Result<bool, BlobError>;
}
