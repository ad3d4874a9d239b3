//! Blobs as files: written aside, synced, renamed into place, verified on read.
//!
//! Any number of processes may use one root at once; nothing is locked, because a blob's file never changes once it has its
//! name. The root is made by the first put, so that reading from a data directory that can't be written works.

mod fault;
mod list;
mod place;
mod put;
mod remove;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt};

use self::fault::sort;
use self::place::{Place, is_digest};
use self::put::{Durable, Temp};
pub use self::remove::Swept;
use crate::backend::verified::Verified;
use crate::engine::fsck::StoredBlob;
use crate::engine::ids::sha256_hex;
use crate::engine::ports::{BlobError, BlobRef, BlobScope, BlobSource, Blobs};

/// Bytes read from a source before they go to disk in one step.
const STEP_BYTES: usize = 256 << 10;

/// Bytes an opened blob yields in one poll at most: they are hashed there, which must not hold up the thread.
const READ_BYTES: usize = 128 << 10;

/// Blobs below one directory. Cheap to clone.
#[derive(Clone)]
pub struct LocalBlobs {
    root: Arc<Path>,
    durable: Arc<Durable>,
}

impl LocalBlobs {
    /// Blobs below `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> LocalBlobs {
        LocalBlobs {
            root: root.into().into(),
            durable: Arc::default(),
        }
    }

    /// Finishes interrupted scope removals, and removes temporary files last written more than `older_than_ms` before `now_ms`
    /// (Unix time). The age must exceed the longest pause of any put; hours are right. Fails as [`Blobs::delete_scope`] does.
    pub async fn sweep_temp(&self, now_ms: u64, older_than_ms: u64) -> Result<Swept, BlobError> {
        let root = self.root.clone();
        blocking(move || remove::sweep(&root, now_ms, older_than_ms)).await
    }

    /// Every scope that has bytes, in order. Fails as [`Blobs::delete_scope`] does, like what follows.
    pub async fn scopes(&self) -> Result<Vec<BlobScope>, BlobError> {
        let root = self.root.clone();
        blocking(move || list::scopes(&root)).await
    }

    /// What is stored in a scope, in the order of digests.
    pub async fn stored(&self, scope: &BlobScope) -> Result<Vec<StoredBlob>, BlobError> {
        let place = Place::of(&self.root, scope)?;
        blocking(move || list::blobs(&place)).await
    }

    async fn put_bytes(&self, place: Place, bytes: Bytes) -> Result<BlobRef, BlobError> {
        let LocalBlobs { root, durable } = self.clone();
        blocking(move || {
            let blob = BlobRef {
                sha256: sha256_hex(&bytes),
                size_bytes: bytes.len() as u64,
            };
            if put::present(&root, &place, &durable, &blob)? {
                return Ok(blob);
            }
            let mut temp = Temp::create(&root)?;
            temp.write(&bytes)?;
            temp.publish(&root, &place, &durable, blob)
        })
        .await
    }

    async fn put_stream(
        &self,
        place: Place,
        mut from: Box<dyn AsyncRead + Send + Unpin>,
        limit_bytes: u64,
    ) -> Result<BlobRef, BlobError> {
        let mut step = Vec::new();
        fill_step(&mut from, &mut step, 0, limit_bytes).await?;
        if step.len() < STEP_BYTES {
            // All of it fits one step, so its digest is known before anything is written.
            return self.put_bytes(place, step.into()).await;
        }
        let LocalBlobs { root, durable } = self.clone();
        let mut size_bytes = 0;
        let mut hash = Sha256::new();
        let mut temp = blocking({
            let root = root.clone();
            move || Temp::create(&root)
        })
        .await?;
        while !step.is_empty() {
            size_bytes += step.len() as u64;
            (temp, hash, step) = blocking(move || {
                hash.update(&step);
                temp.write(&step)?;
                step.clear();
                Ok((temp, hash, step))
            })
            .await?;
            fill_step(&mut from, &mut step, size_bytes, limit_bytes).await?;
        }
        let blob = BlobRef {
            sha256: data_encoding::HEXLOWER.encode(&hash.finalize()),
            size_bytes,
        };
        blocking(move || temp.publish(&root, &place, &durable, blob)).await
    }
}

