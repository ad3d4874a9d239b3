//! Importing: an archive becomes a Session of the importing owner.
//!
//! Rows and bytes are stored first, under a marker and without a head, so that nobody sees them. Then all of it is read back and
//! compared. The last commit has the head, the lists and the agenda, and takes the marker away: from it on the Session is there, whole.

use std::sync::Arc;

use async_trait::async_trait;

use super::arrive::{self, Arrival};
use super::error::ArchiveError;
use super::export::row_key;
use super::format::Blob;
use super::marker::{Held, MARKER, Marker, fence, overtaken};
use super::rows::{in_order, is_carried};
use super::staging::{Hash, Staging};
use super::stream::ArchiveSource;
use super::walk::{Content, Found, Visitor, walk};
use crate::engine::core::{Core, Loaded, encode};
use crate::engine::draft::Draft;
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;
use crate::engine::keys;
use crate::engine::ports::{Change, Guard, Key};
use crate::engine::session::Head;

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
        let fence = fence(&found.session, held.version);
        let mut staging = Staging::new(self, &found, &arrival, fence, resumed);
        walk(again, &mut staging, &|done, whole| {
            progress(whole / 2 + done / 2, whole);
        })
        .await?;
        let (hash, config) = staging.end().await?;
        self.compare(&found, hash).await?;
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
        for mut range in in_order(&found.session) {
            loop {
                let page = self.store.range(&range).await?;
                for row in page.records.iter().filter(|r| is_carried(&r.key.sort)) {
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
        head: Head,
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
        let config = self.config(session).await?;
        if let Some(environment) = config.and_then(|config| config.environment) {
            draft.write(
                Key::new(partition.clone(), keys::environment(&environment.id)),
                Guard::Any,
                put(encode(session)),
            );
        }
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
        for write in Arc::make_mut(&mut commit.writes) {
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
