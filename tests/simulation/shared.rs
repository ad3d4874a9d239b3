//! What all programs of one world share: chance, time, trouble, and the trace of what happened.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use rat_things::backend::memory::Fault as CommitFault;
use rat_things::backend::memory::ids::SeededIds;
use rat_things::engine::ports::{Clock, StoreError, StoreFault};
use tokio::time::Instant;

use super::faults::{Fault, Rates};
use super::life::{Fate, Life, Role};

/// Steps that are kept in words.
const TAIL: usize = 50;
/// A program that waits by plan waits so long.
const STALLED_MS: u64 = 180;
/// A program that stops by plan goes on after so long.
const FROZEN_MS: u64 = 60_000;
/// Where time starts. Unix ms.
const START_MS: u64 = 1_780_000_000_000;

/// Trouble at chosen places, in a world without chance: places are counted from 1 in the order in which they are reached.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Instants at which the program that reaches them is killed.
    pub kills: Vec<usize>,
    /// What becomes of commits.
    pub commits: Vec<(usize, Way)>,
    /// Instants at which the program that reaches them stops, to go on when nobody reckons with it any more.
    pub freezes: Vec<usize>,
    /// Instants at which the program that reaches them waits a little, while others go on.
    pub stalls: Vec<usize>,
    /// Reads of the store that do not answer.
    pub reads: Vec<usize>,
    /// By how much the clocks of programs are ahead, one program after the other, again and again. Milliseconds.
    pub clocks: &'static [i64],
}

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is refused.
    Away,
    /// It happens and its answer is lost.
    AnswerLost,
    /// It does not happen and nobody is told.
    CommitLost,
    /// It happens, and the program is killed before it hears so.
    KilledAfter,
}

/// See the module.
pub struct Shared {
    /// Every choice of the world is drawn from here.
    pub chance: SeededIds,
    started: Instant,
    inner: Mutex<Inner>,
}

struct Inner {
    rates: Rates,
    plan: Plan,
    /// Faults that may still happen.
    budget: u64,
    instants: usize,
    commits: usize,
    reads: usize,
    programs: usize,
    /// There is no space left: whatever is written is refused.
    full: bool,
    offset_ms: i64,
    latest_ms: u64,
    tail: VecDeque<String>,
    hash: u64,
    failures: Vec<String>,
    counts: BTreeMap<String, u64>,
}

