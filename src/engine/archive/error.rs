//! Why an archive was not written or not imported.

use crate::engine::error::EngineError;
use crate::engine::ports::{BlobError, StoreError};

/// What went wrong with an archive.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArchiveError {
    /// The archive is not what an export writes. Whoever has it must get a whole one; nothing was imported.
    #[error("the archive is refused: {why}")]
    Refused {
        /// What is wrong with which part of it.
        why: String,
    },
    /// The archive can't be read now; nothing more was imported.
    #[error("the archive can't be read: {0}")]
    Unreadable(String),
    /// The archive can't be written; what was written of it is no archive.
    #[error("the archive can't be written: {0}")]
    Unwritable(String),
    /// The engine refused, or could not do it.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl ArchiveError {
    /// A refusal of the archive.
    pub fn refused(why: impl Into<String>) -> ArchiveError {
        ArchiveError::Refused { why: why.into() }
    }
}

impl From<StoreError> for ArchiveError {
    fn from(error: StoreError) -> ArchiveError {
        ArchiveError::Engine(error.into())
    }
}

impl From<BlobError> for ArchiveError {
    fn from(error: BlobError) -> ArchiveError {
        ArchiveError::Engine(error.into())
    }
}
