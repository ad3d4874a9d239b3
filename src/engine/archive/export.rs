//! Exporting: a Session as it is at one revision, as an archive.
//!
//! Every change of a Session goes through its head, so rows that were read between two looks at the same head belong to one
//! revision. They are kept aside meanwhile, because the manifest comes first and has their digests. Bytes never change and are
//! copied afterwards, piece by piece.

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;

use super::error::ArchiveError;
use super::format::{Blob, Entry, FORMAT, HEAD, MANIFEST, Manifest, PART_BYTES, Part, VERSION};
use super::import::Progress;
use super::rows::{in_order, is_carried, line, named_blobs, unsound, without_variables};
use super::stream::ArchiveSink;
use crate::engine::check::{Finding, SessionFacts};
use crate::engine::core::{Core, Loaded, backoff, encode};
use crate::engine::error::EngineError;
use crate::engine::ids::{SessionId, sha256_hex};
use crate::engine::keys;
use crate::engine::ports::{BlobScope, Key, Range, Record};

/// Bytes of a blob read at once.
const STEP_BYTES: usize = 256 << 10;
/// Times the rows are read anew because the Session changed meanwhile.
const ATTEMPTS: u32 = 40;

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// What the archive says of itself.
    pub manifest: Manifest,
    /// Whether a Turn was in a worker's hands: in the archive it is interrupted, here it goes on.
    pub mid_turn: bool,
    /// Whether its environment has variables: their values are not in the archive.
    pub without_variables: bool,
    /// Why what its harness kept of its own is not in the archive, if there is such and it is not: it is damaged, and nothing without it is.
    pub without_checkpoint: Option<String>,
    /// What is wrong with the Session's rows: an archive with any of it can be kept, but is not imported.
    pub unsound: Vec<Finding>,
}

/// The rows of a Session, as parts that were kept aside, and the bytes they name.
#[derive(Default)]
struct Gathered {
    records: Vec<Part>,
    journal: Vec<Part>,
    facts: SessionFacts,
    without_variables: bool,
    without_checkpoint: Option<String>,
}

