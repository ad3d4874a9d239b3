//! Expire: an operator ends an environment for good. Its Session stays readable, and takes no more messages.
//!
//! One commit says so, with reason and time, and fences the Run that there is. The rest follows from the head like all work: the Run's
//! worker is accounted for, open Turns fail without a worker, and the workspace is erased.

use serde::{Deserialize, Serialize};

use super::core::{Core, Loaded, backoff};
use super::dispatch::Dispatcher;
use super::draft::Draft;
use super::environment;
use super::error::EngineError;
use super::ids::SessionId;
use super::ports::StoreError;
use super::turn::Failure;

/// Code of the error that a Turn ends with.
const TURN_CODE: &str = "sandbox_error";

/// That an environment is over for good: part of the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// Since when. Unix ms.
    #[serde(rename = "t")]
    pub at_ms: u64,
    /// Why, in the words of who ended it; cut to what a head has room for.
    #[serde(rename = "w")]
    pub why: String,
    /// Its workspace is erased.
    #[serde(rename = "e", default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

impl Expiry {
    /// In a sentence, without its end.
    pub fn words(&self) -> String {
        format!("the environment of this session expired: {}", self.why)
    }

    /// Why a message is not accepted, and the way on.
    pub fn refusal(&self) -> EngineError {
        EngineError::Conflict(format!(
            "{}; it takes no more messages. What it has stays readable; create another session to go on",
            self.words()
        ))
    }

    /// How a Turn ends that was not over.
    pub fn failure(&self) -> Failure {
        Failure {
            code: TURN_CODE.to_owned(),
            message: self.words(),
        }
    }
}

/// What an operator is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// The environment.
    pub environment: String,
    /// Its Session.
    pub session: SessionId,
    /// Since when, and why.
    pub expiry: Expiry,
    /// It had expired before; nothing was changed.
    pub already: bool,
}

/// Ends the environment in a draft. One that has expired stays as it is.
pub fn expire(draft: &mut Draft, why: &str) {
    if draft.head.expiry.is_some() {
        return;
    }
    let now_ms = draft.now_ms;
    let expiry = Expiry {
        at_ms: now_ms,
        why: why.to_owned(),
        erased: false,
    };
    environment::expired(draft, &expiry);
    draft.head.expiry = Some(expiry);
    // A Run is accounted for before anything is erased. Without one there is none to lose sight of.
    let _ = draft.head.fence.lost_sight(now_ms);
    // Whoever waits there for more work goes.
    draft.head.fence.last = None;
    draft.move_agenda();
}

impl Core {
    /// Ends the environment of a Session for good, with a reason. Once this answers no later write of its Run succeeds, and no Turn opens
    /// it any more. Asked again, it answers what holds already.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if the owner has no such Session; [`EngineError::Invalid`] if it has no environment;
    /// [`EngineError::Unknown`] when the answer was lost, which asking again settles.
    pub async fn expire_environment(
        &self,
        owner: &str,
        session: &SessionId,
        why: &str,
    ) -> Result<Expired, EngineError> {
        let config = self.read_session(owner, session).await?.config;
        let Some(environment) = config.environment else {
            let message = "this session has no environment".to_owned();
            return Err(EngineError::invalid("environment", message));
        };
        for attempt in self.decisions() {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
            }
            let loaded = self.load_owned(owner, session).await?;
            let answer = |expiry: Expiry, already| Expired {
                environment: environment.id.clone(),
                session: session.clone(),
                expiry,
                already,
            };
            if let Some(expiry) = loaded.head.expiry {
                return Ok(answer(expiry, true));
            }
            let mut draft = Draft::of(session, &loaded, self.clock.now_ms());
            expire(&mut draft, why);
            let (commit, head) = draft.seal(&*self.ids);
            match (self.commit_once(commit).await, head.expiry) {
                (Ok(()), Some(expiry)) => {
                    self.bell.ring(session.as_str());
                    return Ok(answer(expiry, false));
                }
                (Ok(()), None) | (Err(StoreError::Conflict(_)), _) => {}
                (Err(error), _) => return Err(error.into()),
            }
        }
        Err(EngineError::Busy {
            attempts: self.decisions().end,
        })
    }
}

