//! The Blobs port: immutable bytes by their content.

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncRead;

use super::store::StoreFault;

/// The namespace of content: owner and Session. Deleting a Session deletes its scope. What is in no Session (an uploaded file) has a
/// scope of its own, under an id of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobScope {
    /// Owner namespace (lower-case base32).
    pub owner: String,
    /// Session id, or the id of what else the scope belongs to.
    pub session: String,
}

/// Names immutable bytes by their content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlobRef {
    /// Lower-case hex.
    pub sha256: String,
    /// Exact length.
    pub size_bytes: u64,
}

/// Bytes to store.
pub enum BlobSource {
    /// In memory.
    Bytes(Bytes),
    /// A stream of at most `limit_bytes`; one more byte is [`BlobError::TooLarge`] and nothing is kept.
    Stream {
        /// Where the bytes come from.
        from: Box<dyn AsyncRead + Send + Unpin>,
        /// The most it may yield.
        limit_bytes: u64,
    },
}

/// Why a blob call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// There is no such blob.
    #[error("no stored bytes with digest {0}")]
    Missing(String),
    /// What was read back does not have its digest or length.
    #[error("stored bytes with digest {0} are damaged")]
    Corrupt(String),
    /// The stream had more bytes than allowed.
    #[error("more than {limit_bytes} bytes")]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// The source failed while it was read; nothing was kept.
    #[error("the source could not be read: {0}")]
    Source(String),
    /// Passing trouble: nothing is promised to be stored; put again.
    #[error("the blob store is unavailable: {0}")]
    Unavailable(String),
    /// The request breaks the port's rules (a scope that can't be a name): our fault. Nothing was kept.
    #[error("the blob request breaks the store's rules: {0}")]
    Invalid(String),
    /// An operator must act (disk full, read-only).
    #[error("{message}")]
    Broken {
        /// What is wrong.
        fault: StoreFault,
        /// In words.
        message: String,
    },
}

/// Immutable bytes by content, under owner and Session. Once `put` answers, the bytes survive power loss.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Stores bytes if they are absent; the same bytes in the same scope are stored once.
    async fn put(&self, scope: &BlobScope, source: BlobSource) -> Result<BlobRef, BlobError>;

    /// All bytes, verified. For content known to be small.
    async fn get(&self, scope: &BlobScope, blob: &BlobRef) -> Result<Bytes, BlobError>;

    /// A stream of the bytes from `offset`. Read whole (offset 0), a digest mismatch surfaces as an error at its end.
    async fn open(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
        offset: u64,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>, BlobError>;

    /// Whether the bytes are there (no digest check).
    async fn has(&self, scope: &BlobScope, blob: &BlobRef) -> Result<bool, BlobError>;

    /// Removes one blob that nobody stored since `before_ms` (Unix ms), which must be long past; whether it did. Whoever stores the same
    /// bytes at this moment keeps them.
    async fn remove(
        &self,
        scope: &BlobScope,
        sha256: &str,
        before_ms: u64,
    ) -> Result<bool, BlobError>;

    /// Removes everything in the scope. Repeating it, or resuming it after a crash, is fine.
    async fn delete_scope(&self, scope: &BlobScope) -> Result<(), BlobError>;
}
