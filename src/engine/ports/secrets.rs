//! The Secrets port: values that are written once and read only by who needs them to work.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::blobs::BlobScope;
use super::store::StoreFault;
use crate::api::Secret;

/// Names a stored value and says nothing about it, but perhaps how long it is. Only the store that made it can read it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretRef(pub String);

/// Why a value could not be stored, read or erased. No message holds one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// There is no such value in this scope.
    #[error("there is no stored value {0}")]
    Missing(String),
    /// It is there and can't be read: damaged, sealed with another key, or moved here from another scope.
    #[error("the stored value {0} can't be unsealed")]
    Sealed(String),
    /// Passing trouble: nothing is promised to be stored or erased; try again.
    #[error("the store of secrets is unavailable: {0}")]
    Unavailable(String),
    /// An operator must act.
    #[error("{message}")]
    Broken {
        /// What is wrong.
        fault: StoreFault,
        /// In words, with the way out.
        message: String,
    },
    /// The request breaks the port's rules (a scope that can't be a name): our fault. Nothing was stored.
    #[error("the request breaks the rules of the store of secrets: {0}")]
    Invalid(String),
}

/// Write-only values by reference. A value belongs to a scope, cannot be read in another one, and is erased with it. Once `put`
/// answers, it survives power loss.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// Stores a value. The same value stored twice has two references, of which neither tells that.
    async fn put(&self, scope: &BlobScope, value: &Secret) -> Result<SecretRef, SecretError>;

    /// The value.
    async fn get(&self, scope: &BlobScope, at: &SecretRef) -> Result<Secret, SecretError>;

    /// Erases everything in the scope. Repeating it, or resuming it after a crash, is fine.
    async fn erase(&self, scope: &BlobScope) -> Result<(), SecretError>;
}
