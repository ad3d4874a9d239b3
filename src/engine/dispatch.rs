//! Dispatch: finds the Sessions that owe work, and gives each a worker under a new generation.
//!
//! Any number of dispatchers may run, anywhere: a claim is one conditional write of the head, and losing one is normal. All that
//! a dispatcher remembers is a hint; killing it loses nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use super::agenda::Due;
use super::claim::claim;
use super::core::{Core, Loaded};
use super::draft::Draft;
use super::error::EngineError;
use super::ids::SessionId;
use super::keys::{AGENDA_SHARDS, Group};
use super::measure::DispatchCounts;
use super::ports::{
    Compute, ComputeError, Environments, ExecutionId, Liveness, RunGrant, StoreError,
};
use super::recover::{Step, Verdict, charge_attempt, release_lost, step, verdict};
use super::settle::{CALLS_PER_COMMIT, Ending, close_some_calls, end_turn};
use super::turn::{Capture, Failure};

/// How long what is being handled may take when the dispatcher stops.
const SETTLE_DOWN_MS: u64 = 5_000;
/// Sessions handled at the same time.
const PARALLEL: usize = 64;
/// Agenda rows read at once.
const SCAN_ROWS: usize = 512;
/// Without a ring, the agenda is read this often: a request to each shard, so that one who is idle stays below two requests a second with
/// all that it does.
const IDLE_SCAN_MS: u64 = 2_500;
/// A Session whose handling failed is left alone this long.
const RETRY_MS: u64 = 500;
/// A worker that lives, or may live, gets this long to renew a lease that has lapsed, once the store takes commits.
const PATIENCE_MS: u64 = 5_000;
/// Executions that are nobody's child here are asked about this often.
const WATCH_MS: u64 = 1_000;

/// Whose turn it is to be looked at, and why.
#[derive(Clone)]
struct Visit {
    session: SessionId,
    /// Due time of the agenda entry that led here.
    entry: Option<u64>,
    /// Ask about a live lease, too.
    suspect: bool,
}

/// Gives work to workers.
pub struct Dispatcher {
    core: Core,
    compute: Arc<dyn Compute>,
    environments: Arc<dyn Environments>,
    slots: Arc<Semaphore>,
    hints: Mutex<Hints>,
    counts: Arc<DispatchCounts>,
}

/// Everything a dispatcher remembers; all of it may be lost.
#[derive(Default)]
struct Hints {
    /// Being handled now, and why it is to be handled again.
    busy: HashMap<SessionId, Again>,
    /// Not to be handled before. Unix ms.
    later: HashMap<SessionId, u64>,
    /// Which Sessions an execution is known to run. Walked in order: the same world goes the same way twice.
    watched: BTreeMap<ExecutionId, BTreeSet<SessionId>>,
    /// Leases that were seen to have lapsed though nothing proves their workers gone: until when they ran, and since when that
    /// is known.
    silent: HashMap<SessionId, (u64, Instant)>,
    /// Work was left due because no worker had room.
    starved: bool,
}

/// How long a worker is waited for whose lease has lapsed.
enum Patience {
    Begins,
    Lasts,
    IsOver,
}

/// What happened to a Session while it was handled.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Again {
    rung: bool,
    /// Its worker may have died.
    suspect: bool,
}

impl Dispatcher {
    /// A dispatcher over these ports.
    pub fn new(
        core: Core,
        compute: Arc<dyn Compute>,
        environments: Arc<dyn Environments>,
    ) -> Arc<Dispatcher> {
        Arc::new(Dispatcher {
            core,
            compute,
            environments,
            slots: Arc::new(Semaphore::new(PARALLEL)),
            hints: Mutex::default(),
            counts: Arc::default(),
        })
    }

    /// What it did so far.
    pub fn counts(&self) -> Arc<DispatchCounts> {
        Arc::clone(&self.counts)
    }

