//! A harness's own state at one moment, as it is kept beside the journal: a cache that may be missing at any time.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::blobs::{BlobError, BlobRef, BlobScope, Blobs};

/// What is kept. The engine knows where the bytes are and nothing of what they mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Name of the harness whose state it is.
    pub harness: String,
    /// Version of the program that wrote the bytes; another one need not be able to read them.
    pub version: String,
    /// What the harness needs to make something of the bytes. Small.
    pub manifest: Value,
    /// The bytes, in an order that means something to the harness. The same may be there twice.
    pub blobs: Vec<BlobRef>,
}

/// A checkpoint that a harness just took. It holds everything that the harness reported and was given before.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenCheckpoint {
    /// What is to be kept. Its blobs are among `new`, or among those of the checkpoint that the harness was given.
    pub checkpoint: Checkpoint,
    /// Bytes that are to be stored.
    pub new: Vec<Bytes>,
    /// How many [`Steer::Answer`](super::Steer::Answer)s of this task are in it: all that were handed over, or it is not kept.
    pub answers: usize,
}

/// The checkpoint that was kept last, for whoever goes on.
#[derive(Clone)]
pub struct SavedCheckpoint {
    /// As it was kept.
    pub checkpoint: Checkpoint,
    /// Places of the entries of the task's history that it does not hold, oldest first. A call that it holds may have ended since: its entry says how.
    pub later: Vec<usize>,
    /// Where its bytes are.
    pub scope: BlobScope,
    /// What they are read from.
    pub bytes: Arc<dyn Blobs>,
}

impl SavedCheckpoint {
    /// Reads some of its bytes, verified.
    pub async fn read(&self, blob: &BlobRef) -> Result<Bytes, BlobError> {
        self.bytes.get(&self.scope, blob).await
    }
}
