//! Reading an archive, strictly.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;

use super::{BLOCK_BYTES, STEP_BYTES, padding};
use crate::engine::archive::{ArchiveError, ArchiveSource, EntryHead};

/// Memory that a frame may ask for, as a power of two of bytes; an export asks for less.
const WINDOW_LOG: u32 = 23;
/// Zeros that may stand behind the last entry; tools fill up to 10 KiB.
const TAIL_MAX_BYTES: u64 = 64 << 10;

/// An archive that is read from a file, from its beginning.
pub struct TarZstdReader(Option<Reading>);

struct Reading {
    from: zstd::Decoder<'static, BufReader<File>>,
    /// Of the entry that was begun.
    left_bytes: u64,
    padding: usize,
    ended: bool,
}

impl TarZstdReader {
    /// Opens a file.
    ///
    /// # Errors
    /// It can't be opened, or is no plain file.
    pub fn open(path: &Path) -> io::Result<TarZstdReader> {
        use std::os::unix::fs::OpenOptionsExt;
        // Opening a pipe must not wait for somebody who writes to it.
        let file = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a plain file",
            ));
        }
        let mut from = zstd::Decoder::new(file)?.single_frame();
        from.window_log_max(WINDOW_LOG)?;
        Ok(TarZstdReader(Some(Reading {
            from,
            left_bytes: 0,
            padding: 0,
            ended: false,
        })))
    }

    /// Does a step of the work on a thread that may block.
    async fn step<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Reading) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, ArchiveError> {
        let unreadable = |why: String| ArchiveError::Unreadable(why);
        let mut reading = self
            .0
            .take()
            .ok_or_else(|| unreadable("an earlier step failed".to_owned()))?;
        let done = tokio::task::spawn_blocking(move || work(&mut reading).map(|t| (t, reading)));
        let (answer, reading) = done
            .await
            .map_err(|error| unreadable(error.to_string()))??;
        self.0 = Some(reading);
        Ok(answer)
    }
}

#[async_trait]
impl ArchiveSource for TarZstdReader {
    async fn next(&mut self) -> Result<Option<EntryHead>, ArchiveError> {
        self.step(Reading::next).await
    }

    async fn read(&mut self) -> Result<Bytes, ArchiveError> {
        self.step(Reading::read).await
    }
}

impl Reading {
    fn next(&mut self) -> Result<Option<EntryHead>, ArchiveError> {
        if self.ended {
            return Ok(None);
        }
        while !self.read()?.is_empty() {}
        let mut filler = [0; BLOCK_BYTES];
        let filler = &mut filler[..std::mem::take(&mut self.padding)];
        self.exactly(filler)?;
        let mut block = [0; BLOCK_BYTES];
        self.exactly(&mut block)?;
        if filler.iter().any(|b| *b != 0) {
            return Err(ArchiveError::refused(
                "there is something between two entries",
            ));
        }
        if block.iter().all(|b| *b == 0) {
            self.tail()?;
            self.ended = true;
            return Ok(None);
        }
        let head = entry_head(&block)?;
        self.left_bytes = head.size_bytes;
        self.padding = padding(head.size_bytes);
        Ok(Some(head))
    }

    fn read(&mut self) -> Result<Bytes, ArchiveError> {
        let some = usize::try_from(self.left_bytes.min(STEP_BYTES as u64)).unwrap_or(STEP_BYTES);
        let mut bytes = vec![0; some];
        self.exactly(&mut bytes)?;
        self.left_bytes -= some as u64;
        Ok(bytes.into())
    }

    /// Behind the last entry: zeros, the end of the frame, and the end of the file.
    fn tail(&mut self) -> Result<(), ArchiveError> {
        let mut block = [0; BLOCK_BYTES];
        self.exactly(&mut block)?;
        let mut zeros = vec![0; 4 << 10];
        let mut tail_bytes = 0;
        let mut clean = block.iter().all(|b| *b == 0);
        while clean && tail_bytes <= TAIL_MAX_BYTES {
            let read = self.from.read(&mut zeros).map_err(|error| failed(&error))?;
            if read == 0 {
                break;
            }
            clean = zeros[..read].iter().all(|b| *b == 0);
            tail_bytes += read as u64;
        }
        let file = self.from.get_mut();
        let behind = file.fill_buf().map_err(|error| failed(&error))?;
        match clean && tail_bytes <= TAIL_MAX_BYTES && behind.is_empty() {
            true => Ok(()),
            false => Err(ArchiveError::refused("there is something behind its end")),
        }
    }

    fn exactly(&mut self, into: &mut [u8]) -> Result<(), ArchiveError> {
        self.from.read_exact(into).map_err(|error| failed(&error))
    }
}

/// What a tar header says, if it is one that an export writes.
fn entry_head(block: &[u8; BLOCK_BYTES]) -> Result<EntryHead, ArchiveError> {
    let header = tar::Header::from_byte_slice(block);
    let sum: u32 = block
        .iter()
        .enumerate()
        // The sum is made as if its own place held blanks.
        .map(|(at, byte)| {
            u32::from(if (148..156).contains(&at) {
                b' '
            } else {
                *byte
            })
        })
        .sum();
    if header.cksum().ok() != Some(sum) || header.as_ustar().is_none() {
        return Err(ArchiveError::refused("it has a header that is none"));
    }
    let path = header.path_bytes();
    let name = String::from_utf8_lossy(&path).into_owned();
    let shown: String = name.chars().take(100).collect();
    let kind = header.entry_type();
    if kind.is_symlink() || kind.is_hard_link() {
        return Err(ArchiveError::refused(format!(
            "the entry {shown:?} is a link"
        )));
    }
    let links = header.link_name_bytes().is_some_and(|to| !to.is_empty());
    if !matches!(kind.as_byte(), b'0' | 0) || links {
        return Err(ArchiveError::refused(format!(
            "the entry {shown:?} is not a plain file"
        )));
    }
    let size_bytes = header.entry_size();
    let size_bytes = size_bytes
        .map_err(|_| ArchiveError::refused(format!("the entry {shown:?} has no length")))?;
    Ok(EntryHead { name, size_bytes })
}

fn failed(error: &io::Error) -> ArchiveError {
    match (error.raw_os_error(), error.kind()) {
        (Some(_), _) => ArchiveError::Unreadable(error.to_string()),
        (None, io::ErrorKind::UnexpectedEof) => ArchiveError::refused("it is cut off"),
        // In the words of the decoder.
        (None, _) => ArchiveError::refused(format!("it is damaged, or no archive: {error}")),
    }
}
