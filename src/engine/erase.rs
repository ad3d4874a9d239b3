//! Erasing a deleted Session: what deletion promised is done here, in the background. The fence fell when it was deleted.

use super::core::{Core, Loaded};
use super::error::EngineError;
use super::ids::SessionId;
use super::keys::{self, Group};
use super::ports::{Change, Commit, CommitId, Environments, Guard, Key, Range, Write};

impl Core {
    /// Erases a deleted Session: environment, secrets, bytes, rows, and last the head with its agenda entry. Resumable at any point.
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
        let scope = self.scope(&loaded.head.owner, session);
        self.secrets.erase(&scope).await?;
        self.blobs.delete_scope(&scope).await?;
        let partition = keys::session_partition(session);
        let mut from = String::new();
        loop {
            let range = Range {
                partition: partition.clone(),
                from,
                until: None,
                reverse: false,
                limit: 20,
            };
            let page = self.store.range(&range).await?;
            let doomed = page.records.iter().filter(|r| r.key.sort != keys::HEAD);
            let writes: Vec<Write> = doomed
                .map(|r| Write {
                    key: r.key.clone(),
                    guard: Guard::Any,
                    change: Change::Delete,
                })
                .collect();
            if !writes.is_empty() {
                self.commit_once(Commit {
                    id: CommitId::random(&*self.ids),
                    writes,
                })
                .await?;
            }
            match page.records.last() {
                Some(last) if page.more => from = format!("{}\0", last.key.sort),
                _ => break,
            }
        }
        self.erase_head(session, loaded).await
    }

    /// The last row, and what leads to it.
    async fn erase_head(&self, session: &SessionId, loaded: &Loaded) -> Result<(), EngineError> {
        let head = Key::new(keys::session_partition(session), keys::HEAD);
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
        self.commit_once(Commit { id, writes }).await?;
        Ok(())
    }
}
