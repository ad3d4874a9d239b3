//! The workers of a world, and what daemons can learn of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use rat_things::engine::ports::{Compute, ComputeError, ExecutionId, Liveness, RunGrant};
use rat_things::engine::run::Worker;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::faults::Fault;
use super::life::{Life, Role};
use super::parts::Parts;
use super::sabotage::Sabotage;

/// Sessions that one worker of a pool runs at most.
const POOL_RUNS: usize = 3;

/// See the module.
pub struct Fleet {
    parts: Parts,
    /// Workers are shared by Sessions, rather than each of one run.
    pool: bool,
    /// Of a worker that has stopped nobody can tell whether it lives.
    pub blind: AtomicBool,
    /// So many of the next launches fail.
    pub failing_launches: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last_number: u64,
    places: BTreeMap<String, Place>,
    deaths: Vec<mpsc::UnboundedSender<ExecutionId>>,
}

/// One worker process.
struct Place {
    life: Arc<Life>,
    worker: Option<Arc<Worker>>,
    granted: Vec<RunGrant>,
    /// Runs that go on.
    runs: Arc<AtomicUsize>,
    unseen_until: Option<Instant>,
    leaving: bool,
}

impl Fleet {
    /// No workers yet.
    pub fn new(parts: &Parts, pool: bool) -> Arc<Fleet> {
        Arc::new(Fleet {
            parts: parts.clone(),
            pool,
            blind: AtomicBool::new(false),
            failing_launches: AtomicUsize::new(0),
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no program panics with it")
    }

    /// Runs that go on in workers that live.
    pub fn runs(&self) -> usize {
        let state = self.state();
        let living = state.places.values().filter(|place| !place.life.is_dead());
        living.map(|place| place.runs.load(Ordering::SeqCst)).sum()
    }

    /// Stopped workers go on, and everybody is seen again.
    pub fn calm(&self) {
        for place in self.state().places.values_mut() {
            place.unseen_until = None;
            place.life.thaw();
        }
    }

    /// Workers that live and work, by name.
    pub fn working(&self) -> Vec<String> {
        let state = self.state();
        let working = state
            .places
            .iter()
            .filter(|(_, place)| !place.life.is_dead() && place.runs.load(Ordering::SeqCst) > 0);
        working.map(|(name, _)| name.clone()).collect()
    }

    /// The life of a worker.
    pub fn life(&self, name: &str) -> Option<Arc<Life>> {
        let state = self.state();
        state.places.get(name).map(|place| Arc::clone(&place.life))
    }

    /// All workers that live die at once.
    pub fn kill_all(&self) {
        let lives: Vec<Arc<Life>> = {
            let state = self.state();
            let lives = state.places.values().map(|place| Arc::clone(&place.life));
            lives.collect()
        };
        lives.iter().for_each(|life| life.die());
    }

    /// A worker is asked to leave, and ends when its runs have.
    pub fn dismiss(self: &Arc<Self>, name: &str, grace_ms: u64) {
        let (life, worker, runs) = {
            let mut state = self.state();
            // Of several runs nobody could say which one hears it first.
            let alone =
                |place: &&mut Place| !place.leaving && place.runs.load(Ordering::SeqCst) <= 1;
            let Some(place) = state.places.get_mut(name).filter(alone) else {
                return;
            };
            let Some(worker) = place.worker.clone() else {
                return;
            };
            place.leaving = true;
            (Arc::clone(&place.life), worker, Arc::clone(&place.runs))
        };
        self.parts
            .shared
            .note(format_args!("{name} is asked to leave"));
        worker.leave(grace_ms);
        let execution = ExecutionId(name.to_owned());
        tokio::spawn(async move {
            let until = Instant::now() + Duration::from_millis(grace_ms + 60_000);
            while runs.load(Ordering::SeqCst) > 0 && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            worker.give_back_what_never_came(&execution).await;
            life.die();
        });
    }

    fn add(&self, state: &mut State) -> ExecutionId {
        state.last_number += 1;
        let name = format!("worker:{}", state.last_number);
        let place = Place {
            life: Life::new(&*name, Role::Worker, &self.parts.shared),
            worker: None,
            granted: Vec::new(),
            runs: Arc::default(),
            unseen_until: None,
            leaving: false,
        };
        state.places.insert(name.clone(), place);
        ExecutionId(name)
    }

    /// A worker of a pool that has room, rather one that knows the Session.
    fn with_room(&self, state: &State, session: &str) -> Option<ExecutionId> {
        let usable = |place: &Place| {
            !place.leaving && place.life.goes() && place.runs.load(Ordering::SeqCst) < POOL_RUNS
        };
        let mut usable = state.places.iter().filter(|(_, place)| usable(place));
        let knows = |place: &Place| place.granted.iter().any(|grant| grant.session == session);
        let known = usable.clone().find(|(_, place)| knows(place));
        let found = known.or_else(|| usable.next());
        found.map(|(name, _)| ExecutionId(name.clone()))
    }

    /// A grant reaches its worker.
    fn start(self: &Arc<Self>, grant: &RunGrant) {
        let mut state = self.state();
        let Some(place) = state.places.get_mut(&grant.execution.0) else {
            return;
        };
        if place.life.is_dead() {
            return;
        }
        let life = Arc::clone(&place.life);
        if place.worker.is_none() {
            place.worker = Some(self.parts.worker(&life));
            let (fleet, dead) = (Arc::clone(self), Arc::clone(&life));
            tokio::spawn(async move {
                dead.died().await;
                fleet.bury(&dead).await;
            });
        }
        let Some(worker) = place.worker.clone() else {
            return;
        };
        self.parts.watch.given(&life, grant);
        let runs = Arc::clone(&place.runs);
        let grant = grant.clone();
        runs.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(async move {
            worker.run(grant).await;
            runs.fetch_sub(1, Ordering::SeqCst);
        });
    }

    async fn bury(&self, life: &Arc<Life>) {
        self.parts.bury(life);
        let shared = &self.parts.shared;
        if shared.strikes(Fault::DeathUnnoticed) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(shared.below(300))).await;
        let name = ExecutionId(life.name.clone());
        self.state()
            .deaths
            .retain(|to| to.send(name.clone()).is_ok());
    }
}

/// The fleet as one daemon has it.
pub struct SimCompute {
    /// Whose.
    pub life: Arc<Life>,
    /// Everybody's.
    pub fleet: Arc<Fleet>,
}

#[async_trait]
impl Compute for SimCompute {
    async fn reserve(
        &self,
        session: &str,
        _last: Option<&ExecutionId>,
    ) -> Result<ExecutionId, ComputeError> {
        self.life.instant("reserve").await;
        if self.life.shared.strikes(Fault::NoRoom) {
            return Err(ComputeError::Full);
        }
        let mut state = self.fleet.state();
        let found = match self.fleet.pool {
            true => self.fleet.with_room(&state, session),
            false => None,
        };
        Ok(found.unwrap_or_else(|| self.fleet.add(&mut state)))
    }

