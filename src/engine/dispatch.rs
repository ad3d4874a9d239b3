//! Dispatch: finds the Sessions that owe work, and gives each a worker under a new generation.
//!
//! Any number of dispatchers may run, anywhere: a claim is one conditional write of the head, and losing one is normal. All that
//! a dispatcher remembers is a hint; killing it loses nothing. Their clocks need not agree: an entry of the agenda that is not due
//! by this one's clock is looked at all the same, once and then as often as a lease lasts.

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
use super::fence::RunState;
use super::ids::SessionId;
use super::keys::{AGENDA_SHARDS, Group};
use super::measure::DispatchCounts;
use super::observer::{Looks, Seen, Sign};
use super::ports::{
    Compute, ComputeError, Environments, ExecutionId, Liveness, RunGrant, StoreError,
};
use super::post::POLL_LAST;
use super::recover::{Step, charge_attempt, step, unclaim};

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
/// A worker that waits notices within this time that something was claimed for it.
const NOTICING_MS: u64 = POLL_LAST.as_millis() as u64;
/// Where there is no machine for a Session, the next one is asked for after this long.
const SCARCE_MS: u64 = 15_000;
/// Executions that are nobody's child here are asked about this often.
const WATCH_MS: u64 = 1_000;

/// Whose turn it is to be looked at, and why.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) session: SessionId,
    /// Due time of the agenda entry that led here.
    pub(super) entry: Option<u64>,
    /// Ask about a live lease, too.
    suspect: bool,
}

/// Gives work to workers.
pub struct Dispatcher {
    pub(super) core: Core,
    pub(super) compute: Arc<dyn Compute>,
    pub(super) environments: Arc<dyn Environments>,
    slots: Arc<Semaphore>,
    hints: Mutex<Hints>,
    pub(super) counts: Arc<DispatchCounts>,
}

