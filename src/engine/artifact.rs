//! An Artifact: immutable bytes of one output file of one Turn.

use serde::{Deserialize, Serialize};

use super::ports::BlobRef;

/// Row `artifact/<turn>/<n>`. It may exist before its Turn ends; it is visible once the Turn's row counts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRow {
    /// Absolute path as the agent saw it.
    pub path: String,
    /// Its bytes.
    pub blob: BlobRef,
    /// The environment it was made in.
    pub environment: String,
    /// Captured at. Unix ms.
    pub at_ms: u64,
}

/// The number in an Artifact's id: Turn and position.
pub fn id_number(turn: u64, n: u64) -> u64 {
    (turn << 16) | n
}

/// Turn and position of an Artifact's id number.
pub fn of_id_number(number: u64) -> (u64, u64) {
    (number >> 16, number & 0xffff)
}
