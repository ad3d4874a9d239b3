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

/// Bytes that a store keeps beside its rows, for rows that are no more, or never came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Of the rows.
    pub partition: String,
    /// What the store calls them.
    pub name: String,
    /// As stored.
    pub size_bytes: u64,
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

    /// Some of the bytes that the store keeps beside its rows and that no row names, if they were stored before then (Unix ms), and behind
    /// which name to go on. `None`: there are none behind `after`. A store that keeps values in its rows has none at all.
    async fn leftovers(
        &self,
        after: &str,
        before_ms: u64,
    ) -> Result<Option<(Vec<Leftover>, String)>, StoreError> {
        let _ = (after, before_ms);
        Ok(None)
    }

    /// Removes bytes that were left over, unless somebody stored them since `before_ms` (Unix ms); whether it did.
    async fn remove_leftover(
        &self,
        leftover: &Leftover,
        before_ms: u64,
    ) -> Result<bool, BlobError> {
        let _ = (leftover, before_ms);
        Ok(false)
    }
}