/// Everything a dispatcher remembers; all of it may be lost.
#[derive(Default)]
pub(super) struct Hints {
    /// Being handled now, and why it is to be handled again.
    busy: HashMap<SessionId, Again>,
    /// Not to be handled before.
    later: HashMap<SessionId, Instant>,
    /// Which Sessions an execution is known to run. Walked in order: the same world goes the same way twice.
    watched: BTreeMap<ExecutionId, BTreeSet<SessionId>>,
    /// What the fences of Sessions on the agenda showed, and for how long they have shown nothing else.
    pub(super) fences: Seen<SessionId, Sign>,
    /// Entries that are not due by the clock here.
    pub(super) looks: Looks,
    /// Work was left due because no worker had room.
    starved: bool,
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
        self.forget_old();
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
            let ahead = entries
                .iter()
                .map(|due| due.due_ms)
                .find(|due| *due > now_ms);
            self.look(entries, now_ms, everything).await;
            match (ahead, next) {
                (Some(due_ms), next) if !everything => {
                    if let Some(next) = next {
                        self.look_ahead(shard, next).await?;
                    }
                    return Ok((due_ms - now_ms).clamp(1, IDLE_SCAN_MS));
                }
                (_, Some(next)) => from = next,
                (_, None) => return Ok(pause_ms),
            }
        }
    }

    /// Handles those of these entries that are due, or are to be looked at all the same.
    async fn look(self: &Arc<Self>, entries: Vec<Due>, now_ms: u64, everything: bool) {
        let lease = Duration::from_millis(self.core.settings.lease_ms);
        for Due { session, due_ms } in entries {
            let is_due = due_ms <= now_ms || everything;
            if is_due
                || self
                    .hints()
                    .looks
                    .now(&session, due_ms, lease, Instant::now())
            {
                self.visit(Visit {
                    session,
                    entry: Some(due_ms),
                    suspect: everything,
                })
                .await;
            }
        }
    }

    /// Looks at one page more of what is not due: however many Sessions are at work, looking after them takes so many requests.
    async fn look_ahead(self: &Arc<Self>, shard: u32, behind: String) -> Result<(), EngineError> {
        let from = self.hints().looks.ahead(shard, behind);
        let page = self
            .core
            .agenda_page(Group::Execute, shard, &from, SCAN_ROWS);
        let (entries, next) = page.await?;
        self.hints().looks.read_to(shard, next);
        self.look(entries, self.core.clock.now_ms(), false).await;
        Ok(())
    }

    /// Forgets what was seen of Sessions that have left the agenda.
    fn forget_old(&self) {
        let long = Duration::from_millis(3 * self.core.settings.lease_ms + 4 * IDLE_SCAN_MS);
        let now = Instant::now();
        let mut hints = self.hints();
        hints.fences.forget_old(long, now);
        hints.looks.forget_old(long, now);
        hints.later.retain(|_, later| *later > now);
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
        let now = Instant::now();
        {
            let mut hints = self.hints();
            if let Some(again) = hints.busy.get_mut(&visit.session) {
                again.rung = true;
                again.suspect |= visit.suspect;
                return;
            }
            match hints.later.get(&visit.session) {
                Some(later) if *later > now && !visit.suspect => return,
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
                let later = Instant::now() + Duration::from_millis(RETRY_MS);
                hints.busy.remove(&visit.session);
                hints.later.insert(visit.session.clone(), later);
                if let Some(due_ms) = visit.entry {
                    hints.looks.forget(&visit.session, due_ms);
                }
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
            let asked = Instant::now();
            let Some(loaded) = self.core.load(&visit.session).await? else {
                return self.drop_stray(visit).await;
            };
            let silent_ms = self.silent_ms(&visit.session, &loaded, asked);
            let now_ms = self.core.clock.now_ms();
            let next = step(
                &loaded.head,
                &self.core.settings,
                now_ms,
                silent_ms,
                suspect,
            );
            let done = match next {
                Step::Postpone => self.postpone(visit, &loaded, silent_ms).await,
                Step::Erase => {
                    let environments = &*self.environments;
                    let erased = self.core.erase(environments, &visit.session, &loaded);
                    erased.await.map(|()| true)
                }
                Step::GiveUp => self.give_up(&visit.session, &loaded).await,
                Step::Retire => self.retire(&visit.session, &loaded).await,
                Step::Claim => self.claim(&visit.session, &loaded).await,
                Step::Inspect { execution, lapsed } => {
                    suspect = false;
                    self.inspect(visit, &loaded, &execution, lapsed).await
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

    /// For how long the Session's fence has shown nothing new here. Milliseconds.
    fn silent_ms(&self, session: &SessionId, loaded: &Loaded, asked: Instant) -> u64 {
        let sign = Sign::of(&loaded.head.fence);
        let mut hints = self.hints();
        let unchanged = hints.fences.unchanged(session, sign, asked, Instant::now());
        let silent_ms = u64::try_from(unchanged.as_millis()).unwrap_or(u64::MAX);
        let lease = loaded.head.fence.lease.as_ref();
        let begins = lease.filter(|lease| lease.renewals == 0);
        // Whoever is only being started, or has not looked again, can't have said anything.
        let begins_ms = begins.map_or(0, |lease| self.begins_ms(&lease.execution, lease.kept));
        silent_ms.saturating_sub(begins_ms)
    }

    /// How long an execution may take until its worker begins with what was claimed for it; `kept`: the worker waits there. Milliseconds.
    fn begins_ms(&self, execution: &ExecutionId, kept: bool) -> u64 {
        let starting_ms = self.compute.starting_ms(execution);
        match kept {
            true => starting_ms.min(NOTICING_MS),
            false => starting_ms,
        }
    }

    /// An agenda entry that came due too early goes to where the Session is due, or where its Run is looked at again.
    async fn postpone(
        &self,
        visit: &Visit,
        loaded: &Loaded,
        silent_ms: u64,
    ) -> Result<bool, EngineError> {
        match &loaded.head.fence.lease {
            Some(lease) => self.watch_execution(&lease.execution, &visit.session),
            None => self.forget(&visit.session),
        }
        let Some(entry) = visit.entry else {
            return Ok(true);
        };
        if loaded.head.agenda.execute != Some(entry) {
            self.drop_stray(visit).await?;
            return Ok(true);
        }
        let now_ms = self.core.clock.now_ms();
        // Whose clock is ahead has put it there: it is not moved back and forth between two clocks.
        if entry > now_ms {
            return Ok(true);
        }
        let mut draft = Draft::of(&visit.session, loaded, now_ms);
        match loaded.head.fence.state() {
            RunState::Leased => {
                let rest_ms = self.core.settings.lease_ms.saturating_sub(silent_ms);
                // What is due is looked at again soon anyway.
                if rest_ms <= RETRY_MS {
                    return Ok(true);
                }
                draft.look_at(now_ms + rest_ms);
            }
            RunState::Free | RunState::Quarantined => draft.move_agenda(),
        }
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
        let last = loaded.head.fence.last.as_ref();
        let execution = match self.compute.reserve(session.as_str(), last).await {
            Ok(execution) => execution,
            // Everything stays due; the agenda is read again soon.
            Err(ComputeError::Full) => {
                let mut hints = self.hints();
                hints.starved = true;
                if let Some(due_ms) = loaded.head.agenda.execute {
                    hints.looks.forget(session, due_ms);
                }
                return Ok(true);
            }
            Err(error) => {
                let mut draft = Draft::of(session, loaded, self.core.clock.now_ms());
                self.charge(&mut draft, &error);
                self.seal(draft).await?;
                return Ok(true);
            }
        };
        let kept = last == Some(&execution);
        let begins_ms = self.begins_ms(&execution, kept);
        let launches = !kept && begins_ms > 0;
        let attending = self.core.attending(session, turn).await?;
        let mut draft = Draft::of(session, loaded, self.core.clock.now_ms());
        let generation = claim(
            &mut draft,
            &attending,
            execution.clone(),
            self.core.settings.lease_ms + begins_ms,
        )?;
        if let (true, Some(turn)) = (launches, &mut draft.head.turn) {
            turn.unheard += 1;
        }
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
        if draft.head.fence.release().is_ok() {
            // Nothing is there that could go on, or whose silence would mean anything.
            draft.head.fence.last = None;
            if let Some(turn) = &mut draft.head.turn {
                turn.unheard = turn.unheard.saturating_sub(1);
            }
            self.charge(&mut draft, error);
        }
        self.seal(draft).await?;
        self.counts.not_started.one();
        Ok(true)
    }

    /// No worker started: the Turn pays for it with an attempt, unless it is nobody's fault. Then it only waits, as long as this
    /// dispatcher remembers.
    fn charge(&self, draft: &mut Draft, error: &ComputeError) {
        let why = error.to_string();
        draft.head.last_error = Some(why.clone());
        match error {
            ComputeError::Scarce(_) => {
                unclaim(draft);
                let later = Instant::now() + Duration::from_millis(SCARCE_MS);
                self.hints().later.insert(draft.session.clone(), later);
            }
            ComputeError::Full | ComputeError::Failed(_) | ComputeError::Unknown(_) => {
                charge_attempt(draft, &self.core.settings, &why);
            }
        }
    }

    pub(super) async fn seal(&self, draft: Draft) -> Result<(), EngineError> {
        let session = draft.session.clone();
        let now_ms = draft.now_ms;
        let (commit, head) = draft.seal(&*self.core.ids);
        if let Some(due_ms) = head.agenda.execute {
            // This clock put it there, and comes by then. A worker that takes long to start may have begun, and fallen silent, before.
            let due_in_ms = due_ms.saturating_sub(now_ms);
            let wait_ms = due_in_ms.min(self.core.settings.lease_ms) + IDLE_SCAN_MS;
            let until = Instant::now() + Duration::from_millis(wait_ms);
            self.hints().looks.known(&session, due_ms, until);
        }
        match self.core.commit_once(commit).await {
            Ok(()) => {
                let now = Instant::now();
                let sign = Sign::of(&head.fence);
                self.hints().fences.unchanged(&session, sign, now, now);
                // Who dispatches is awake; only followers want to know.
                self.core.bell.ring_change(session.as_str());
                Ok(())
            }
            Err(StoreError::Conflict(_)) => Err(EngineError::Busy { attempts: 1 }),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn watch_execution(&self, execution: &ExecutionId, session: &SessionId) {
        self.hints()
            .watched
            .entry(execution.clone())
            .or_default()
            .insert(session.clone());
    }

    fn forget(&self, session: &SessionId) {
        let mut hints = self.hints();
        hints.fences.forget(session);
        hints.watched.retain(|_, sessions| {
            sessions.remove(session);
            !sessions.is_empty()
        });
    }

    pub(super) fn hints(&self) -> std::sync::MutexGuard<'_, Hints> {
        // Hints may be stale by design, so a panic elsewhere does not make them worse.
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