impl Shared {
    /// A world of this seed.
    pub fn new(seed: u64, rates: Rates, plan: Plan, budget: u64) -> Arc<Shared> {
        Arc::new(Shared {
            chance: SeededIds::new(seed ^ 0x5157_0000_0000_0001),
            started: Instant::now(),
            inner: Mutex::new(Inner {
                rates,
                plan,
                budget,
                instants: 0,
                commits: 0,
                reads: 0,
                programs: 0,
                full: false,
                offset_ms: 0,
                latest_ms: START_MS,
                tail: VecDeque::new(),
                hash: 0xcbf2_9ce4_8422_2325,
                failures: Vec::new(),
                counts: BTreeMap::new(),
            }),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no program panics with it")
    }

    /// A number below `bound`.
    pub fn below(&self, bound: u64) -> u64 {
        self.chance.below(bound)
    }

    /// Whether this goes wrong now.
    pub fn strikes(&self, fault: Fault) -> bool {
        self.one_of(&[fault]).is_some()
    }

    /// Which of these goes wrong now; at most one.
    pub fn one_of(&self, faults: &[Fault]) -> Option<Fault> {
        let mut inner = self.inner();
        if faults.iter().all(|fault| inner.rates.of(*fault) == 0) || inner.budget == 0 {
            return None;
        }
        let mut drawn = self.chance.below(10_000) as u32;
        for &fault in faults {
            let rate = inner.rates.of(fault);
            if drawn < rate {
                inner.budget -= 1;
                *inner.counts.entry(format!("{fault:?}")).or_default() += 1;
                drop(inner);
                if !matches!(fault, Fault::RingLost | Fault::ClockDiffers) {
                    self.note(format_args!("! {fault:?}"));
                }
                return Some(fault);
            }
            drawn -= rate;
        }
        None
    }

    /// From now on nothing goes wrong any more.
    pub fn calm(&self) {
        let mut inner = self.inner();
        inner.rates = Rates::none();
        // Clocks stay as they are: nothing depends on them.
        inner.plan = Plan {
            clocks: inner.plan.clocks,
            ..Plan::default()
        };
        drop(inner);
        self.note(format_args!("the faults end"));
    }

    /// One instant of a program, and what becomes of it there.
    pub fn fate(&self, life: &Life, place: &str) -> Fate {
        let (killed, frozen, stalled) = {
            let mut inner = self.inner();
            inner.instants += 1;
            let at = inner.instants;
            let plan = &inner.plan;
            (
                plan.kills.contains(&at),
                plan.freezes.contains(&at),
                plan.stalls.contains(&at),
            )
        };
        if stalled {
            self.note(format_args!("{} waits by plan at {place}", life.name));
            self.count("planned stalls");
            return Fate::Stalls(STALLED_MS);
        }
        if frozen {
            self.note(format_args!("{} stops by plan at {place}", life.name));
            self.count("planned stops");
            return Fate::Freezes(FROZEN_MS);
        }
        if killed {
            self.note(format_args!("{} is killed by plan at {place}", life.name));
            self.count("planned kills");
            return Fate::Dies;
        }
        let possible: &[Fault] = match life.role {
            Role::Client => &[Fault::Kill, Fault::Stall],
            Role::Daemon | Role::Worker => &[Fault::Kill, Fault::Freeze, Fault::Stall],
        };
        let fate = match self.one_of(possible) {
            None => return Fate::Goes,
            Some(Fault::Kill) => Fate::Dies,
            Some(Fault::Freeze) => Fate::Freezes(1_000 + self.below(90_000)),
            Some(_) => Fate::Stalls(1 + self.below(if self.below(4) == 0 { 40_000 } else { 800 })),
        };
        self.note(format_args!("{} at {place}: {fate:?}", life.name));
        fate
    }

    /// From now on there is no space left, or there is again.
    pub fn fill(&self, full: bool) {
        self.inner().full = full;
    }

    /// Whether the next read of the store does not answer.
    pub fn read_fails(&self) -> bool {
        let planned = {
            let mut inner = self.inner();
            inner.reads += 1;
            let at = inner.reads;
            inner.plan.reads.contains(&at)
        };
        if planned {
            self.count("planned read faults");
        }
        planned || self.strikes(Fault::ReadFails)
    }

    /// What becomes of the next commit.
    pub fn commit_fate(&self) -> (CommitFault, bool) {
        if self.inner().full {
            let fault = StoreFault::DiskFull;
            let message = "no space left".to_owned();
            return (
                CommitFault::FailBefore(StoreError::Broken { fault, message }),
                false,
            );
        }
        let planned = {
            let mut inner = self.inner();
            inner.commits += 1;
            let at = inner.commits;
            let mut planned = inner.plan.commits.iter();
            planned.find(|(n, _)| *n == at).map(|(_, way)| *way)
        };
        let away = || CommitFault::FailBefore(StoreError::Unavailable("by chance".into()));
        let lost = || CommitFault::FailBefore(StoreError::Unknown("by chance".into()));
        if let Some(way) = planned {
            self.count("planned commit faults");
            return match way {
                Way::Away => (away(), false),
                Way::AnswerLost => (CommitFault::ApplyThenUnknown, false),
                Way::CommitLost => (lost(), false),
                Way::KilledAfter => (CommitFault::None, true),
            };
        }
        let possible = [
            Fault::StoreAway,
            Fault::StoreThrottled,
            Fault::AnswerLost,
            Fault::CommitLost,
        ];
        let fault = match self.one_of(&possible) {
            None => CommitFault::None,
            Some(Fault::StoreAway) => away(),
            Some(Fault::StoreThrottled) => CommitFault::Throttle,
            Some(Fault::AnswerLost) => CommitFault::ApplyThenUnknown,
            Some(_) => lost(),
        };
        (fault, false)
    }

    /// Instants, commits and reads so far.
    pub fn reached(&self) -> (usize, usize, usize) {
        let inner = self.inner();
        (inner.instants, inner.commits, inner.reads)
    }

    /// How often something happened so far.
    pub fn counted(&self, what: &str) -> u64 {
        self.inner().counts.get(what).copied().unwrap_or_default()
    }

    /// Something happened that is worth counting.
    pub fn count(&self, what: &str) {
        *self.inner().counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Something happened; it becomes part of the trace.
    pub fn note(&self, what: std::fmt::Arguments<'_>) {
        let at_ms = self.started.elapsed().as_millis();
        let line = format!("{:>4}.{:03} {what}", at_ms / 1_000, at_ms % 1_000);
        let mut inner = self.inner();
        for byte in line.bytes().chain(*b"\n") {
            inner.hash = (inner.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        *inner.counts.entry("steps".into()).or_default() += 1;
        // What comes behind the first failure says nothing more.
        if inner.failures.is_empty() {
            if inner.tail.len() == TAIL {
                inner.tail.pop_front();
            }
            inner.tail.push_back(line);
        }
    }

    /// A promise is broken.
    pub fn broken(&self, promise: &str, what: &str) {
        self.note(format_args!("BROKEN {promise} {what}"));
        let mut inner = self.inner();
        if inner.failures.len() < 5 {
            inner.failures.push(format!("{promise} {what}"));
        }
    }

    /// Promises that are broken so far.
    pub fn failures(&self) -> Vec<String> {
        self.inner().failures.clone()
    }

    /// Whether any promise is broken.
    pub fn failed(&self) -> bool {
        !self.inner().failures.is_empty()
    }

    /// Counts so far.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.inner().counts.clone()
    }

    /// The last steps in words, and a hash of all.
    pub fn trace(&self) -> (Vec<String>, u64) {
        let inner = self.inner();
        (inner.tail.iter().cloned().collect(), inner.hash)
    }

    /// By how much the clock of a program that begins is ahead of the others. Milliseconds.
    pub fn clock_of_next(&self) -> i64 {
        let planned = {
            let mut inner = self.inner();
            let at = inner.programs;
            inner.programs += 1;
            let clocks = inner.plan.clocks;
            (!clocks.is_empty()).then(|| clocks[at % clocks.len()])
        };
        if let Some(planned) = planned {
            return planned;
        }
        if !self.strikes(Fault::ClockDiffers) {
            return 0;
        }
        let by_ms = [1_000, 40_000, 600_000, 10_800_000][self.below(4) as usize];
        let by_ms = self.below(by_ms) as i64;
        if self.below(2) == 0 { -by_ms } else { by_ms }
    }

    /// What a program is told whose clock is so much ahead. Unix ms.
    pub fn told_ms(&self, ahead_ms: i64) -> u64 {
        let elapsed_ms = self.started.elapsed().as_millis() as u64;
        let mut inner = self.inner();
        let offset_ms = inner.offset_ms + ahead_ms;
        let now_ms = (START_MS + elapsed_ms).saturating_add_signed(offset_ms);
        inner.latest_ms = inner.latest_ms.max(now_ms);
        now_ms
    }

    /// All clocks are set to another time.
    pub fn jump(&self, by_ms: i64) {
        self.inner().offset_ms += by_ms;
        self.note(format_args!("the clocks jump by {by_ms} ms"));
    }

    /// The latest time that any program was ever told. Unix ms.
    pub fn latest_ms(&self) -> u64 {
        self.now_ms();
        self.inner().latest_ms
    }

    /// Virtual time since the beginning.
    pub fn elapsed_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

impl Clock for Shared {
    fn now_ms(&self) -> u64 {
        self.told_ms(0)
    }
}