impl Dispatcher {
    /// Erases the workspace of an environment that has expired. Nobody works in it any more; who only keeps it open lets go of it when
    /// it hears of this.
    pub(super) async fn retire(
        &self,
        session: &SessionId,
        loaded: &Loaded,
    ) -> Result<bool, EngineError> {
        let config = self.core.config(session).await?;
        if let Some(environment) = config.and_then(|config| config.environment) {
            self.core.bell.ring(session.as_str());
            let removed = self.environments.remove(&environment.id).await;
            removed.map_err(|error| EngineError::Unavailable(error.to_string()))?;
        }
        let mut draft = Draft::of(session, loaded, self.core.clock.now_ms());
        if let Some(expiry) = &mut draft.head.expiry {
            expiry.erased = true;
        }
        self.seal(draft).await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{EnvironmentStatus, SessionStatus};
    use crate::engine::core::Settings;
    use crate::engine::ports::{ExecutionId, Ids};
    use crate::engine::recover::{Step, step};
    use crate::engine::session::{ActiveTurn, Head, QueuedTurn};

    /// Every id is the same.
    struct Zeros;

    impl Ids for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    fn expired(head: Head) -> Head {
        let session = SessionId::parse(&format!("sess_{}", "b".repeat(26))).expect("well formed");
        let loaded = Loaded { head, version: 1 };
        let mut draft = Draft::of(&session, &loaded, 20);
        expire(&mut draft, "why");
        draft.seal(&Zeros).1
    }

    fn next(head: &Head, silent_ms: u64) -> Step {
        step(head, &Settings::default(), 30, silent_ms, false)
    }

    #[test]
    fn an_idle_session_fails_and_its_workspace_is_erased_once() {
        let mut head = Head::new("o".into(), 1);
        head.fence.last = Some(ExecutionId("x".into()));
        let mut head = expired(head);
        assert_eq!(head.status(), SessionStatus::Failed);
        assert_eq!(head.environment_status, Some(EnvironmentStatus::Expired));
        assert_eq!(
            (head.fence.last.clone(), head.agenda.execute),
            (None, Some(20))
        );
        assert_eq!(next(&head, 0), Step::Retire);
        head.expiry.as_mut().expect("it expired").erased = true;
        assert_eq!(
            (next(&head, 0), head.execution_due(30)),
            (Step::Postpone, None)
        );
    }

    #[test]
    fn a_run_is_accounted_for_before_its_turn_fails_and_that_before_the_workspace_goes() {
        let mut head = Head::new("o".into(), 1);
        head.turn = Some(ActiveTurn::queued(1));
        head.queue.push(QueuedTurn {
            number: 2,
            input: 2,
        });
        head.fence.claim(ExecutionId("x".into()), 9).expect("free");
        let mut head = expired(head);
        assert!(!head.fence.accepts(1, &ExecutionId("x".into())));
        let inspect = |lapsed| Step::Inspect {
            execution: ExecutionId("x".into()),
            lapsed,
        };
        assert_eq!(
            next(&head, 0),
            inspect(false),
            "it gets the time to say that it is over"
        );
        assert_eq!(next(&head, 60_000), inspect(true));
        head.fence.proven_gone().expect("accounted for");
        for _ in 0..2 {
            assert_eq!(next(&head, 0), Step::GiveUp);
            assert_eq!(head.status(), SessionStatus::InProgress);
            head.turn = None;
            head.promote();
        }
        assert_eq!(next(&head, 0), Step::Retire);
    }

    #[test]
    fn what_expired_stays_as_it_is() {
        let once = expired(Head::new("o".into(), 1));
        let again = expired(once.clone());
        assert_eq!(
            (again.expiry, again.fence),
            (once.expiry.clone(), once.fence)
        );
        assert_eq!(
            once.expiry.map(|expiry| (expiry.at_ms, expiry.why)),
            Some((20, "why".to_owned()))
        );
    }
}