    /// Works until `stop` turns true. What was claimed by then goes on without it.
    pub async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut rings = self.core.bell.listen_work();
        let mut deaths = self.compute.deaths();
        let mut watching = tokio::time::interval(Duration::from_millis(WATCH_MS));
        watching.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // Whoever started before us may be dead: every lease is asked about once.
        let mut next_scan = Instant::now() + self.scan(true).await;
        loop {
            tokio::select! {
                biased;
                // Whoever could stop it is gone: so is whatever it works for.
                changed = stop.changed() => if changed.is_err() || *stop.borrow() {
                    return self.settle_down().await;
                },
                Some(dead) = deaths.recv() => self.suspect(&dead).await,
                Some(session) = rings.recv() => {
                    if let Some(session) = SessionId::parse(&session) {
                        self.visit(Visit { session, entry: None, suspect: false }).await;
                    }
                    // A ring may mean that a worker has room again.
                    if std::mem::take(&mut self.hints().starved) {
                        next_scan = next_scan.min(Instant::now() + Duration::from_millis(5));
                    }
                }
                _ = watching.tick() => self.watch().await,
                () = tokio::time::sleep_until(next_scan) => {
                    next_scan = Instant::now() + self.scan(false).await;
                }
            }
        }
    }

    /// Waits for what is being handled: whoever ends the workers next must not miss one that is just being started.
    async fn settle_down(&self) {
        let all = u32::try_from(PARALLEL).unwrap_or(u32::MAX);
        let idle = self.slots.acquire_many(all);
        let _ = tokio::time::timeout(Duration::from_millis(SETTLE_DOWN_MS), idle).await;
    }

    /// Sessions that owe work now, and when the next one will: handles the former, answers the pause until the latter.
    async fn scan(self: &Arc<Self>, everything: bool) -> Duration {
        let mut next_ms = IDLE_SCAN_MS;
        for shard in 0..AGENDA_SHARDS {
            match self.scan_shard(shard, everything).await {
                Ok(pause) => next_ms = next_ms.min(pause),
                Err(error) => tracing::warn!(%error, "the agenda could not be read"),
            }
        }
        Duration::from_millis(next_ms)
    }

    async fn scan_shard(
        self: &Arc<Self>,
        shard: u32,
        everything: bool,
    ) -> Result<u64, EngineError> {
        let mut from = String::new();
        loop {
            let page = self
                .core
                .agenda_page(Group::Execute, shard, &from, SCAN_ROWS);
            let (entries, next) = page.await?;
            let now_ms = self.core.clock.now_ms();
            let pause_ms = match entries.is_empty() {
                true => IDLE_SCAN_MS,
                false => RETRY_MS,
            };
            for Due { session, due_ms } in entries {
                if due_ms > now_ms && !everything {
                    return Ok((due_ms - now_ms).clamp(1, IDLE_SCAN_MS));
                }
                self.visit(Visit {
                    session,
                    entry: Some(due_ms),
                    suspect: everything,
                })
                .await;
            }
            match next {
                Some(next) => from = next,
                None => return Ok(pause_ms),
            }
        }
    }

    /// Executions that ended by themselves, or that nobody reports the end of.
    async fn watch(self: &Arc<Self>) {
        let executions: Vec<ExecutionId> = self.hints().watched.keys().cloned().collect();
        for execution in executions {
            if self.compute.inspect(&execution).await == Liveness::Gone {
                self.suspect(&execution).await;
            }
        }
    }

    async fn suspect(self: &Arc<Self>, execution: &ExecutionId) {
        let sessions = self.hints().watched.remove(execution).unwrap_or_default();
        for session in sessions {
            self.visit(Visit {
                session,
                entry: None,
                suspect: true,
            })
            .await;
        }
    }

    /// Handles a Session in a task of its own, once at a time.
    async fn visit(self: &Arc<Self>, visit: Visit) {
        let now_ms = self.core.clock.now_ms();
        {
            let mut hints = self.hints();
            if let Some(again) = hints.busy.get_mut(&visit.session) {
                again.rung = true;
                again.suspect |= visit.suspect;
                return;
            }
            match hints.later.get(&visit.session) {
                Some(later) if *later > now_ms && !visit.suspect => return,
                _ => {}
            }
            hints.later.remove(&visit.session);
            hints.busy.insert(visit.session.clone(), Again::default());
        }
        let Ok(slot) = Arc::clone(&self.slots).acquire_owned().await else {
            return;
        };
        let this = Arc::clone(self);
        tokio::spawn(async move {
            this.handle(visit).await;
            drop(slot);
        });
    }

    async fn handle(self: &Arc<Self>, mut visit: Visit) {
        loop {
            let handled = self.advance(&visit).await;
            let mut hints = self.hints();
            if let Err(error) = handled {
                match error {
                    EngineError::Busy { .. } => {}
                    error => {
                        tracing::warn!(session = %visit.session, %error, "a session could not be advanced")
                    }
                }
                let later = self.core.clock.now_ms() + RETRY_MS;
                hints.busy.remove(&visit.session);
                hints.later.insert(visit.session.clone(), later);
                return;
            }
            let busy = hints.busy.get_mut(&visit.session).map(std::mem::take);
            let again = busy.unwrap_or_default();
            if !again.rung {
                hints.busy.remove(&visit.session);
                return;
            }
            visit.entry = None;
            visit.suspect = again.suspect;
        }
    }

    /// Takes a Session as many steps as it can go now.
    async fn advance(&self, visit: &Visit) -> Result<(), EngineError> {
        let mut suspect = visit.suspect;
        for _ in self.core.decisions() {
            let Some(loaded) = self.core.load(&visit.session).await? else {
                return self.drop_stray(visit).await;
            };
            let now_ms = self.core.clock.now_ms();
            let done = match step(&loaded.head, &self.core.settings, now_ms, suspect) {
                Step::Postpone => self.postpone(visit, &loaded).await,
                Step::Erase => {
                    let environments = &*self.environments;
                    let erased = self.core.erase(environments, &visit.session, &loaded);
                    erased.await.map(|()| true)
                }
                Step::GiveUp => self.give_up(&visit.session, &loaded).await,
                Step::Claim => self.claim(&visit.session, &loaded).await,
                Step::Inspect { execution, lapsed } => {
                    suspect = false;
                    self.inspect(&visit.session, &loaded, &execution, lapsed)
                        .await
                }
            };
            match done {
                Ok(true) => return Ok(()),
                Ok(false) | Err(EngineError::Busy { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(EngineError::Busy {
            attempts: self.core.decisions().end,
        })
    }

    /// An agenda entry that came due too early goes to where the Session is due.
    async fn postpone(&self, visit: &Visit, loaded: &Loaded) -> Result<bool, EngineError> {
        match &loaded.head.fence.lease {
            Some(lease) => self.watch_execution(&lease.execution, &visit.session),
            None => self.forget(&visit.session),
        }
        let now_ms = self.core.clock.now_ms();
        let Some(entry) = visit.entry.filter(|entry| *entry <= now_ms) else {
            return Ok(true);
        };
        if loaded.head.agenda.execute != Some(entry) {
            self.drop_stray(visit).await?;
            return Ok(true);
        }
        let mut draft = Draft::of(&visit.session, loaded, now_ms);
        draft.move_agenda();
        self.seal(draft).await?;
        Ok(true)
    }

    async fn drop_stray(&self, visit: &Visit) -> Result<(), EngineError> {
        match visit.entry {
            Some(entry) => {
                let group = Group::Execute;
                self.core.drop_stray(group, &visit.session, entry).await
            }
            None => Ok(()),
        }
    }

    async fn claim(&self, session: &SessionId, loaded: &Loaded) -> Result<bool, EngineError> {
        let Some(turn) = &loaded.head.turn else {
            return Ok(true);
        };
        let execution = match self.compute.reserve(session.as_str()).await {
            Ok(execution) => execution,
            // Everything stays due; the agenda is read again soon.
            Err(ComputeError::Full) => {
                self.hints().starved = true;
                return Ok(true);
            }
            Err(error) => {
                let mut draft = Draft::of(session, loaded, self.core.clock.now_ms());
                draft.head.last_error = Some(error.to_string());
                charge_attempt(&mut draft, &self.core.settings, &error.to_string());
                self.seal(draft).await?;
                return Ok(true);
            }
        };
        let attending = self.core.attending(session, turn).await?;
        let mut draft = Draft::of(session, loaded, self.core.clock.now_ms());
        let generation = claim(
            &mut draft,
            &attending,
            execution.clone(),
            self.core.settings.lease_ms,
        )?;
        self.seal(draft).await?;
        self.counts.claimed.one();
        self.watch_execution(&execution, session);
        let grant = RunGrant {
            session: session.to_string(),
            generation,
            execution: execution.clone(),
        };
        match self.compute.launch(&grant).await {
            Ok(()) => Ok(true),
            Err(ComputeError::Unknown(why)) => {
                // The lease decides: if nobody renews it, the execution is asked about.
                tracing::warn!(%session, why, "it is unknown whether the worker started");
                Ok(true)
            }
            Err(error) => self.launch_failed(&grant, session, &error).await,
        }
    }

    /// The worker provably did not start: its authority ends at once.
    async fn launch_failed(
        &self,
        grant: &RunGrant,
        session: &SessionId,
        error: &ComputeError,
    ) -> Result<bool, EngineError> {
        let Some(loaded) = self.core.load(session).await? else {
            return Ok(true);
        };
        if !loaded
            .head
            .fence
            .accepts(grant.generation, &grant.execution)
        {
            return Ok(false);
        }
        let mut draft = Draft::of(session, &loaded, self.core.clock.now_ms());
        let why = error.to_string();
        if draft.head.fence.release().is_ok() {
            draft.head.last_error = Some(why.clone());
            charge_attempt(&mut draft, &self.core.settings, &why);
        }
        self.seal(draft).await?;
        self.counts.not_started.one();
        Ok(true)
    }

    async fn inspect(
        &self,
        session: &SessionId,
        loaded: &Loaded,
        execution: &ExecutionId,
        lapsed: bool,
    ) -> Result<bool, EngineError> {
        let liveness = self.compute.inspect(execution).await;
        let mut draft = Draft::of(session, loaded, self.core.clock.now_ms());
        let verdict = verdict(liveness, lapsed);
        if let (Verdict::Stop | Verdict::Quarantine, Some(lease)) =
            (verdict, &loaded.head.fence.lease)
        {
            match self.patience(session, lease.until_ms) {
                Patience::Begins => {
                    // Perhaps nobody could commit for a while, and the worker is about to. From the moment at which it can, it
                    // gets a little time; this commit is what tells that moment.
                    self.seal(draft).await?;
                    let since = (lease.until_ms, Instant::now());
                    self.hints().silent.insert(session.clone(), since);
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
                if loaded.head.fence.lease.is_some() {
                    self.quarantine(draft, execution, "is silent and is being stopped")
                        .await?;
                }
                match self.compute.stop(execution).await {
                    Ok(()) => Ok(false),
                    Err(error) => Err(EngineError::Unavailable(error.to_string())),
                }
            }
            Verdict::Quarantine if loaded.head.fence.lease.is_some() => {
                self.quarantine(draft, execution, "can't be accounted for")
                    .await?;
                Ok(true)
            }
            Verdict::Quarantine => {
                draft.move_agenda();
                self.seal(draft).await?;
                Ok(true)
            }
        }
    }

    /// How long the holder of a lapsed lease has been waited for.
    fn patience(&self, session: &SessionId, until_ms: u64) -> Patience {
        let patience_ms = PATIENCE_MS.min(self.core.settings.lease_ms);
        let mut hints = self.hints();
        match hints.silent.get(session) {
            Some((until, since)) if *until == until_ms => {
                if since.elapsed() < Duration::from_millis(patience_ms) {
                    return Patience::Lasts;
                }
                hints.silent.remove(session);
                Patience::IsOver
            }
            _ => Patience::Begins,
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

    /// Too many workers were lost even over saving the outputs: the Turn ends without one.
    async fn give_up(&self, session: &SessionId, loaded: &Loaded) -> Result<bool, EngineError> {
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
        let ending = match (&turn.cancel, &turn.doomed) {
            (Some(_), _) => Ending::Cancelled,
            (None, Some(failure)) => Ending::Failed(failure.clone()),
            (None, None) => Ending::Failed(Failure {
                code: "internal_error".into(),
                message: "no worker could be kept alive for this turn".into(),
            }),
        };
        let capture = loaded.head.environment_opened.then(|| Capture {
            problem: Some("outputs were not saved: no worker could be kept alive for it".into()),
            ..Capture::default()
        });
        end_turn(&mut draft, &attending, ending, capture)
            .map_err(|e| EngineError::Conflict(e.to_string()))?;
        self.seal(draft).await?;
        Ok(false)
    }

    async fn seal(&self, draft: Draft) -> Result<(), EngineError> {
        let session = draft.session.clone();
        let (commit, _) = draft.seal(&*self.core.ids);
        match self.core.commit_once(commit).await {
            Ok(()) => {
                // Who dispatches is awake; only followers want to know.
                self.core.bell.ring_change(session.as_str());
                Ok(())
            }
            Err(StoreError::Conflict(_)) => Err(EngineError::Busy { attempts: 1 }),
            Err(error) => Err(error.into()),
        }
    }

    fn watch_execution(&self, execution: &ExecutionId, session: &SessionId) {
        self.hints()
            .watched
            .entry(execution.clone())
            .or_default()
            .insert(session.clone());
    }

    fn forget(&self, session: &SessionId) {
        let mut hints = self.hints();
        hints.silent.remove(session);
        hints.watched.retain(|_, sessions| {
            sessions.remove(session);
            !sessions.is_empty()
        });
    }

    fn hints(&self) -> std::sync::MutexGuard<'_, Hints> {
        // Hints may be stale by design, so a panic elsewhere does not make them worse.
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
