//! Halt: every Run of a store is fenced at once, whoever owns it, and its workers are accounted for. For an operator who wants nothing to
//! run any more; no daemon takes part.

use super::core::{Core, Loaded, backoff};
use super::draft::Draft;
use super::environment;
use super::error::EngineError;
use super::fence::RunState;
use super::ids::SessionId;
use super::keys::AGENDA_SHARDS;
use super::ports::{ExecutionId, StoreError};
use super::recover::unclaim;

/// What stands as the reason in a Session whose Run was ended like this.
const WHY: &str = "an operator stopped all workers";

/// A Session whose Run may not write any more, and where it executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fenced {
    /// Whose Run it was.
    pub session: SessionId,
    /// Where it executes, until the opposite is known.
    pub execution: ExecutionId,
}

impl Core {
    /// Fences every Run that there is, and answers them with those that were in quarantine already. From here on nothing that they do is
    /// visible.
    ///
    /// # Errors
    /// The store's. What was fenced until then stays fenced.
    pub async fn fence_all(&self) -> Result<Vec<Fenced>, EngineError> {
        let mut fenced = Vec::new();
        for shard in 0..AGENDA_SHARDS {
            for (session, loaded) in self.on_agenda(shard).await? {
                if loaded.head.fence.state() != RunState::Free
                    && let Some(execution) = self.fence_run(&session).await?
                {
                    fenced.push(Fenced { session, execution });
                }
            }
        }
        Ok(fenced)
    }

    /// Fences the Run of one Session; where it executes, if there is one.
    async fn fence_run(&self, session: &SessionId) -> Result<Option<ExecutionId>, EngineError> {
        self.settle_fence(session, |draft| {
            let now_ms = draft.now_ms;
            if draft.head.fence.lost_sight(now_ms).is_ok() {
                draft.head.last_error = Some(WHY.to_owned());
                draft.move_agenda();
            }
        })
        .await?;
        let loaded = self.load(session).await?;
        let quarantine = loaded.and_then(|loaded| loaded.head.fence.quarantine);
        Ok(quarantine.map(|quarantine| quarantine.execution))
    }

    /// The worker of a Run that was fenced is proven gone: its Session is free for another one, and its Turn goes on then. That is no
    /// fault of the Turn's, and costs it no attempt.
    ///
    /// # Errors
    /// The store's.
    pub async fn account_for(&self, fenced: &Fenced) -> Result<(), EngineError> {
        self.settle_fence(&fenced.session, |draft| {
            let quarantine = draft.head.fence.quarantine.as_ref();
            if quarantine.is_some_and(|quarantine| quarantine.execution == fenced.execution)
                && draft.head.fence.proven_gone().is_ok()
            {
                environment::abandoned(draft);
                draft.head.last_error = Some(WHY.to_owned());
                unclaim(draft);
                draft.move_agenda();
            }
        })
        .await?;
        self.bell.ring(fenced.session.as_str());
        Ok(())
    }

    /// Commits what `change` makes of the head as it is now, if it makes anything of it; decided anew as often as others are quicker.
    async fn settle_fence(
        &self,
        session: &SessionId,
        change: impl Fn(&mut Draft),
    ) -> Result<(), EngineError> {
        for attempt in self.decisions() {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
            }
            let Some(loaded) = self.load(session).await? else {
                return Ok(());
            };
            let mut draft = Draft::of(session, &loaded, self.clock.now_ms());
            change(&mut draft);
            let Loaded { head, .. } = &loaded;
            if draft.head.fence == head.fence {
                return Ok(());
            }
            let (commit, _) = draft.seal(&*self.ids);
            match self.commit_once(commit).await {
                Ok(()) => {
                    self.bell.ring_change(session.as_str());
                    return Ok(());
                }
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Busy {
            attempts: self.decisions().end,
        })
    }
}
