//! Bytes that are about to be stored: their digest must be known before the first of them is sent, because it is their name.
//!
//! Few are kept in memory, many in a file without a name, which is gone with the process.

use std::io::SeekFrom;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use crate::engine::ports::{BlobError, BlobRef, BlobSource, StoreFault};

/// More bytes than this go to a file, and to S3 in parts.
pub(super) const PART_BYTES: usize = 16 << 20;
/// Bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// All bytes of a source, and their digest.
pub(super) struct Spooled {
    pub(super) place: Place,
    size_bytes: u64,
    digest: [u8; 32],
}

/// Where they are.
pub(super) enum Place {
    Memory(Bytes),
    File(File),
}

impl Spooled {
    /// Reads the source to its end.
    pub(super) async fn of(source: BlobSource) -> Result<Spooled, BlobError> {
        match source {
            BlobSource::Bytes(bytes) => Ok(Spooled {
                size_bytes: bytes.len() as u64,
                digest: Sha256::digest(&bytes).into(),
                place: Place::Memory(bytes),
            }),
            BlobSource::Stream { from, limit_bytes } => read(from, limit_bytes).await,
        }
    }

    pub(super) fn blob(&self) -> BlobRef {
        BlobRef {
            sha256: data_encoding::HEXLOWER.encode(&self.digest),
            size_bytes: self.size_bytes,
        }
    }

    /// The digest as S3 takes it.
    pub(super) fn checksum(&self) -> String {
        data_encoding::BASE64.encode(&self.digest)
    }
}

async fn read(
    mut from: Box<dyn AsyncRead + Send + Unpin>,
    limit_bytes: u64,
) -> Result<Spooled, BlobError> {
    let mut hash = Sha256::new();
    let (mut memory, mut file) = (Vec::new(), None);
    let mut size_bytes = 0u64;
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = from.read(&mut buffer).await;
        let read = read.map_err(|error| BlobError::Source(error.to_string()))?;
        if read == 0 {
            break;
        }
        size_bytes += read as u64;
        if size_bytes > limit_bytes {
            return Err(BlobError::TooLarge { limit_bytes });
        }
        hash.update(&buffer[..read]);
        if file.is_none() && memory.len() + read > PART_BYTES {
            let mut new = File::from_std(tempfile::tempfile().map_err(no_room)?);
            new.write_all(&memory).await.map_err(no_room)?;
            memory = Vec::new();
            file = Some(new);
        }
        match &mut file {
            Some(file) => file.write_all(&buffer[..read]).await.map_err(no_room)?,
            None => memory.extend_from_slice(&buffer[..read]),
        }
    }
    let place = match file {
        None => Place::Memory(memory.into()),
        Some(mut file) => {
            file.flush().await.map_err(no_room)?;
            file.seek(SeekFrom::Start(0)).await.map_err(no_room)?;
            Place::File(file)
        }
    };
    Ok(Spooled {
        place,
        size_bytes,
        digest: hash.finalize().into(),
    })
}

fn no_room(error: std::io::Error) -> BlobError {
    BlobError::Broken {
        fault: StoreFault::DiskFull,
        message: format!(
            "what is to be stored can't be kept aside in the directory for temporary files: {error}"
        ),
    }
}
