//! The fence: which Run may write, and until when it is presumed alive.
//!
//! A generation is claimed by one conditional write of the head and is never reused; only the highest may write. The lease is
//! a presumption of life, not an authority: it decides when somebody asks the world about the worker, never who may write.
//!
//! No two clocks are compared for it. Every commit of a Run counts the lease's renewals up; whoever looks after Runs sees on a clock
//! of its own for how long the count stays the same (`engine/observer.rs`).

use serde::{Deserialize, Serialize};

use super::ports::{ExecutionId, HarnessProgram};
use super::words::shorten;

/// Counter of Runs of one Session; 0 before the first.
pub type Generation = u64;

/// The time-bound right to be presumed the live Run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Where the Run executes.
    #[serde(rename = "x")]
    pub execution: ExecutionId,
    /// Until when its holder means to have renewed it, by the holder's own clock: for people, and where its entry in the agenda is
    /// put first. Nobody is judged by it. Unix ms.
    #[serde(rename = "u")]
    pub until_ms: u64,
    /// Times it was renewed: once by every commit of the Run.
    #[serde(rename = "n", default, skip_serializing_if = "is_zero")]
    pub renewals: u64,
    /// The worker of the Run before has it: it was there already, and only has to notice.
    #[serde(rename = "k", default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// A Run whose worker's state can't be established: fenced, and waiting for proof or for an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// The execution nobody can vouch for.
    pub execution: ExecutionId,
    /// Since when. Unix ms.
    pub since_ms: u64,
}

/// The fence of a Session, kept in its head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// The highest generation that was ever claimed.
    #[serde(rename = "g", default, skip_serializing_if = "is_zero")]
    pub generation: Generation,
    /// Present while a Run is live (or was, and nobody has taken over yet).
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// Present while a former Run's worker can't be accounted for.
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Quarantine>,
    /// Where the last Run gave its lease back: its worker may still have the Session's environment, and wait for more.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub last: Option<ExecutionId>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What a Run's fence can be in; derived from the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Nobody runs and nobody is missing.
    Free,
    /// A Run holds the lease.
    Leased,
    /// A former Run is unaccounted for.
    Quarantined,
}

/// What can happen to a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// Somebody claims the next generation.
    Claim,
    /// The live Run commits and stays.
    Renew,
    /// The live Run ends, waits for a client, or gives its lease back.
    Release,
    /// The world proves the worker gone.
    ProvenGone,
    /// The world can't tell.
    LostSight,
    /// An operator vouches that the worker is gone.
    OperatorRelease,
}

/// Why an event does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run that is {state:?} refuses {event:?}")]
pub struct RunRefusal {
    /// The state that refused.
    pub state: RunState,
    /// What it refused.
    pub event: RunEvent,
}

/// The life of a fence: total over state and event.
pub fn next(state: RunState, event: RunEvent) -> Result<RunState, RunRefusal> {
    use RunEvent::{Claim, LostSight, OperatorRelease, ProvenGone, Release, Renew};
    use RunState::{Free, Leased, Quarantined};
    let refused = Err(RunRefusal { state, event });
    match (state, event) {
        (Free, Claim) => Ok(Leased),
        (Free, Renew | Release | LostSight | OperatorRelease) => refused,
        // Late proof about a Run that is over already says nothing new.
        (Free, ProvenGone) => Ok(Free),
        // A live lease is never claimed over: it is released, proven gone, or put in quarantine first.
        (Leased, Claim | OperatorRelease) => refused,
        (Leased, Renew) => Ok(Leased),
        (Leased, Release | ProvenGone) => Ok(Free),
        (Leased, LostSight) => Ok(Quarantined),
        // The generation was raised when the quarantine began, so the old Run can't write either.
        (Quarantined, Claim | Renew | Release) => refused,
        (Quarantined, ProvenGone | OperatorRelease) => Ok(Free),
        (Quarantined, LostSight) => Ok(Quarantined),
    }
}

impl Fence {
    /// The state as recorded.
    pub fn state(&self) -> RunState {
        if self.quarantine.is_some() {
            RunState::Quarantined
        } else if self.lease.is_some() {
            RunState::Leased
        } else {
            RunState::Free
        }
    }

    /// Whether a Run with this generation and execution may write.
    pub fn accepts(&self, generation: Generation, execution: &ExecutionId) -> bool {
        self.generation == generation
            && self
                .lease
                .as_ref()
                .is_some_and(|lease| lease.execution == *execution)
    }

