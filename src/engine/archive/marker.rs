//! The marker of an import that is not over: row `import` in the Session's partition. It says whose import it is and of which
//! archive, it fences importers against one another, and it is how a half-imported Session is found and given up.

use serde::{Deserialize, Serialize};

use super::error::ArchiveError;
use super::export::row_key;
use crate::engine::core::{Core, decode, encode};
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;
use crate::engine::keys;
use crate::engine::ports::{Change, Commit, CommitId, Guard, Record, StoreError, Write};

/// Sort key of the marker.
pub(super) const MARKER: &str = keys::IMPORT;

/// Row `import`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Whose import.
    pub owner: String,
    /// Digest of the archive's manifest.
    pub archive: String,
    /// When it was begun. Unix ms.
    pub started_ms: u64,
    /// It was given up, and what there is of it is being removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
}

/// A marker as it was read.
pub(super) struct Held {
    pub(super) marker: Marker,
    pub(super) version: u64,
}

/// The marker in a row of a Session's partition, if it is one.
///
/// # Errors
/// [`EngineError::Damaged`] when it can't be read.
pub fn unfinished(record: &Record) -> Result<Option<Marker>, EngineError> {
    match record.key.sort == MARKER {
        true => decode(record).map(Some),
        false => Ok(None),
    }
}

/// What every commit of an import asserts: the Session is not there, and the import is still ours.
pub(super) fn fence(session: &SessionId, version: u64) -> Vec<Write> {
    let check = |sort: &str, guard| Write {
        key: row_key(session, sort),
        guard,
        change: Change::Check,
    };
    vec![
        check(keys::HEAD, Guard::Absent),
        check(MARKER, Guard::Version(version)),
    ]
}

/// Somebody else was quicker.
pub(super) fn overtaken(error: StoreError) -> ArchiveError {
    match error {
        StoreError::Conflict(_) => EngineError::Conflict(
            "another import of this session took over, or it was given up".to_owned(),
        )
        .into(),
        other => other.into(),
    }
}

impl Core {
    pub(super) async fn marker(&self, session: &SessionId) -> Result<Option<Held>, EngineError> {
        let record = self.store.get(&row_key(session, MARKER)).await?;
        record
            .map(|record| {
                Ok(Held {
                    marker: decode(&record)?,
                    version: record.version,
                })
            })
            .transpose()
    }

    /// Stores the marker where `guard` holds, and answers it as it is then.
    pub(super) async fn put_marker(
        &self,
        session: &SessionId,
        marker: Marker,
        guard: Guard,
    ) -> Result<Held, ArchiveError> {
        let version = match guard {
            Guard::Version(version) => version + 1,
            Guard::Absent | Guard::Any => 1,
        };
        let writes = vec![
            Write {
                key: row_key(session, keys::HEAD),
                guard: Guard::Absent,
                change: Change::Check,
            },
            Write {
                key: row_key(session, MARKER),
                guard,
                change: Change::Put(encode(&marker)),
            },
        ];
        let id = CommitId::random(&*self.ids);
        self.commit_once(Commit {
            id,
            writes: writes.into(),
        })
        .await
        .map_err(overtaken)?;
        Ok(Held { marker, version })
    }

    /// Whether this owner has an import of the Session that is not over.
    ///
    /// # Errors
    /// The store can't be read.
    pub async fn imports(&self, owner: &str, session: &SessionId) -> Result<bool, EngineError> {
        let held = self.marker(session).await?;
        Ok(held.is_some_and(|held| held.marker.owner == owner))
    }

    /// Gives up an import of this owner that is not over, and removes what there is of it. `false`: there is none. It may be
    /// repeated after a crash.
    ///
    /// # Errors
    /// [`EngineError::Conflict`] when somebody goes on with the import at this moment.
    pub async fn abandon_import(
        &self,
        owner: &str,
        session: &SessionId,
    ) -> Result<bool, ArchiveError> {
        match self.marker(session).await? {
            Some(held) if held.marker.owner == owner => {
                self.abandon(session, held).await?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Removes a half-imported Session. From the first commit on, no importer writes anything more.
    pub(super) async fn abandon(
        &self,
        session: &SessionId,
        held: Held,
    ) -> Result<(), ArchiveError> {
        let mut marker = held.marker;
        marker.abandoned = true;
        let held = self
            .put_marker(session, marker, Guard::Version(held.version))
            .await?;
        self.blobs
            .delete_scope(&self.scope(&held.marker.owner, session))
            .await?;
        let fence = fence(session, held.version);
        self.erase_rows(session, &[MARKER], &fence)
            .await
            .map_err(overtaken)?;
        let mut writes = fence;
        if let Some(own) = writes.iter_mut().find(|write| write.key.sort == MARKER) {
            own.change = Change::Delete;
        }
        let id = CommitId::random(&*self.ids);
        self.commit_once(Commit {
            id,
            writes: writes.into(),
        })
        .await
        .map_err(overtaken)
    }
}
