//! Writing an archive.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;

use super::{BLOCK_BYTES, STEP_BYTES, padding};
use crate::backend::local::ids;
use crate::engine::archive::{ArchiveError, ArchiveSink};

/// How hard it tries: as fast as a disk, and text becomes a third or less.
const LEVEL: i32 = 3;

/// An archive on its way into a file. The file is whole once [`ArchiveSink::finish`] has answered; syncing and naming it are the
/// caller's.
pub struct TarZstdWriter(Option<Writing>);

struct Writing {
    to: zstd::Encoder<'static, File>,
    /// What was kept aside; it has no name, and is gone when it is closed.
    kept: File,
    kept_read_bytes: u64,
    /// Of the entry that was begun.
    left_bytes: u64,
    padding: usize,
}

impl TarZstdWriter {
    /// An archive that is written to `to`. What has to be kept aside is, in the directory `aside`.
    ///
    /// # Errors
    /// The directory can't be written.
    pub fn new(to: File, aside: &Path) -> io::Result<TarZstdWriter> {
        let mut to = zstd::Encoder::new(to, LEVEL)?;
        to.include_checksum(true)?;
        Ok(TarZstdWriter(Some(Writing {
            to,
            kept: unnamed_file(aside)?,
            kept_read_bytes: 0,
            left_bytes: 0,
            padding: 0,
        })))
    }

    /// Does a step of the work on a thread that may block.
    async fn step(
        &mut self,
        work: impl FnOnce(&mut Writing) -> io::Result<()> + Send + 'static,
    ) -> Result<(), ArchiveError> {
        let unwritable = |why: String| ArchiveError::Unwritable(why);
        let mut writing = self
            .0
            .take()
            .ok_or_else(|| unwritable("an earlier step failed".to_owned()))?;
        let done = tokio::task::spawn_blocking(move || work(&mut writing).map(|()| writing));
        let writing = done.await.map_err(|error| unwritable(error.to_string()))?;
        self.0 = Some(writing.map_err(|error| unwritable(error.to_string()))?);
        Ok(())
    }
}

#[async_trait]
impl ArchiveSink for TarZstdWriter {
    async fn keep(&mut self, bytes: Bytes) -> Result<(), ArchiveError> {
        self.step(move |writing| writing.kept.write_all(&bytes))
            .await
    }

    async fn forget_kept(&mut self) -> Result<(), ArchiveError> {
        self.step(|writing| {
            writing.kept.set_len(0)?;
            writing.kept.seek(SeekFrom::Start(0)).map(drop)
        })
        .await
    }

    async fn begin(&mut self, name: &str, size_bytes: u64) -> Result<(), ArchiveError> {
        let name = name.to_owned();
        self.step(move |writing| writing.begin(&name, size_bytes))
            .await
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), ArchiveError> {
        self.step(move |writing| writing.write(&bytes)).await
    }

    async fn write_kept(&mut self, size_bytes: u64) -> Result<(), ArchiveError> {
        self.step(move |writing| writing.write_kept(size_bytes))
            .await
    }

    async fn finish(&mut self) -> Result<(), ArchiveError> {
        self.step(|writing| {
            writing.end_entry()?;
            writing.to.write_all(&[0; 2 * BLOCK_BYTES])?;
            writing.to.do_finish()?;
            writing.to.get_mut().flush()
        })
        .await
    }
}

impl Writing {
    fn begin(&mut self, name: &str, size_bytes: u64) -> io::Result<()> {
        self.end_entry()?;
        let mut header = tar::Header::new_ustar();
        header.set_path(name)?;
        header.set_size(size_bytes);
        header.set_mode(0o600);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        self.to.write_all(header.as_bytes())?;
        self.left_bytes = size_bytes;
        self.padding = padding(size_bytes);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let left_bytes = self.left_bytes.checked_sub(bytes.len() as u64);
        self.left_bytes =
            left_bytes.ok_or_else(|| io::Error::other("an entry became longer than it was"))?;
        self.to.write_all(bytes)
    }

    fn write_kept(&mut self, size_bytes: u64) -> io::Result<()> {
        self.kept.seek(SeekFrom::Start(self.kept_read_bytes))?;
        let mut space = vec![0; STEP_BYTES];
        let mut left_bytes = size_bytes;
        while left_bytes > 0 {
            let some = usize::try_from(left_bytes.min(STEP_BYTES as u64)).unwrap_or(STEP_BYTES);
            self.kept.read_exact(&mut space[..some])?;
            self.write(&space[..some])?;
            left_bytes -= some as u64;
        }
        self.kept_read_bytes += size_bytes;
        Ok(())
    }

    fn end_entry(&mut self) -> io::Result<()> {
        if self.left_bytes > 0 {
            return Err(io::Error::other("an entry became shorter than it was"));
        }
        let zeros = [0; BLOCK_BYTES];
        self.to
            .write_all(&zeros[..std::mem::take(&mut self.padding)])
    }
}

/// A file of mode 0600 that has no name any more.
fn unnamed_file(dir: &Path) -> io::Result<File> {
    let mut name = [0; 16];
    ids::fill(&mut name);
    let path = dir.join(format!(".{}.aside", data_encoding::HEXLOWER.encode(&name)));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}
