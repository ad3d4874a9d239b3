//! The two ends of an archive, as the engine sees them: entries with a name and a length, one after the other.

use async_trait::async_trait;
use bytes::Bytes;

use super::error::ArchiveError;

/// How an entry begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryHead {
    /// Its name; whatever the archive says.
    pub name: String,
    /// How long it claims to be. The source yields exactly so many bytes, or fails.
    pub size_bytes: u64,
}

/// Where an archive is written to. Nothing of it is an archive before [`ArchiveSink::finish`] answers.
#[async_trait]
pub trait ArchiveSink: Send {
    /// Keeps bytes aside, behind those that were kept before: what is known only in the end may have to come first.
    async fn keep(&mut self, bytes: Bytes) -> Result<(), ArchiveError>;

    /// Forgets what was kept aside.
    async fn forget_kept(&mut self) -> Result<(), ArchiveError>;

    /// Begins an entry that will have exactly so many bytes.
    async fn begin(&mut self, name: &str, size_bytes: u64) -> Result<(), ArchiveError>;

    /// Adds bytes to the entry.
    async fn write(&mut self, bytes: Bytes) -> Result<(), ArchiveError>;

    /// Adds to the entry the next so many bytes of those that were kept aside.
    async fn write_kept(&mut self, size_bytes: u64) -> Result<(), ArchiveError>;

    /// Ends the archive.
    async fn finish(&mut self) -> Result<(), ArchiveError>;
}

/// Where an archive is read from, from its beginning.
#[async_trait]
pub trait ArchiveSource: Send {
    /// The next entry; what is left of the one before it must have been read. `None` when the archive ends as it must.
    async fn next(&mut self) -> Result<Option<EntryHead>, ArchiveError>;

    /// The next bytes of the entry, some hundred KiB at most; none at its end.
    async fn read(&mut self) -> Result<Bytes, ArchiveError>;
}