    async fn launch(&self, grant: &RunGrant) -> Result<(), ComputeError> {
        self.life.instant("launch").await;
        let shared = &self.life.shared;
        let faults = [
            Fault::LaunchLate,
            Fault::LaunchTwice,
            Fault::LaunchNever,
            Fault::LaunchUnknown,
            Fault::LaunchFails,
        ];
        let fault = shared.one_of(&faults);
        {
            let mut state = self.fleet.state();
            let place = state.places.get_mut(&grant.execution.0);
            let Some(place) = place.filter(|place| !place.life.is_dead()) else {
                return Err(ComputeError::Failed("there is no such worker".into()));
            };
            if place.granted.contains(grant) {
                return Ok(());
            }
            let failing = &self.fleet.failing_launches;
            let fails =
                failing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            if fault == Some(Fault::LaunchFails) || fails.is_ok() {
                return Err(ComputeError::Failed("by chance".into()));
            }
            place.granted.push(grant.clone());
        }
        let answer = match fault {
            Some(Fault::LaunchLate) => {
                let (fleet, grant) = (Arc::clone(&self.fleet), grant.clone());
                let late_ms = shared.below(60_000);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(late_ms)).await;
                    fleet.start(&grant);
                });
                Ok(())
            }
            Some(Fault::LaunchNever) => Ok(()),
            Some(Fault::LaunchUnknown) => {
                if shared.below(2) == 0 {
                    self.fleet.start(grant);
                }
                Err(ComputeError::Unknown("by chance".into()))
            }
            twice => {
                self.fleet.start(grant);
                if twice.is_some() {
                    self.fleet.start(grant);
                }
                Ok(())
            }
        };
        self.life.instant("launched").await;
        answer
    }

    async fn inspect(&self, execution: &ExecutionId) -> Liveness {
        self.life.instant("inspect").await;
        let shared = &self.life.shared;
        let mut state = self.fleet.state();
        let Some(place) = state.places.get_mut(&execution.0) else {
            return Liveness::Gone;
        };
        if place
            .unseen_until
            .is_none_or(|until| until <= Instant::now())
            && shared.strikes(Fault::OutOfSight)
        {
            let for_ms = 1_000 + shared.below(80_000);
            place.unseen_until = Some(Instant::now() + Duration::from_millis(for_ms));
        }
        let unseen = place
            .unseen_until
            .is_some_and(|until| until > Instant::now())
            || (self.fleet.blind.load(Ordering::SeqCst) && place.life.is_frozen());
        match (unseen, place.life.is_dead()) {
            (true, _) if self.fleet.parts.sabotage == Sabotage::TrustSilence => Liveness::Gone,
            (true, _) => Liveness::Unknown,
            (false, true) => Liveness::Gone,
            (false, false) => Liveness::Running,
        }
    }

    async fn stop(&self, execution: &ExecutionId) -> Result<(), ComputeError> {
        self.life.instant("stop").await;
        let shared = &self.life.shared;
        let Some(life) = self.fleet.life(&execution.0) else {
            return Ok(());
        };
        if shared.strikes(Fault::StopUnknown) {
            if shared.below(2) == 0 {
                life.die();
            }
            return Err(ComputeError::Unknown("by chance".into()));
        }
        life.die();
        Ok(())
    }

    fn deaths(&self) -> mpsc::UnboundedReceiver<ExecutionId> {
        let (to, deaths) = mpsc::unbounded_channel();
        self.fleet.state().deaths.push(to);
        deaths
    }
}
