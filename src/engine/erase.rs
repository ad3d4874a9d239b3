//! Erasing a deleted Session: what deletion promised is done here, in the background. The fence fell when it was deleted.

use super::core::{Core, Loaded};
use super::error::EngineError;
use super::ids::SessionId;
use super::keys::{self, Group};
use super::ports::{Change, Commit, CommitId, Environments, Guard, Key, Range, StoreError, Write};

/// Rows of one commit, beside those that it asserts.
const ERASED_AT_ONCE: usize = 20;

impl Core {
    /// Erases a deleted Session: environment, rows, secrets, bytes, and last the head with its agenda entry. Resumable at any point. Bytes
    /// come behind the rows that point at them, here as everywhere.
    pub(super) async fn erase(
        &self,
        environments: &dyn Environments,
        session: &SessionId,
        loaded: &Loaded,
    ) -> Result<(), EngineError> {
        if let Some(config) = self.config(session).await?
            && let Some(environment) = &config.environment
        {
            // A worker that keeps it open between Turns lets go when it hears that the Session is gone.
            self.bell.ring(session.as_str());
            let removed = environments.remove(&environment.id).await;
            removed.map_err(|e| EngineError::Unavailable(e.to_string()))?;
        }
        let head = Key::new(keys::session_partition(session), keys::HEAD);
        // Whoever comes late must not touch what has the same id by then: a Session can be imported again.
        let fence = [Write {
            key: head.clone(),
            guard: Guard::Version(loaded.version),
            change: Change::Check,
        }];
        self.erase_rows(session, &[keys::HEAD], &fence).await?;
        let scope = self.scope(&loaded.head.owner, session);
        self.secrets.erase(&scope).await?;
        self.blobs.delete_scope(&scope).await?;
        let mut writes = vec![Write {
            key: head,
            guard: Guard::Version(loaded.version),
            change: Change::Delete,
        }];
        for (group, due) in [
            (Group::Execute, loaded.head.agenda.execute),
            (Group::Deliver, loaded.head.agenda.deliver),
        ] {
            if let Some(due) = due {
                let key = keys::agenda(group, session, due);
                writes.push(Write {
                    key,
                    guard: Guard::Any,
                    change: Change::Delete,
                });
            }
        }
        let id = CommitId::random(&*self.ids);
        self.commit_once(Commit {
            id,
            writes: writes.into(),
        })
        .await?;
        Ok(())
    }

    /// Deletes the rows of a Session but those in `keep`, as long as what `fence` asserts holds.
    pub(super) async fn erase_rows(
        &self,
        session: &SessionId,
        keep: &[&str],
        fence: &[Write],
    ) -> Result<(), StoreError> {
        let mut range = Range {
            partition: keys::session_partition(session),
            from: String::new(),
            until: None,
            reverse: false,
            limit: ERASED_AT_ONCE,
        };
        loop {
            let (keys, more) = self.store.keys(&range).await?;
            let doomed = keys.iter();
            let doomed: Vec<Write> = doomed
                .filter(|key| !keep.contains(&key.sort.as_str()))
                .map(|key| Write {
                    key: key.clone(),
                    guard: Guard::Any,
                    change: Change::Delete,
                })
                .collect();
            if !doomed.is_empty() {
                let id = CommitId::random(&*self.ids);
                let writes: Vec<Write> = fence.iter().cloned().chain(doomed).collect();
                self.commit_once(Commit {
                    id,
                    writes: writes.into(),
                })
                .await?;
            }
            match keys.last() {
                Some(last) if more => range.from = format!("{}\0", last.sort),
                _ => return Ok(()),
            }
        }
    }
}
