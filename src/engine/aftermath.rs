//! What a worker still owes a Session when no Run of it goes on here: its environment is handed over to whoever needs it next, a
//! deletion is told that nothing more will come, and a claim that never arrived is given back.
//!
//! All of it only answers; whoever asks does not depend on it for ever. A ring that was lost is repeated by the one who waits, and a
//! worker that keeps silent is stopped.

use std::time::Duration;

use super::core::{Loaded, backoff};
use super::draft::Draft;
use super::error::EngineError;
use super::fence::RunRow;
use super::ids::SessionId;
use super::keys::{self, AGENDA_SHARDS};
use super::ports::{ExecutionId, RunGrant};
use super::run::Worker;
use super::session::Head;

/// How often a Run whose Session is deleted tries to say that it is over. If nobody hears it, its worker is stopped.
const FAREWELLS: u32 = 8;

/// A ring usually means that the Session's next Run begins here in a moment; then there is nothing to hand over, and nothing to read.
const HAND_OVER_AFTER: Duration = Duration::from_millis(20);

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

    /// Hands over what an earlier Run left open here, unless the Session goes on here.
    pub(super) async fn hand_over_soon(&self, session: &SessionId) {
        if self.kept.lock().await.contains_key(session) {
            tokio::time::sleep(HAND_OVER_AFTER).await;
            self.hand_over(session).await;
        }
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
                    && head.expiry.is_none()
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

    /// Closes the environment of a Run that was fenced, unless a newer Run of the Session has begun here: then it is that one's. What the
    /// older one was running there ended with its harness.
    pub(super) async fn close_behind(
        &self,
        session: &SessionId,
        generation: u64,
        environment: &str,
    ) {
        // As long as this is held, no Run begins here.
        let _kept = self.kept.lock().await;
        let is_newer = |run: &(SessionId, u64)| run.0 == *session && run.1 > generation;
        let superseded = self.running().iter().any(is_newer);
        if !superseded {
            self.environments.close(environment).await;
        }
    }

    /// A Session that is deleted under a Run is erased only when the Run is over: what it was storing at that moment is erased
    /// too. So is the workspace of an environment that expired under it. This is where it says so.
    pub(super) async fn say_it_is_over(&self, session: &SessionId, grant: &RunGrant) {
        for attempt in 1..=FAREWELLS {
            match self.core.load(session).await {
                Ok(Some(loaded)) => {
                    let Head {
                        deleted_ms,
                        expiry,
                        fence,
                        ..
                    } = &loaded.head;
                    let awaited = fence.quarantine.as_ref().map(|q| &q.execution);
                    if (deleted_ms.is_none() && expiry.is_none())
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

    /// Gives back what was claimed for this worker under the name `execution` and will never arrive, because whoever claimed it is
    /// gone. Otherwise such a lease would lapse while the worker is busy with others, and the worker be stopped for its silence.
    ///
    /// Call it when no further grant can come and all that came have been handed to [`Worker::run`].
    pub async fn give_back_what_never_came(&self, execution: &ExecutionId) {
        for shard in 0..AGENDA_SHARDS {
            if let Err(error) = self.give_back_of_shard(execution, shard).await {
                tracing::warn!(%error, "claims that never arrived could not be given back");
            }
        }
    }

    async fn give_back_of_shard(
        &self,
        execution: &ExecutionId,
        shard: u32,
    ) -> Result<(), EngineError> {
        for (session, loaded) in self.core.on_agenda(shard).await? {
            self.give_back(execution, &session, loaded).await?;
        }
        Ok(())
    }

    async fn give_back(
        &self,
        execution: &ExecutionId,
        session: &SessionId,
        loaded: Loaded,
    ) -> Result<(), EngineError> {
        let lease = loaded.head.fence.lease.as_ref();
        if lease.is_none_or(|lease| lease.execution != *execution)
            || self.rung().contains_key(session)
        {
            return Ok(());
        }
        let generation = loaded.head.fence.generation;
        let row: Option<RunRow> = self.core.row(session, keys::run(generation)).await?;
        let mut draft = Draft::of(session, &loaded, self.core.clock.now_ms());
        if draft.head.fence.release().is_err() {
            return Ok(());
        }
        for pending in &mut draft.head.pending {
            pending.claimed = 0;
        }
        if let Some(mut row) = row {
            row.ended_ms = Some(draft.now_ms);
            row.end = Some("never reached its worker".to_owned());
            draft.put(keys::run(generation), &row);
        }
        let (commit, _) = draft.seal(&*self.core.ids);
        // A conflict means that somebody has it in hand, which is all that is wanted.
        if self.core.commit_once(commit).await.is_ok() {
            self.core.bell.ring(session.as_str());
        }
        Ok(())
    }
}
