//! The Courier port: carries notifications out.

use async_trait::async_trait;
use bytes::Bytes;

/// One notification to one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// Stable over all attempts.
    pub delivery_id: String,
    /// Where to.
    pub destination: String,
    /// The same bytes in every attempt.
    pub body: Bytes,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The destination confirmed it.
    Delivered,
    /// It provably did not arrive, or was refused.
    Failed {
        /// In words.
        message: String,
        /// Whether another attempt may succeed.
        retryable: bool,
    },
    /// It may have arrived. Never repeated by itself.
    Uncertain(String),
}

/// Carries results out.
#[async_trait]
pub trait Courier: Send + Sync {
    /// One attempt.
    async fn send(&self, parcel: &Parcel) -> Sent;
}
