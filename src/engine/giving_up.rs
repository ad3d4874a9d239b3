//! Giving up: a Turn over which too many workers were lost, or whose environment has expired, ends without another one, whatever was decided
//! about it before.

use super::core::Loaded;
use super::dispatch::Dispatcher;
use super::draft::Draft;
use super::error::EngineError;
use super::expire::Expiry;
use super::ids::SessionId;
use super::settle::{CALLS_PER_COMMIT, Ending, close_some_calls, end_turn};
use super::subagent::{self, Closing};
use super::turn::{Capture, Failure};

impl Dispatcher {
    /// No worker can save its outputs any more: the Turn ends without one.
    pub(super) async fn give_up(
        &self,
        session: &SessionId,
        loaded: &Loaded,
    ) -> Result<bool, EngineError> {
        let Some(turn) = &loaded.head.turn else {
            return Ok(true);
        };
        let attending = self.core.attending(session, turn).await?;
        let mut draft = Draft::of(session, loaded, self.core.clock.now_ms());
        if turn.calls.len() > CALLS_PER_COMMIT {
            close_some_calls(&mut draft, &attending);
            self.seal(draft).await?;
            return Ok(false);
        }
        if !turn.subagents.is_empty() {
            let open = self.core.open_subagents(session, &loaded.head).await?;
            subagent::close(&mut draft, &open, Closing::Lost);
            self.seal(draft).await?;
            return Ok(false);
        }
        let expired = loaded.head.expiry.as_ref().map(Expiry::failure);
        let ending = match (&turn.cancel, expired.or_else(|| turn.doomed.clone())) {
            (Some(_), _) => Ending::Cancelled,
            (None, Some(failure)) => Ending::Failed(failure),
            (None, None) => Ending::Failed(Failure {
                code: "internal_error".into(),
                message: "no worker could be kept alive for this turn".into(),
            }),
        };
        let problem = match loaded.head.expiry {
            Some(_) => "outputs were not saved: the environment expired",
            None => "outputs were not saved: no worker could be kept alive for it",
        };
        let had_any = loaded.head.environment_opened && turn.begun;
        let capture = had_any.then(|| Capture {
            problem: Some(problem.into()),
            ..Capture::default()
        });
        end_turn(&mut draft, &attending, ending, capture)
            .map_err(|e| EngineError::Conflict(e.to_string()))?;
        self.seal(draft).await?;
        Ok(false)
    }
}
