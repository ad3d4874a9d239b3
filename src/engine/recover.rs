//! Recover: what a due Session needs, as a pure function; and what losing a worker does to a Turn.
//!
//! There is no second path: a lost Run is released here and then claimed by dispatch like any other.

use super::core::{Recovery, Settings};
use super::draft::Draft;
use super::fence::RunState;
use super::ports::{ExecutionId, Liveness};
use super::session::Head;
use super::turn::Failure;

/// What a due Session needs next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: its agenda entry is removed or moved to where it is due.
    Postpone,
    /// Its rows and bytes are erased.
    Erase,
    /// A worker is claimed for it.
    Claim,
    /// Too many workers were lost over its Turn: it ends without another one.
    GiveUp,
    /// The world is asked about this execution; `lapsed` says that its lease is over.
    Inspect {
        /// Which.
        execution: ExecutionId,
        /// Whether it is overdue.
        lapsed: bool,
    },
}

/// Decides from the head alone. `suspect`: somebody has a reason to ask about a live lease before it lapses (a death notice, or
/// this program just started).
pub fn step(head: &Head, settings: &Settings, now_ms: u64, suspect: bool) -> Step {
    if let Some(deleted_ms) = head.deleted_ms {
        let since_ms = now_ms.saturating_sub(deleted_ms);
        return match &head.fence.quarantine {
            Some(quarantine) if since_ms < PARTING_MS + STOPPING_MS => Step::Inspect {
                execution: quarantine.execution.clone(),
                lapsed: since_ms >= PARTING_MS,
            },
            _ => Step::Erase,
        };
    }
    match head.fence.state() {
        RunState::Quarantined => match &head.fence.quarantine {
            Some(quarantine) => Step::Inspect {
                execution: quarantine.execution.clone(),
                lapsed: true,
            },
            None => Step::Postpone,
        },
        RunState::Leased => match &head.fence.lease {
            Some(lease) if lease.until_ms <= now_ms || suspect => Step::Inspect {
                execution: lease.execution.clone(),
                lapsed: lease.until_ms <= now_ms,
            },
            _ => Step::Postpone,
        },
        RunState::Free => match (&head.turn, head.execution_due(now_ms)) {
            (Some(turn), Some(due)) if due <= now_ms => {
                if turn.attempts > settings.turn_attempts + SPARE_ATTEMPTS {
                    Step::GiveUp
                } else {
                    Step::Claim
                }
            }
            _ => Step::Postpone,
        },
    }
}

/// A Run whose Session is deleted gets so long to stop and say so, before its worker is stopped.
const PARTING_MS: u64 = 10_000;
/// After this long a worker that can be neither stopped nor accounted for is not waited for any more: what it may still leave is
/// out of everybody's sight.
const STOPPING_MS: u64 = 60_000;

/// Runs that a doomed Turn still gets, only to save its outputs.
const SPARE_ATTEMPTS: u32 = 2;

/// What an inspection leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It lives and its lease is good: leave it alone.
    LeaveAlone,
    /// It lives but has been silent for too long: fence it, stop it, wait until it is gone.
    Stop,
    /// It is gone: release and go on.
    Release,
    /// Nobody can tell: quarantine (I10).
    Quarantine,
}

/// The verdict on an inspected execution.
pub fn verdict(liveness: Liveness, lapsed: bool) -> Verdict {
    match (liveness, lapsed) {
        (Liveness::Gone, _) => Verdict::Release,
        (Liveness::Running | Liveness::Unknown, false) => Verdict::LeaveAlone,
        (Liveness::Running, true) => Verdict::Stop,
        (Liveness::Unknown, true) => Verdict::Quarantine,
    }
}

/// The worker is gone: its authority ends, and its Turn goes on later, or fails by policy or after too many losses.
pub fn release_lost(draft: &mut Draft, settings: &Settings, why: &str) {
    if draft.head.fence.proven_gone().is_err() {
        return;
    }
    super::environment::abandoned(draft);
    draft.head.last_error = Some(why.to_owned());
    charge_attempt(draft, settings, why);
    let Some(turn) = &mut draft.head.turn else {
        return;
    };
    if turn.begun && turn.doomed.is_none() && settings.recovery == Recovery::Fail {
        let message = format!("the worker was lost, and lost turns do not continue here: {why}");
        turn.doomed = Some(Failure {
            code: "internal_error".into(),
            message,
        });
    }
}

