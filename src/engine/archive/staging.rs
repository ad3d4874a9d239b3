//! The second reading of an archive: rows and bytes are stored, under the marker of the import, where nobody sees them.

use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::try_join_all;
use futures_util::stream;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tokio_util::io::StreamReader;

use super::arrive::{self, Arrival};
use super::error::ArchiveError;
use super::export::row_key;
use super::format::Blob;
use super::marker::overtaken;
use super::walk::{Content, Found, Visitor};
use crate::engine::core::Core;
use crate::engine::keys;
use crate::engine::ports::{
    BlobError, BlobRef, BlobScope, BlobSource, Change, Commit, CommitId, Guard, Key, Write,
};
use crate::engine::sessions::Config;

/// Rows of one commit, beside the two that it asserts.
const ROWS_PER_COMMIT: usize = 20;
/// Rows that are committed at once: a store makes several commits with one sync.
const ROWS_AT_ONCE: usize = 16 * ROWS_PER_COMMIT;
/// Bytes of rows after which they are committed however few they are.
const BYTES_AT_ONCE: usize = 4 << 20;

/// A digest over rows.
#[derive(Default)]
pub(super) struct Hash(Sha256);

impl Hash {
    pub(super) fn add(&mut self, sort: &str, value: &[u8]) {
        for part in [sort.as_bytes(), value] {
            self.0.update((part.len() as u64).to_be_bytes());
            self.0.update(part);
        }
    }

    pub(super) fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Stores what is shown to it.
pub(super) struct Staging<'a> {
    core: &'a Core,
    expected: &'a Found,
    arrival: &'a Arrival,
    fence: Vec<Write>,
    resumed: bool,
    rows: Vec<(Key, Vec<u8>)>,
    rows_bytes: usize,
    hash: Hash,
    config: Option<Config>,
}

#[async_trait]
impl Visitor for Staging<'_> {
    async fn begin(&mut self, found: &Found) -> Result<(), ArchiveError> {
        match found == self.expected {
            true => Ok(()),
            false => Err(ArchiveError::Unreadable(
                "it was replaced while it was read".to_owned(),
            )),
        }
    }

    async fn row(&mut self, sort: String, value: Vec<u8>) -> Result<(), ArchiveError> {
        let kept = arrive::row(&self.expected.head, self.arrival, &sort, value)?;
        let Some(value) = kept else {
            return Ok(());
        };
        if sort == keys::CONFIG {
            let read = serde_json::from_slice(&value);
            self.config = Some(read.map_err(|e| ArchiveError::refused(e.to_string()))?);
        }
        self.hash.add(&sort, &value);
        self.rows_bytes += value.len();
        self.rows
            .push((row_key(&self.expected.session, sort), value));
        if self.rows.len() >= ROWS_AT_ONCE || self.rows_bytes >= BYTES_AT_ONCE {
            self.flush().await?;
        }
        Ok(())
    }

    async fn blob(&mut self, blob: &Blob, content: &mut Content<'_>) -> Result<(), ArchiveError> {
        let scope = self.scope();
        let wanted = blob.reference();
        if self.resumed && self.is_stored(&wanted).await? {
            return Ok(());
        }
        let (bytes, source) = mpsc::channel(1);
        let source = BlobSource::Stream {
            from: reader(source),
            limit_bytes: blob.size_bytes,
        };
        let put = self.core.blobs.put(&scope, source);
        let (stored, passed) = tokio::join!(put, pass_on(content, bytes));
        passed?;
        match stored? == wanted {
            true => Ok(()),
            false => Err(ArchiveError::refused(format!(
                "blobs/{} does not have the digest of its name",
                blob.sha256
            ))),
        }
    }
}

impl<'a> Staging<'a> {
    /// Nothing is stored yet; `resumed`: unless by an earlier import. Every commit asserts `fence`.
    pub(super) fn new(
        core: &'a Core,
        expected: &'a Found,
        arrival: &'a Arrival,
        fence: Vec<Write>,
        resumed: bool,
    ) -> Staging<'a> {
        Staging {
            core,
            expected,
            arrival,
            fence,
            resumed,
            rows: Vec::new(),
            rows_bytes: 0,
            hash: Hash::default(),
            config: None,
        }
    }

    /// All was shown: the digest of all rows as they must be stored now, and the configuration.
    pub(super) async fn end(mut self) -> Result<(Hash, Config), ArchiveError> {
        self.flush().await?;
        let config = self.config;
        let config = config.ok_or_else(|| ArchiveError::refused("it has no configuration"))?;
        Ok((self.hash, config))
    }

    fn scope(&self) -> BlobScope {
        self.core.scope(&self.arrival.owner, &self.expected.session)
    }

    /// Commits the rows that are gathered.
    async fn flush(&mut self) -> Result<(), ArchiveError> {
        let mut rows = std::mem::take(&mut self.rows);
        self.rows_bytes = 0;
        if self.resumed && !rows.is_empty() {
            let keys: Vec<Key> = rows.iter().map(|(key, _)| key.clone()).collect();
            let mut there = self.core.store.get_many(&keys).await?.into_iter();
            rows.retain(|(_, value)| {
                let there = there.next().flatten();
                there.is_none_or(|record| record.value != *value)
            });
        }
        let commits = rows.chunks(ROWS_PER_COMMIT).map(|some| {
            let rows = some.iter().map(|(key, value)| Write {
                key: key.clone(),
                guard: Guard::Any,
                change: Change::Put(value.clone()),
            });
            let writes: Vec<Write> = self.fence.iter().cloned().chain(rows).collect();
            let id = CommitId::random(&*self.core.ids);
            self.core.commit_once(Commit {
                id,
                writes: writes.into(),
            })
        });
        try_join_all(commits).await.map_err(overtaken).map(drop)
    }

    /// Whether an earlier import stored these bytes, whole.
    async fn is_stored(&self, blob: &BlobRef) -> Result<bool, ArchiveError> {
        let scope = self.scope();
        let mut content = match self.core.blobs.open(&scope, blob, 0).await {
            Ok(content) => content,
            Err(BlobError::Missing(_) | BlobError::Corrupt(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut space = vec![0; 256 << 10];
        loop {
            match content.read(&mut space).await {
                Ok(0) => return Ok(true),
                Ok(_) => {}
                Err(_) => return Ok(false),
            }
        }
    }
}

type Pieces = mpsc::Sender<Result<Bytes, std::io::Error>>;

/// What comes through the channel, as a stream of bytes.
fn reader(
    pieces: mpsc::Receiver<Result<Bytes, std::io::Error>>,
) -> Box<dyn AsyncRead + Send + Unpin> {
    let pieces = stream::unfold(pieces, |mut pieces| async move {
        let piece = pieces.recv().await?;
        Some((piece, pieces))
    });
    let pieces: Pin<Box<dyn futures_util::Stream<Item = _> + Send>> = Box::pin(pieces);
    Box::new(StreamReader::new(pieces))
}

/// Passes the content of an entry on. A failure is passed on as well, so that half of it is never taken for all of it.
async fn pass_on(content: &mut Content<'_>, to: Pieces) -> Result<(), ArchiveError> {
    loop {
        match content.next().await {
            Ok(bytes) if bytes.is_empty() => return Ok(()),
            Ok(bytes) => {
                if to.send(Ok(bytes)).await.is_err() {
                    // Whoever stores it has failed, and says why.
                    return Ok(());
                }
            }
            Err(error) => {
                let told = std::io::Error::other(error.to_string());
                // If nobody listens any more, our own error is the answer all the same.
                let _ = to.send(Err(told)).await;
                return Err(error);
            }
        }
    }
}
