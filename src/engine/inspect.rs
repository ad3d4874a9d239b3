//! What a dispatcher does about a Run whose worker may be lost: it asks the world, waits as long as is fair, fences and stops.
//!
//! Who is asked, and what an answer leads to, is decided in [`super::recover`].

use std::time::Duration;

use tokio::time::Instant;

use super::core::Loaded;
use super::dispatch::{Dispatcher, Visit};
use super::draft::Draft;
use super::error::EngineError;
use super::observer::Patience;
use super::ports::ExecutionId;
use super::recover::{Verdict, release_lost, verdict};

/// A worker that lives, or may live, gets at least this long to renew a lease that has lapsed, once the store takes commits; unless
/// a lease is shorter. It is longer than the longest pause between two attempts of one commit.
const PATIENCE_MS: u64 = 5_000;

/// How long a silent worker's last chance lasts: longer than the third of a lease after which it renews.
fn patience_ms(lease_ms: u64) -> u64 {
    (lease_ms / 2).max(PATIENCE_MS.min(lease_ms))
}

impl Dispatcher {
    /// Asks the world about a worker, and does what its answer calls for. `true`: nothing more is to be done now.
    pub(super) async fn inspect(
        &self,
        visit: &Visit,
        loaded: &Loaded,
        execution: &ExecutionId,
        lapsed: bool,
    ) -> Result<bool, EngineError> {
        let session = &visit.session;
        let liveness = self.compute.inspect(execution).await;
        let mut draft = Draft::of(session, loaded, self.core.clock.now_ms());
        let leased = loaded.head.fence.lease.is_some();
        let verdict = verdict(liveness, lapsed);
        if leased && matches!(verdict, Verdict::Stop | Verdict::Quarantine) {
            let patience_ms = patience_ms(self.core.settings.lease_ms);
            let patience = Duration::from_millis(patience_ms);
            let begun = self
                .hints()
                .fences
                .patience(session, patience, Instant::now());
            match begun {
                Patience::Begins => {
                    // Perhaps nobody could commit for a while, and the worker is about to. From the moment at which it can, it
                    // gets a little time; this commit is what tells that moment.
                    draft.look_at(draft.now_ms + patience_ms);
                    self.seal(draft).await?;
                    self.hints().fences.warn(session, Instant::now());
                    return Ok(true);
                }
                Patience::Lasts => return Ok(true),
                Patience::IsOver => {}
            }
        }
        match verdict {
            Verdict::LeaveAlone => {
                self.watch_execution(execution, session);
                Ok(true)
            }
            Verdict::Release => {
                release_lost(
                    &mut draft,
                    &self.core.settings,
                    &format!("worker {execution} is gone"),
                );
                self.seal(draft).await?;
                self.counts.taken_over.one();
                Ok(false)
            }
            Verdict::Stop => {
                // Fence first: from here on nothing it still does is visible.
                if leased {
                    self.quarantine(draft, execution, "is silent and is being stopped")
                        .await?;
                }
                match self.compute.stop(execution).await {
                    Ok(()) => Ok(false),
                    Err(error) => Err(EngineError::Unavailable(error.to_string())),
                }
            }
            Verdict::Quarantine if leased => {
                self.quarantine(draft, execution, "can't be accounted for")
                    .await?;
                Ok(true)
            }
            Verdict::Quarantine => {
                // Asked again later. An entry that a clock ahead of this one has put there is left to it.
                let is_due = visit.entry.is_some_and(|entry| entry <= draft.now_ms);
                if is_due && loaded.head.deleted_ms.is_none() {
                    draft.move_agenda();
                    self.seal(draft).await?;
                }
                Ok(true)
            }
        }
    }

    async fn quarantine(
        &self,
        mut draft: Draft,
        execution: &ExecutionId,
        why: &str,
    ) -> Result<(), EngineError> {
        let now_ms = draft.now_ms;
        if draft.head.fence.lost_sight(now_ms).is_ok() {
            draft.head.last_error = Some(format!("worker {execution} {why}"));
            draft.move_agenda();
            self.seal(draft).await?;
            self.counts.fenced.one();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_chance_is_longer_than_a_worker_waits_before_it_renews() {
        for lease_ms in [1_000, 2_000, 8_000, 30_000, 86_400_000] {
            let patience_ms = patience_ms(lease_ms);
            assert!(patience_ms > lease_ms / 3, "{lease_ms}: {patience_ms}");
            assert!(patience_ms <= lease_ms, "{lease_ms}: {patience_ms}");
        }
    }
}
