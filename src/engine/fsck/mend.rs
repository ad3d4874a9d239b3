//! Repairs: each is one commit that asserts what makes it right, so that it changes nothing once that is no longer so.

use super::Fsck;
use super::look::Seen;
use crate::engine::archive::Marker;
use crate::engine::check::{Finding, Repair};
use crate::engine::core::Loaded;
use crate::engine::draft::Draft;
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;
use crate::engine::keys::{self, Group};
use crate::engine::ports::{Change, Commit, CommitId, Guard, Key, StoreError, Write};

impl Fsck<'_> {
    /// Repairs what a Session's own findings say can be repaired, but for bytes. A repair that comes too late is none: whether
    /// anything was repaired is seen by looking again.
    pub(super) async fn mend(
        &self,
        session: &SessionId,
        seen: &Seen,
        finding: &Finding,
    ) -> Result<(), EngineError> {
        let done = match &finding.repair {
            Repair::ByHand | Repair::RemoveBlob => Ok(()),
            Repair::PutEntry { group, due_ms } => {
                self.put_entry(session, seen, *group, *due_ms).await
            }
            Repair::RemoveEntry { group, due_ms } => {
                return self.core.drop_stray(*group, session, *due_ms).await;
            }
            Repair::Reseal => self.reseal(session, seen).await,
            Repair::DropCheckpoint => self.drop_checkpoint(session, seen).await,
            Repair::RemoveRows => match &seen.import {
                Some((Marker { owner, .. }, _)) => {
                    return self.give_up_import(owner, session).await;
                }
                None => self.remove_rows(session).await,
            },
        };
        match done {
            // It changed meanwhile.
            Ok(()) | Err(StoreError::Conflict(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn put_entry(
        &self,
        session: &SessionId,
        seen: &Seen,
        group: Group,
        due_ms: u64,
    ) -> Result<(), StoreError> {
        let Some(version) = seen.version else {
            return Ok(());
        };
        let writes = vec![
            check_head(session, Guard::Version(version)),
            Write {
                key: keys::agenda(group, session, due_ms),
                guard: Guard::Any,
                change: Change::Put(Vec::new()),
            },
        ];
        self.commit(writes).await?;
        self.core.bell.ring(session.as_str());
        Ok(())
    }

    async fn reseal(&self, session: &SessionId, seen: &Seen) -> Result<(), StoreError> {
        let (Some(head), Some(version)) = (seen.facts.head(), seen.version) else {
            return Ok(());
        };
        let head = head.clone();
        let mut draft = Draft::of(session, &Loaded { head, version }, self.core.clock.now_ms());
        draft.move_agenda();
        draft.move_deliveries();
        let (commit, _) = draft.seal(&*self.core.ids);
        self.core.commit_once(commit).await?;
        self.core.bell.ring(session.as_str());
        Ok(())
    }

    async fn drop_checkpoint(&self, session: &SessionId, seen: &Seen) -> Result<(), StoreError> {
        let Some(version) = seen.version else {
            return Ok(());
        };
        let row = Write {
            key: Key::new(keys::session_partition(session), keys::CHECKPOINT),
            guard: Guard::Any,
            change: Change::Delete,
        };
        let head = check_head(session, Guard::Version(version));
        self.commit(vec![head, row]).await
    }

    /// Removes rows that belong to no Session: neither a head nor an import may come between.
    async fn remove_rows(&self, session: &SessionId) -> Result<(), StoreError> {
        let no_import = Write {
            key: Key::new(keys::session_partition(session), keys::IMPORT),
            guard: Guard::Absent,
            change: Change::Check,
        };
        let fence = [check_head(session, Guard::Absent), no_import];
        self.core.erase_rows(session, &[], &fence).await
    }

    async fn give_up_import(&self, owner: &str, session: &SessionId) -> Result<(), EngineError> {
        use crate::engine::archive::ArchiveError;
        match self.core.abandon_import(owner, session).await {
            // Somebody goes on with it.
            Ok(_) | Err(ArchiveError::Engine(EngineError::Conflict(_))) => Ok(()),
            Err(ArchiveError::Engine(error)) => Err(error),
            Err(other) => Err(EngineError::Unavailable(other.to_string())),
        }
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        let id = CommitId::random(&*self.core.ids);
        self.core
            .commit_once(Commit {
                id,
                writes: writes.into(),
            })
            .await
    }
}

fn check_head(session: &SessionId, guard: Guard) -> Write {
    Write {
        key: Key::new(keys::session_partition(session), keys::HEAD),
        guard,
        change: Change::Check,
    }
}