    /// The next generation begins, held by `execution`.
    pub fn claim(
        &mut self,
        execution: ExecutionId,
        until_ms: u64,
    ) -> Result<Generation, RunRefusal> {
        next(self.state(), RunEvent::Claim)?;
        self.generation += 1;
        let last = self.last.take();
        self.lease = Some(Lease {
            kept: last.as_ref() == Some(&execution),
            execution,
            until_ms,
            renewals: 0,
        });
        Ok(self.generation)
    }

    /// The live Run shows that it lives, and means to do so again by then.
    pub fn renew(&mut self, until_ms: u64) -> Result<(), RunRefusal> {
        next(self.state(), RunEvent::Renew)?;
        if let Some(lease) = &mut self.lease {
            lease.until_ms = until_ms;
            lease.renewals += 1;
        }
        Ok(())
    }

    /// The live Run ends by its own commit.
    pub fn release(&mut self) -> Result<(), RunRefusal> {
        next(self.state(), RunEvent::Release)?;
        self.last = self.lease.take().map(|lease| lease.execution);
        Ok(())
    }

    /// The worker is proven gone; its generation is over (nothing of it can still be in flight to be accepted, because the
    /// lease is what [`Fence::accepts`] asks for).
    pub fn proven_gone(&mut self) -> Result<(), RunRefusal> {
        next(self.state(), RunEvent::ProvenGone)?;
        self.lease = None;
        self.quarantine = None;
        Ok(())
    }

    /// Nobody can tell whether the worker lives: its generation ends now and the Session waits.
    pub fn lost_sight(&mut self, since_ms: u64) -> Result<(), RunRefusal> {
        next(self.state(), RunEvent::LostSight)?;
        if let Some(lease) = self.lease.take() {
            self.generation += 1;
            self.quarantine = Some(Quarantine {
                execution: lease.execution,
                since_ms,
            });
        }
        Ok(())
    }

    /// An operator vouches for the worker's end.
    pub fn operator_release(&mut self) -> Result<(), RunRefusal> {
        next(self.state(), RunEvent::OperatorRelease)?;
        self.quarantine = None;
        Ok(())
    }

    /// Ends every authority there is, for deletion. A Run that was live is remembered as one to be accounted for: nothing of it is
    /// visible any more, but until it is over it may still leave something behind that has to be erased.
    pub fn shut(&mut self, since_ms: u64) {
        self.generation += 1;
        if let Some(lease) = self.lease.take() {
            self.quarantine = Some(Quarantine {
                execution: lease.execution,
                since_ms,
            });
        }
    }
}

/// What is kept of one Run: row `run/<generation>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRow {
    /// Where it executes or executed.
    pub execution: ExecutionId,
    /// The Turn it was claimed for.
    pub turn: u64,
    /// Claimed at. Unix ms.
    pub started_ms: u64,
    /// Over since. Unix ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
    /// How it ended, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// What drove its agent last, where that is another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<HarnessProgram>,
    /// The last time that its agent began anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_anew: Option<BeganAnew>,
}

/// An agent began from the recorded Items, though its harness had kept a state of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeganAnew {
    /// In which Turn.
    pub turn: u64,
    /// Why, in words.
    pub why: String,
}

/// More words than this are cut.
const WHY_MAX_BYTES: usize = 400;

impl BeganAnew {
    /// In these words, as far as there is room for them.
    pub fn new(turn: u64, mut why: String) -> BeganAnew {
        shorten(&mut why, WHY_MAX_BYTES);
        BeganAnew { turn, why }
    }
}

