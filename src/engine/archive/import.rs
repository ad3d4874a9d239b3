//! Importing: an archive becomes a Session of the importing owner.
//!
//! Rows and bytes are stored first, under a marker and without a head, so that nobody sees them. Then all of it is read back and
//! compared. The last commit has the head, the lists and the agenda, and takes the marker away: from it on the Session is there, whole.

use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tokio_util::io::StreamReader;

use super::arrive::{self, Arrival};
use super::error::ArchiveError;
use super::export::row_key;
use super::format::Blob;
use super::marker::{Held, MARKER, Marker, fence, overtaken};
use super::rows::is_carried;
use super::stream::ArchiveSource;
use super::walk::{Content, Found, Visitor, walk};
use crate::engine::core::{Core, Loaded, encode};
use crate::engine::draft::Draft;
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;
use crate::engine::keys;
use crate::engine::ports::{
    BlobError, BlobRef, BlobSource, Change, Commit, CommitId, Guard, Key, Range, Write,
};
use crate::engine::sessions::Config;

/// Rows of one commit, beside the two that it asserts.
const ROWS_PER_COMMIT: usize = 20;
/// Bytes of rows after which a commit is made however few they are.
const BYTES_PER_COMMIT: usize = 1 << 20;
/// Rows read at once when they are compared.
const PAGE_ROWS: usize = 64;

/// Is told how many bytes are done, of how many.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Send + Sync);

/// A Session that was imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Its id, as it was.
    pub session: SessionId,
    /// Its revision here: one more than in the archive.
    pub revision: u64,
    /// Rows in the archive.
    pub rows: u64,
    /// Blobs in the archive.
    pub blobs: u64,
    /// Bytes of both.
    pub content_bytes: u64,
    /// The Turn that is active, and goes on here when it owes work.
    pub turn: Option<u64>,
    /// Whether it is due for a worker.
    pub owes_work: bool,
    /// It went on where an earlier import had stopped.
    pub resumed: bool,
}

impl Core {
    /// Imports an archive for `owner`. It is read twice: `first` is checked to its end before anything is written, `again`, from the
    /// same file, is stored. After an error or a crash in between, the same archive goes on where it stopped.
    ///
    /// # Errors
    /// [`ArchiveError::Refused`] when the archive is not whole: nothing changed. [`EngineError::Conflict`] when the Session exists
    /// here, or an import of another archive of it is not over.
    pub async fn import_session(
        &self,
        owner: &str,
        first: &mut dyn ArchiveSource,
        again: &mut dyn ArchiveSource,
        progress: Progress<'_>,
    ) -> Result<Imported, ArchiveError> {
        // Both readings together are the whole way.
        let found = walk(first, &mut OnlyCheck, &|done, whole| {
            progress(done / 2, whole);
        })
        .await?;
        let (held, resumed) = self.begin_import(owner, &found).await?;
        let arrival = Arrival {
            owner: owner.to_owned(),
            isolation: self.settings.isolation,
            at_ms: held.marker.started_ms,
        };
        let mut staging = Staging {
            core: self,
            expected: &found,
            arrival: &arrival,
            fence: fence(&found.session, held.version),
            resumed,
            rows: Vec::new(),
            rows_bytes: 0,
            hash: Hash::default(),
            config: None,
        };
        walk(again, &mut staging, &|done, whole| {
            progress(whole / 2 + done / 2, whole);
        })
        .await?;
        staging.flush().await?;
        let (hash, config) = (staging.hash, staging.config);
        self.compare(&found, hash).await?;
        let config =
            config.ok_or_else(|| ArchiveError::refused("it has no configuration".to_owned()))?;
        let head = arrive::head(&found.head, &arrival, &config);
        self.publish(&found, head, held.version, resumed).await
    }

    /// Marks the import as begun, or goes on with it.
    async fn begin_import(&self, owner: &str, found: &Found) -> Result<(Held, bool), ArchiveError> {
        let session = &found.session;
        self.must_be_absent(session).await?;
        let marker = Marker {
            owner: owner.to_owned(),
            archive: found.digest.clone(),
            started_ms: self.clock.now_ms(),
            abandoned: false,
        };
        let guard = match self.marker(session).await? {
            None => Guard::Absent,
            Some(held) if held.marker.owner != owner => {
                return Err(EngineError::Conflict(format!(
                    "another owner's import of {session} is not over"
                ))
                .into());
            }
            Some(held) if held.marker.abandoned => {
                self.abandon(session, held).await?;
                Guard::Absent
            }
            Some(held) if held.marker.archive == found.digest => {
                let guard = Guard::Version(held.version);
                let held = self.put_marker(session, held.marker, guard).await?;
                return Ok((held, true));
            }
            Some(_) => {
                return Err(EngineError::Conflict(format!(
                    "an import of another archive of {session} is not over: go on with that one, or give it up with \
                     `rat-things sessions delete {session}`"
                ))
                .into());
            }
        };
        let held = self.put_marker(session, marker, guard).await?;
        Ok((held, false))
    }