impl Core {
    /// Writes a Session to `sink`, as it is at one revision. `program` is the version that the archive names.
    ///
    /// # Errors
    /// Not found like any read; [`EngineError::Busy`] when the Session does not stand still for as long as its rows take to read;
    /// [`EngineError::Damaged`] when a row or its bytes can't be read.
    pub async fn export_session(
        &self,
        owner: &str,
        session: &SessionId,
        program: &str,
        sink: &mut dyn ArchiveSink,
        progress: Progress<'_>,
    ) -> Result<Exported, ArchiveError> {
        let (loaded, gathered) = self.gather_at_one_revision(owner, session, sink).await?;
        let head = encode(&loaded.head);
        let exported_ms = self.clock.now_ms();
        let mut facts = gathered.facts;
        facts.take(&Record {
            key: row_key(session, keys::HEAD),
            version: loaded.version,
            value: head.clone(),
        });
        if let Some((sort, why)) = facts.unreadable().next() {
            return Err(EngineError::damaged(&row_key(session, sort), why).into());
        }
        let blobs = named_blobs(&facts).map_err(|sha256| EngineError::Damaged {
            key: format!("blob {sha256}"),
            why: "rows name it with different lengths".to_owned(),
        })?;
        let unsound = unsound(&facts, session, exported_ms);
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            session: session.to_string(),
            revision: loaded.head.revision,
            exported_ms,
            program: program.to_owned(),
            head: Part {
                size_bytes: head.len() as u64,
                sha256: sha256_hex(&head),
                rows: 1,
            },
            records: gathered.records,
            journal: gathered.journal,
            blobs: blobs
                .into_iter()
                .map(|(sha256, size_bytes)| Blob { sha256, size_bytes })
                .collect(),
        };
        self.write_entries(owner, session, &manifest, head, sink, progress)
            .await?;
        let fence = &loaded.head.fence;
        Ok(Exported {
            manifest,
            mid_turn: fence.lease.is_some() || fence.quarantine.is_some(),
            without_variables: gathered.without_variables,
            without_checkpoint: gathered.without_checkpoint,
            unsound,
        })
    }

    async fn write_entries(
        &self,
        owner: &str,
        session: &SessionId,
        manifest: &Manifest,
        head: Vec<u8>,
        sink: &mut dyn ArchiveSink,
        progress: Progress<'_>,
    ) -> Result<(), ArchiveError> {
        let first = encode(manifest);
        sink.begin(MANIFEST, first.len() as u64).await?;
        sink.write(first.into()).await?;
        sink.begin(HEAD, head.len() as u64).await?;
        sink.write(head.into()).await?;
        let whole_bytes = manifest.content_bytes();
        let mut done_bytes = manifest.head.size_bytes;
        for (name, entry) in manifest.entries().skip(1) {
            sink.begin(&name, entry.size_bytes()).await?;
            match entry {
                Entry::Blob(blob) => {
                    let scope = self.scope(owner, session);
                    let copied = self.copy_blob(&scope, blob, sink, |bytes| {
                        progress(done_bytes + bytes, whole_bytes);
                    });
                    if let Err(error) = copied.await {
                        // Bytes vanish under a reader when their Session is deleted.
                        self.load_owned(owner, session).await?;
                        return Err(error);
                    }
                }
                Entry::Head(_) | Entry::Records(_) | Entry::Journal(_) => {
                    sink.write_kept(entry.size_bytes()).await?;
                }
            }
            done_bytes += entry.size_bytes();
            progress(done_bytes, whole_bytes);
        }
        sink.finish().await
    }

    /// Reads all rows between two looks at the same head.
    async fn gather_at_one_revision(
        &self,
        owner: &str,
        session: &SessionId,
        sink: &mut dyn ArchiveSink,
    ) -> Result<(Loaded, Gathered), ArchiveError> {
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
                sink.forget_kept().await?;
            }
            let before = self.load_owned(owner, session).await?;
            let gathered = self
                .gather(&self.scope(owner, session), session, sink)
                .await;
            let after = self.load_owned(owner, session).await?;
            if (after.version, after.head.revision) == (before.version, before.head.revision) {
                return Ok((before, gathered?));
            }
        }
        let attempts = ATTEMPTS;
        Err(EngineError::Busy { attempts }.into())
    }

    async fn gather(
        &self,
        scope: &BlobScope,
        session: &SessionId,
        sink: &mut dyn ArchiveSink,
    ) -> Result<Gathered, ArchiveError> {
        let [before, behind, journal] = in_order(session);
        let mut gathered = Gathered::default();
        let mut parts = Parts::default();
        for range in [before, behind] {
            self.gather_range(range, scope, sink, &mut parts, &mut gathered.facts)
                .await?;
        }
        gathered.without_variables = parts.without_variables;
        gathered.without_checkpoint = parts.without_checkpoint.take();
        gathered.records = parts.end();
        let mut parts = Parts::default();
        self.gather_range(journal, scope, sink, &mut parts, &mut gathered.facts)
            .await?;
        gathered.journal = parts.end();
        Ok(gathered)
    }

    async fn gather_range(
        &self,
        mut range: Range,
        scope: &BlobScope,
        sink: &mut dyn ArchiveSink,
        parts: &mut Parts,
        facts: &mut SessionFacts,
    ) -> Result<(), ArchiveError> {
        loop {
            let page = self.store.range(&range).await?;
            let mut lines = Vec::new();
            for record in page.records.iter().filter(|r| is_carried(&r.key.sort)) {
                if record.key.sort == keys::CHECKPOINT
                    && let Some(why) = self.harm_to_checkpoint(scope, record).await?
                {
                    parts.without_checkpoint = Some(why);
                    continue;
                }
                facts.take(record);
                let stripped = match record.key.sort == keys::CONFIG {
                    true => without_variables(&record.value),
                    false => None,
                };
                parts.without_variables |= stripped.is_some();
                let value = stripped.as_ref().unwrap_or(&record.value);
                let line = line(&record.key.sort, value)
                    .map_err(|why| EngineError::damaged(&record.key, why))?;
                parts.add(&line);
                lines.extend_from_slice(&line);
            }
            sink.keep(lines.into()).await?;
            match page.records.last() {
                Some(last) if page.more => range.from = format!("{}\0", last.key.sort),
                _ => return Ok(()),
            }
        }
    }

    async fn copy_blob(
        &self,
        scope: &BlobScope,
        blob: &Blob,
        sink: &mut dyn ArchiveSink,
        done: impl Fn(u64),
    ) -> Result<(), ArchiveError> {
        let damaged = |why: String| EngineError::Damaged {
            key: format!("blob {}", blob.sha256),
            why,
        };
        let opened = self.blobs.open(scope, &blob.reference(), 0).await;
        let mut content = opened.map_err(|error| match EngineError::from(error) {
            EngineError::Damaged { why, .. } => damaged(why),
            other => other,
        })?;
        let mut space = vec![0; STEP_BYTES];
        let mut copied_bytes = 0;
        loop {
            let read = content.read(&mut space).await;
            let read = read.map_err(|error| damaged(error.to_string()))?;
            if read == 0 {
                return Ok(());
            }
            copied_bytes += read as u64;
            sink.write(Bytes::copy_from_slice(&space[..read])).await?;
            done(copied_bytes);
        }
    }
}

/// Rows on their way into parts.
#[derive(Default)]
pub(super) struct Parts {
    done: Vec<Part>,
    hash: Sha256,
    size_bytes: u64,
    rows: u64,
    without_variables: bool,
    without_checkpoint: Option<String>,
}

impl Parts {
    /// Adds one line.
    pub(super) fn add(&mut self, line: &[u8]) {
        self.hash.update(line);
        self.size_bytes += line.len() as u64;
        self.rows += 1;
        if self.size_bytes >= PART_BYTES {
            self.close();
        }
    }

    fn close(&mut self) {
        self.done.push(Part {
            size_bytes: std::mem::take(&mut self.size_bytes),
            sha256: data_encoding::HEXLOWER.encode(&std::mem::take(&mut self.hash).finalize()),
            rows: std::mem::take(&mut self.rows),
        });
    }

    /// The parts, the last one included.
    pub(super) fn end(mut self) -> Vec<Part> {
        if self.rows > 0 {
            self.close();
        }
        self.done
    }
}

/// The key of a Session's row.
pub(super) fn row_key(session: &SessionId, sort: impl Into<String>) -> Key {
    Key::new(keys::session_partition(session), sort)
}
