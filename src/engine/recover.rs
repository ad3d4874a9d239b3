//! Recover: what a due Session needs, as a pure function; and what losing a worker does to a Turn.
//!
//! There is no second path: a lost Run is released here and then claimed by dispatch like any other.

use super::core::{Recovery, Settings};
use super::draft::Draft;
use super::fence::RunState;
use super::ports::{ExecutionId, Liveness};
use super::session::{ActiveTurn, Head};
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
    /// Too many workers were lost over its Turn, or its environment has expired: it ends without another one.
    GiveUp,
    /// The workspace of its environment, which has expired, is erased.
    Retire,
    /// The world is asked about this execution; `lapsed` says that it has been silent for a whole lease.
    Inspect {
        /// Which.
        execution: ExecutionId,
        /// Whether it is overdue.
        lapsed: bool,
    },
}

/// Decides from the head and from what this observer has seen of it: for `silent_ms` its fence has shown nothing new, on a clock
/// that nobody sets. `suspect`: somebody has a reason to ask about a live lease before it lapses (a death notice, or this program
/// just started).
pub fn step(head: &Head, settings: &Settings, now_ms: u64, silent_ms: u64, suspect: bool) -> Step {
    if head.deleted_ms.is_some() {
        return match &head.fence.quarantine {
            Some(quarantine) if silent_ms < PARTING_MS + STOPPING_MS => Step::Inspect {
                execution: quarantine.execution.clone(),
                lapsed: silent_ms >= PARTING_MS,
            },
            _ => Step::Erase,
        };
    }
    match head.fence.state() {
        RunState::Quarantined => match &head.fence.quarantine {
            Some(quarantine) => Step::Inspect {
                execution: quarantine.execution.clone(),
                // Whose environment has expired gets the time to stop and say so.
                lapsed: head.expiry.is_none() || silent_ms >= PARTING_MS,
            },
            None => Step::Postpone,
        },
        RunState::Leased => match &head.fence.lease {
            Some(lease) if silent_ms >= settings.lease_ms || suspect => Step::Inspect {
                execution: lease.execution.clone(),
                lapsed: silent_ms >= settings.lease_ms,
            },
            _ => Step::Postpone,
        },
        RunState::Free if let Some(expiry) = &head.expiry => match &head.turn {
            Some(_) => Step::GiveUp,
            None if !expiry.erased => Step::Retire,
            None => Step::Postpone,
        },
        RunState::Free => match (&head.turn, head.execution_due(now_ms)) {
            (Some(turn), Some(_)) if !rests(turn, now_ms) => {
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

/// A Run whose Session is deleted, or whose environment has expired, gets so long to stop and say so, before its worker is stopped.
const PARTING_MS: u64 = 10_000;
/// After this long a worker that can be neither stopped nor accounted for is not waited for any more: what it may still leave is
/// out of everybody's sight.
const STOPPING_MS: u64 = 60_000;

/// Whether the Turn is left alone after an attempt that came to nothing. A pause that is longer than it can be was written by a clock
/// that is ahead, and is over.
fn rests(turn: &ActiveTurn, now_ms: u64) -> bool {
    let left_ms = turn.not_before_ms.saturating_sub(now_ms);
    left_ms > 0 && left_ms <= pause_ms(turn.attempts, turn.unheard)
}

/// The pause behind so many attempts, in milliseconds. A machine takes minutes to start and is paid for: when one after the other ends
/// before anything is heard of its worker, the next one will hardly do better soon.
fn pause_ms(attempts: u32, unheard: u32) -> u64 {
    let machines_ms = match unheard {
        0 | 1 => 0,
        unheard => 7_500 << unheard.min(6),
    };
    machines_ms.max(50 << attempts.min(9))
}

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
        turn.not_before_ms = now_ms + pause_ms(turn.attempts, turn.unheard);
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
    unclaim(draft);
}

/// What was claimed for the active Turn is claimed again by the next Run.
pub fn unclaim(draft: &mut Draft) {
    let Some(number) = draft.head.turn.as_ref().map(|turn| turn.number) else {
        return;
    };
    for pending in draft.head.pending.iter_mut() {
        if pending.turn == number {
            pending.claimed = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let head = leased(10);
        let lease_ms = settings.lease_ms;
        let inspect = |lapsed| Step::Inspect {
            execution: ExecutionId("x".into()),
            lapsed,
        };
        // What the clock says has nothing to do with it.
        for now_ms in [0, 5, 10, u64::MAX] {
            let step = |silent_ms, suspect| step(&head, &settings, now_ms, silent_ms, suspect);
            assert_eq!(step(lease_ms - 1, false), Step::Postpone);
            assert_eq!(step(lease_ms - 1, true), inspect(false));
            assert_eq!(step(lease_ms, false), inspect(true));
        }
    }

    #[test]
    fn a_pause_is_never_longer_than_it_was_meant_though_clocks_disagree() {
        let settings = Settings::default();
        let mut head = Head::new("o".into(), 0);
        let mut turn = ActiveTurn::queued(1);
        turn.attempts = 3;
        turn.not_before_ms = 100_000;
        head.turn = Some(turn);
        let step = |now_ms| step(&head, &settings, now_ms, 0, false);
        assert_eq!(step(100_000 - pause_ms(3, 0)), Step::Postpone);
        assert_eq!(step(99_999), Step::Postpone);
        assert_eq!(step(100_000), Step::Claim);
        assert_eq!(step(100_000 - pause_ms(3, 0) - 1), Step::Claim);
        assert_eq!(step(1), Step::Claim);
    }

    #[test]
    fn machines_that_end_unheard_one_after_the_other_are_launched_less_and_less_often() {
        let pauses: Vec<u64> = (0..=8).map(|unheard| pause_ms(1, unheard)).collect();
        let seconds = |n: u64| n * 1_000;
        assert_eq!(pauses[..2], [100, 100]);
        assert_eq!(pauses[2..], [30, 60, 120, 240, 480, 480, 480].map(seconds));
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
        let after = |head: &Head, silent_ms| step(head, &settings, 8, silent_ms, false);
        assert_eq!(after(&head, 0), inspect(false));
        assert_eq!(after(&head, PARTING_MS), inspect(true));
        let too_late_ms = PARTING_MS + STOPPING_MS;
        assert_eq!(after(&head, too_late_ms), Step::Erase);
        head.fence.proven_gone().expect("accounted for");
        assert_eq!(after(&head, 0), Step::Erase);
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