#[async_trait]
impl Blobs for LocalBlobs {
    async fn put(&self, scope: &BlobScope, source: BlobSource) -> Result<BlobRef, BlobError> {
        let place = Place::of(&self.root, scope)?;
        match source {
            BlobSource::Bytes(bytes) => self.put_bytes(place, bytes).await,
            BlobSource::Stream { from, limit_bytes } => {
                self.put_stream(place, from, limit_bytes).await
            }
        }
    }

    async fn get(&self, scope: &BlobScope, blob: &BlobRef) -> Result<Bytes, BlobError> {
        let place = Place::of(&self.root, scope)?;
        let blob = blob.clone();
        blocking(move || {
            let (mut file, path) = open_blob(&place, &blob)?;
            let mut bytes = Vec::with_capacity(usize::try_from(blob.size_bytes).unwrap_or(0));
            file.read_to_end(&mut bytes)
                .map_err(|error| sort("read", &path, &error))?;
            if sha256_hex(&bytes) != blob.sha256 {
                return Err(BlobError::Corrupt(blob.sha256));
            }
            Ok(bytes.into())
        })
        .await
    }

    async fn open(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
        offset: u64,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>, BlobError> {
        let place = Place::of(&self.root, scope)?;
        let wanted = blob.clone();
        let file = blocking(move || {
            let (mut file, path) = open_blob(&place, &wanted)?;
            file.seek(SeekFrom::Start(offset.min(wanted.size_bytes)))
                .map_err(|error| sort("read", &path, &error))?;
            Ok(file)
        })
        .await?;
        let mut file = tokio::fs::File::from_std(file);
        file.set_max_buf_size(READ_BYTES);
        Ok(Box::new(Verified::new(file, blob, offset)))
    }

    async fn has(&self, scope: &BlobScope, blob: &BlobRef) -> Result<bool, BlobError> {
        let place = Place::of(&self.root, scope)?;
        let blob = blob.clone();
        blocking(move || match open_blob(&place, &blob) {
            Ok(_) => Ok(true),
            // Bytes of another length are not the bytes; a put mends that.
            Err(BlobError::Missing(_) | BlobError::Corrupt(_)) => Ok(false),
            Err(error) => Err(error),
        })
        .await
    }

    async fn remove(
        &self,
        scope: &BlobScope,
        sha256: &str,
        before_ms: u64,
    ) -> Result<bool, BlobError> {
        // Whoever stores the same bytes makes them young again only if they are older than an hour: the port wants times long past.
        let place = Place::of(&self.root, scope)?;
        let LocalBlobs { root, .. } = self.clone();
        let sha256 = sha256.to_owned();
        blocking(move || list::remove(&root, &place, &sha256, before_ms)).await
    }

    async fn delete_scope(&self, scope: &BlobScope) -> Result<(), BlobError> {
        let place = Place::of(&self.root, scope)?;
        let LocalBlobs { root, durable } = self.clone();
        blocking(move || remove::delete(&root, &place, &durable)).await
    }
}

/// Opens a blob's file, which must have the blob's length.
fn open_blob(place: &Place, blob: &BlobRef) -> Result<(File, PathBuf), BlobError> {
    if !is_digest(&blob.sha256) {
        return Err(BlobError::Missing(blob.sha256.clone()));
    }
    let path = place.file(&blob.sha256);
    let opened = File::options()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(&path)
        .and_then(|file| file.metadata().map(|meta| (file, meta)));
    match opened {
        Ok((file, meta)) if meta.is_file() && meta.len() == blob.size_bytes => Ok((file, path)),
        Ok(_) => Err(BlobError::Corrupt(blob.sha256.clone())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(BlobError::Missing(blob.sha256.clone()))
        }
        Err(error) => Err(sort("read", &path, &error)),
    }
}

/// Fills `step` from the source, to [`STEP_BYTES`] or its end, after `before_bytes` that came earlier.
async fn fill_step(
    from: &mut (dyn AsyncRead + Send + Unpin),
    step: &mut Vec<u8>,
    before_bytes: u64,
    limit_bytes: u64,
) -> Result<(), BlobError> {
    let mut from = from.take(STEP_BYTES as u64);
    from.read_to_end(step)
        .await
        .map_err(|error| BlobError::Source(error.to_string()))?;
    if before_bytes + step.len() as u64 > limit_bytes {
        return Err(BlobError::TooLarge { limit_bytes });
    }
    Ok(())
}

/// Runs file work on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BlobError> + Send + 'static,
) -> Result<T, BlobError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer,
        // It panicked, or the runtime is shutting down.
        Err(error) => Err(BlobError::Unavailable(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
