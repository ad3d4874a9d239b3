//! What a harness kept of its own travels as long as it is whole. It is a cache: no Session stays behind for it.

use std::collections::BTreeMap;

use crate::engine::checkpoint::CheckpointRow;
use crate::engine::core::{Core, decode};
use crate::engine::error::EngineError;
use crate::engine::ports::{BlobRef, BlobScope, Record};

impl Core {
    /// Why a checkpoint can't travel, if it can't: its row can't be read, or bytes that it names are missing or damaged. All of them are read.
    ///
    /// # Errors
    /// Whether they are there can't be told now.
    pub(super) async fn harm_to_checkpoint(
        &self,
        scope: &BlobScope,
        record: &Record,
    ) -> Result<Option<String>, EngineError> {
        let row: CheckpointRow = match decode(record) {
            Ok(row) => row,
            Err(EngineError::Damaged { why, .. }) => return Ok(Some(why)),
            Err(error) => return Err(error),
        };
        let blobs = row.checkpoint.blobs.iter();
        let named: BTreeMap<&str, &BlobRef> =
            blobs.map(|blob| (blob.sha256.as_str(), blob)).collect();
        for (sha256, blob) in named {
            if let Some(problem) = self.blob_problem(scope, blob).await? {
                return Ok(Some(format!("bytes with the digest {sha256} {problem}")));
            }
        }
        Ok(None)
    }
}
