//! What a worker still owes a Session when no Run of it goes on here: its environment is handed over to whoever needs it next, and a
//! deletion is told that nothing more will come.
//!
//! Both only answer; whoever asks does not depend on it for ever. A ring that was lost is repeated by the one who waits, and a worker
//! that does not say that a Run is over is stopped.

use super::core::{Loaded, backoff};
use super::draft::Draft;
use super::ids::SessionId;
use super::ports::{ExecutionId, RunGrant};
use super::run::Worker;
use super::session::Head;

/// How often a Run whose Session is deleted tries to say that it is over. If nobody hears it, its worker is stopped.
const FAREWELLS: u32 = 8;

/// What outlives a Run in its worker: the environment, with what an agent left running in it.
pub(super) struct Kept {
    /// Environment id.
    environment: String,
    /// Under which name this worker ran the Session.
    execution: ExecutionId,
}

impl Worker {
    /// Remembers that a Run which is over may have left its environment open.
    pub(super) async fn keep_open(
        &self,
        session: &SessionId,
        environment: &str,
        execution: &ExecutionId,
    ) {
        let kept = Kept {
            environment: environment.to_owned(),
            execution: execution.clone(),
        };
        self.kept.lock().await.insert(session.clone(), kept);
    }

    /// Closes the environment that an earlier Run left open here, if the Session is gone or has another worker now.
    pub(super) async fn hand_over(&self, session: &SessionId) {
        // As long as this is held, no Run begins here.
        let mut kept = self.kept.lock().await;
        let Some(here) = kept.get(session) else {
            return;
        };
        if self.rung().contains_key(session) {
            return;
        }
        let needed_here = match self.core.load(session).await {
            Ok(Some(Loaded { head, .. })) => {
                let lease = head.fence.lease.as_ref();
                head.deleted_ms.is_none()
                    && lease.is_none_or(|lease| lease.execution == here.execution)
            }
            Ok(None) => false,
            // Whoever waits for it rings again.
            Err(_) => true,
        };
        if !needed_here {
            self.environments.close(&here.environment).await;
            kept.remove(session);
        }
    }

    /// A Session that is deleted under a Run is erased only when the Run is over: what it was storing at that moment is erased
    /// too. This is where it says so.
    pub(super) async fn say_it_is_over(&self, session: &SessionId, grant: &RunGrant) {
        for attempt in 1..=FAREWELLS {
            match self.core.load(session).await {
                Ok(Some(loaded)) => {
                    let Head {
                        deleted_ms, fence, ..
                    } = &loaded.head;
                    let awaited = fence.quarantine.as_ref().map(|q| &q.execution);
                    if deleted_ms.is_none()
                        || awaited != Some(&grant.execution)
                        || fence.generation != grant.generation + 1
                    {
                        return;
                    }
                    let mut draft = Draft::of(session, &loaded, self.core.clock.now_ms());
                    if draft.head.fence.proven_gone().is_err() {
                        return;
                    }
                    let (commit, _) = draft.seal(&*self.core.ids);
                    if self.core.commit_once(commit).await.is_ok() {
                        self.core.bell.ring(session.as_str());
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%session, %error, "could not say that a run is over");
                }
            }
            tokio::time::sleep(backoff(attempt)).await;
        }
    }
}