    async fn must_be_absent(&self, session: &SessionId) -> Result<(), ArchiveError> {
        match self.load(session).await? {
            None => Ok(()),
            Some(Loaded { head, .. }) if head.deleted_ms.is_some() => {
                Err(EngineError::Conflict(format!(
                    "{session} was deleted here and is still being erased; try again in a moment"
                ))
                .into())
            }
            Some(_) => Err(EngineError::Conflict(format!(
                "{session} exists here already; nothing was changed"
            ))
            .into()),
        }
    }

    /// Reads back what was stored, and compares it with what was to be stored.
    async fn compare(&self, found: &Found, expected: Hash) -> Result<(), ArchiveError> {
        let mut stored = Hash::default();
        let journal = Range::prefix(
            keys::session_partition(&found.session),
            "journal/",
            PAGE_ROWS,
        );
        let before = Range {
            from: String::new(),
            until: Some(journal.from.clone()),
            ..journal.clone()
        };
        let behind = Range {
            from: journal.until.clone().unwrap_or_default(),
            until: None,
            ..journal.clone()
        };
        for mut range in [before, behind, journal] {
            loop {
                let page = self.store.range(&range).await?;
                let rows = page.records.iter();
                for row in rows.filter(|r| is_carried(&r.key.sort)) {
                    stored.add(&row.key.sort, &row.value);
                }
                match page.records.last() {
                    Some(last) if page.more => range.from = format!("{}\0", last.key.sort),
                    _ => break,
                }
            }
        }
        match stored.end() == expected.end() {
            true => Ok(()),
            false => Err(EngineError::Damaged {
                key: keys::session_partition(&found.session),
                why: "what was stored is not what the archive holds; give the import up, and import it anew"
                    .to_owned(),
            }
            .into()),
        }
    }

    /// The commit that makes the Session visible.
    async fn publish(
        &self,
        found: &Found,
        head: crate::engine::session::Head,
        version: u64,
        resumed: bool,
    ) -> Result<Imported, ArchiveError> {
        let (session, manifest) = (&found.session, &found.manifest);
        let owner = head.owner.clone();
        let created_ms = head.created_ms;
        let arrived = Loaded { head, version: 0 };
        let mut draft = Draft::of(session, &arrived, self.clock.now_ms());
        draft.anchor();
        let partition = keys::owner_partition(&owner);
        let by_time = keys::session_by_time(created_ms, session.as_str());
        let by_id = keys::session_by_id(session.as_str());
        let put = |value| Change::Put(value);
        draft.write(
            Key::new(partition.clone(), by_time),
            Guard::Any,
            put(Vec::new()),
        );
        draft.write(
            Key::new(partition, by_id),
            Guard::Any,
            put(encode(&created_ms)),
        );
        draft.write(
            row_key(session, MARKER),
            Guard::Version(version),
            Change::Delete,
        );
        let (mut commit, head) = draft.seal(&*self.ids);
        for write in &mut commit.writes {
            if write.key.sort == keys::HEAD {
                write.guard = Guard::Absent;
            }
        }
        self.commit_once(commit).await.map_err(overtaken)?;
        self.bell.ring(session.as_str());
        Ok(Imported {
            session: session.clone(),
            revision: head.revision,
            rows: manifest.rows(),
            blobs: manifest.blobs.len() as u64,
            content_bytes: manifest.content_bytes(),
            turn: head.turn.as_ref().map(|turn| turn.number),
            owes_work: head.agenda.execute.is_some(),
            resumed,
        })
    }
}

/// A digest over rows.
#[derive(Default)]
struct Hash(Sha256);

impl Hash {
    fn add(&mut self, sort: &str, value: &[u8]) {
        for part in [sort.as_bytes(), value] {
            self.0.update((part.len() as u64).to_be_bytes());
            self.0.update(part);
        }
    }

    fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The first reading.
struct OnlyCheck;

#[async_trait]
impl Visitor for OnlyCheck {
    async fn begin(&mut self, _: &Found) -> Result<(), ArchiveError> {
        Ok(())
    }

    async fn row(&mut self, _: String, _: Vec<u8>) -> Result<(), ArchiveError> {
        Ok(())
    }

    async fn blob(&mut self, _: &Blob, _: &mut Content<'_>) -> Result<(), ArchiveError> {
        Ok(())
    }
}

/// The second reading.
struct Staging<'a> {
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
        if self.rows.len() >= ROWS_PER_COMMIT || self.rows_bytes >= BYTES_PER_COMMIT {
            self.flush().await?;
        }
        Ok(())
    }

    async fn blob(&mut self, blob: &Blob, content: &mut Content<'_>) -> Result<(), ArchiveError> {
        let scope = self.core.scope(&self.arrival.owner, &self.expected.session);
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

impl Staging<'_> {
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
        if rows.is_empty() {
            return Ok(());
        }
        let mut writes = self.fence.clone();
        writes.extend(rows.into_iter().map(|(key, value)| Write {
            key,
            guard: Guard::Any,
            change: Change::Put(value),
        }));
        let id = CommitId::random(&*self.core.ids);
        let committed = self.core.commit_once(Commit { id, writes }).await;
        committed.map_err(overtaken)
    }

    /// Whether an earlier import stored these bytes, whole.
    async fn is_stored(&self, blob: &BlobRef) -> Result<bool, ArchiveError> {
        let scope = self.core.scope(&self.arrival.owner, &self.expected.session);
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