/// One more attempt on the active Turn came to nothing.
pub fn charge_attempt(draft: &mut Draft, settings: &Settings, why: &str) {
    let now_ms = draft.now_ms;
    let Some(turn) = &mut draft.head.turn else {
        return;
    };
    turn.attempts += 1;
    if turn.attempts > 1 {
        turn.not_before_ms = now_ms + (50u64 << turn.attempts.min(9));
    }
    for pending in draft
        .head
        .pending
        .iter_mut()
        .filter(|p| p.turn == turn.number)
    {
        pending.claimed = 0;
    }
    if turn.doomed.is_none() && turn.attempts >= settings.turn_attempts {
        let message = format!(
            "given up after {} attempts without progress: {why}",
            turn.attempts
        );
        turn.doomed = Some(Failure {
            code: "internal_error".into(),
            message,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::session::ActiveTurn;

    fn leased(until_ms: u64) -> Head {
        let mut head = Head::new("o".into(), 0);
        head.turn = Some(ActiveTurn::queued(1));
        head.fence
            .claim(ExecutionId("x".into()), until_ms)
            .expect("free");
        head
    }

    #[test]
    fn a_good_lease_is_left_alone_unless_somebody_suspects_it() {
        let settings = Settings::default();
        assert_eq!(step(&leased(10), &settings, 5, false), Step::Postpone);
        let execution = ExecutionId("x".into());
        assert_eq!(
            step(&leased(10), &settings, 5, true),
            Step::Inspect {
                execution: execution.clone(),
                lapsed: false
            }
        );
        assert_eq!(
            step(&leased(10), &settings, 10, false),
            Step::Inspect {
                execution,
                lapsed: true
            }
        );
    }

    #[test]
    fn a_deleted_session_is_erased_once_its_run_is_over_and_not_before() {
        let settings = Settings::default();
        let mut head = leased(50);
        head.fence.shut(7);
        head.deleted_ms = Some(7);
        let inspect = |lapsed| Step::Inspect {
            execution: ExecutionId("x".into()),
            lapsed,
        };
        assert_eq!(step(&head, &settings, 8, false), inspect(false));
        let late_ms = 7 + PARTING_MS;
        assert_eq!(step(&head, &settings, late_ms, false), inspect(true));
        let too_late_ms = late_ms + STOPPING_MS;
        assert_eq!(step(&head, &settings, too_late_ms, false), Step::Erase);
        head.fence.proven_gone().expect("accounted for");
        assert_eq!(step(&head, &settings, 8, false), Step::Erase);
    }

    #[test]
    fn an_unknown_worker_is_never_taken_for_dead() {
        assert_eq!(verdict(Liveness::Unknown, true), Verdict::Quarantine);
        assert_eq!(verdict(Liveness::Unknown, false), Verdict::LeaveAlone);
        assert_eq!(verdict(Liveness::Running, true), Verdict::Stop);
        assert_eq!(verdict(Liveness::Gone, false), Verdict::Release);
    }

    #[test]
    fn a_turn_fails_by_itself_after_too_many_losses() {
        let settings = Settings::default();
        let mut head = leased(10);
        for _ in 0..settings.turn_attempts {
            assert!(head.turn.as_ref().is_some_and(|t| t.doomed.is_none()));
            let loaded = crate::engine::core::Loaded {
                head: head.clone(),
                version: 1,
            };
            let session = crate::engine::ids::SessionId::parse(&format!("sess_{}", "a".repeat(26)))
                .expect("well formed");
            let mut draft = Draft::of(&session, &loaded, 20);
            release_lost(&mut draft, &settings, "killed");
            head = draft.head;
            head.fence.claim(ExecutionId("x".into()), 10).expect("free");
        }
        assert!(head.turn.is_some_and(|t| t.doomed.is_some()));
    }
}