impl RunRow {
    /// Notes what drives the agent, and that it began anew, if it did. Whether that is news.
    pub fn driven_by(&mut self, program: HarnessProgram, anew: Option<BeganAnew>) -> bool {
        let is_other = self.program.as_ref() != Some(&program);
        let is_anew = anew.is_some() && self.began_anew != anew;
        self.program = Some(program);
        if is_anew {
            self.began_anew = anew;
        }
        is_other || is_anew
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_event() -> impl Strategy<Value = RunEvent> {
        prop_oneof![
            3 => Just(RunEvent::Claim),
            2 => Just(RunEvent::Renew),
            1 => Just(RunEvent::Release),
            1 => Just(RunEvent::ProvenGone),
            1 => Just(RunEvent::LostSight),
            1 => Just(RunEvent::OperatorRelease),
        ]
    }

    proptest! {
        /// Whatever happens, at most one Run may write, it is the last that claimed, and nobody whose authority ended gets it back.
        #[test]
        fn only_the_last_claim_may_write_and_no_authority_returns(events in prop::collection::vec(any_event(), 0..40)) {
            let mut fence = Fence::default();
            let mut claims: Vec<(Generation, ExecutionId)> = Vec::new();
            let mut ended: Vec<(Generation, ExecutionId)> = Vec::new();
            for (at, event) in events.into_iter().enumerate() {
                let before = fence.clone();
                let by = execution(&at.to_string());
                let refused = match event {
                    RunEvent::Claim => fence.claim(by.clone(), 10).map(|generation| claims.push((generation, by))).is_err(),
                    RunEvent::Renew => fence.renew(20).is_err(),
                    RunEvent::Release => fence.release().is_err(),
                    RunEvent::ProvenGone => fence.proven_gone().is_err(),
                    RunEvent::LostSight => fence.lost_sight(5).is_err(),
                    RunEvent::OperatorRelease => fence.operator_release().is_err(),
                };
                prop_assert_eq!(refused, next(before.state(), event).is_err());
                if refused {
                    prop_assert_eq!(&fence, &before);
                }
                prop_assert!(fence.generation >= before.generation);
                let writers: Vec<_> = claims.iter().filter(|(g, x)| fence.accepts(*g, x)).collect();
                prop_assert!(writers.len() <= 1);
                prop_assert!(writers.iter().all(|writer| Some(*writer) == claims.last()));
                prop_assert!(ended.iter().all(|(g, x)| !fence.accepts(*g, x)));
                ended.extend(claims.iter().filter(|(g, x)| !fence.accepts(*g, x)).cloned());
            }
        }
    }

    fn execution(name: &str) -> ExecutionId {
        ExecutionId(name.into())
    }

    #[test]
    fn what_drives_a_run_is_news_once_and_the_last_new_beginning_stays() {
        let program = HarnessProgram {
            name: "codex".into(),
            version: "1".into(),
            sha256: "a".into(),
        };
        let mut row = RunRow {
            execution: execution("a"),
            turn: 3,
            started_ms: 1,
            ended_ms: None,
            end: None,
            program: None,
            began_anew: None,
        };
        let anew = |turn, why: &str| Some(BeganAnew::new(turn, why.to_owned()));
        assert!(row.driven_by(program.clone(), None));
        assert!(!row.driven_by(program.clone(), None));
        assert!(row.driven_by(program.clone(), anew(3, "it is damaged")));
        assert!(!row.driven_by(program.clone(), anew(3, "it is damaged")));
        assert!(!row.driven_by(program.clone(), None));
        assert_eq!(row.began_anew, anew(3, "it is damaged"));
        assert!(row.driven_by(program, anew(4, &"long ".repeat(1_000))));
        let why = row.began_anew.map(|anew| anew.why).unwrap_or_default();
        assert!(why.len() <= WHY_MAX_BYTES && why.ends_with('…'), "{why}");
    }

    #[test]
    fn a_live_lease_is_never_claimed_over() {
        let mut fence = Fence::default();
        assert_eq!(fence.claim(execution("a"), 10), Ok(1));
        assert!(fence.claim(execution("b"), 99).is_err());
        assert!(fence.accepts(1, &execution("a")));
        assert!(!fence.accepts(1, &execution("b")));
    }

    #[test]
    fn a_generation_is_never_reused() {
        let mut fence = Fence::default();
        for expected in 1..=3 {
            assert_eq!(fence.claim(execution("a"), 10), Ok(expected));
            fence.release().expect("leased");
            assert!(!fence.accepts(expected, &execution("a")));
        }
    }

    #[test]
    fn quarantine_ends_the_old_authority_at_once() {
        let mut fence = Fence::default();
        fence.claim(execution("a"), 10).expect("free");
        fence.lost_sight(20).expect("leased");
        assert!(!fence.accepts(1, &execution("a")));
        assert!(fence.claim(execution("b"), 99).is_err());
        fence.operator_release().expect("quarantined");
        assert_eq!(fence.claim(execution("b"), 99), Ok(3));
    }

    #[test]
    fn every_renewal_is_counted_whatever_the_clock_says() {
        let mut fence = Fence::default();
        fence.claim(execution("a"), 100).expect("free");
        for (until_ms, renewals) in [(50, 1), (50, 2), (9, 3)] {
            fence.renew(until_ms).expect("leased");
            let lease = fence.lease.clone().expect("leased");
            assert_eq!((lease.until_ms, lease.renewals), (until_ms, renewals));
        }
        fence.release().expect("leased");
        fence.claim(execution("b"), 100).expect("free");
        assert_eq!(fence.lease.map(|lease| lease.renewals), Some(0));
    }

    #[test]
    fn a_lease_of_an_older_version_was_never_renewed() {
        let older = serde_json::from_str::<Lease>(r#"{"x":"a","u":7}"#).expect("reads");
        assert_eq!(older.renewals, 0);
    }
}
