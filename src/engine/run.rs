//! Run: a worker's life with one Session, under one generation.
//!
//! The worker hands inputs to the harness, commits what the harness saw, keeps the lease, hears about cancels and steers, and
//! settles Turns until the Session owes nothing more. Every commit asserts the fence; the first one that fails ends the Run.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, watch};

use super::aftermath::Kept;
use super::core::{Core, Loaded, backoff, decode};
use super::draft::Draft;
use super::environment;
use super::error::EngineError;
use super::fence::RunRow;
use super::history::Histories;
use super::ids::SessionId;
use super::keys;
use super::live::LiveTexts;
use super::ports::{
    CaptureLimits, EnvironmentSpec, Environments, Fenced, Harness, Key, RunGrant, StoreError,
};
use super::sessions::Config;
use super::settle::Attending;
use super::turn::TurnRow;

/// Why a Run stops before its Turns are done.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// A newer generation, or a deletion: nothing more of this Run may happen.
    #[error("fenced")]
    Fenced,
    /// The worker was asked to leave; the lease is given back.
    #[error("left")]
    Left,
    /// A record can't be read or a rule was broken: the Run ends and says why.
    #[error(transparent)]
    Broken(#[from] EngineError),
}

impl From<Fenced> for Stop {
    fn from(_: Fenced) -> Self {
        Stop::Fenced
    }
}

/// How long a worker that leaves may go on, and whether it was asked to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaving {
    /// Asked to leave.
    pub asked: bool,
    /// Time that running Turns get.
    pub grace_ms: u64,
}

/// Runs Sessions in this process.
pub struct Worker {
    pub(super) core: Core,
    pub(super) harness: Arc<dyn Harness>,
    pub(super) environments: Arc<dyn Environments>,
    pub(super) limits: CaptureLimits,
    pub(super) histories: Histories,
    leaving: watch::Sender<Leaving>,
    /// Who listens for rings of which Session. A Run that parts and the one that follows it may overlap for a moment.
    rung: Mutex<HashMap<SessionId, Vec<Arc<Notify>>>>,
    /// Grants whose Runs go on here: Session and generation.
    running: Mutex<BTreeSet<(SessionId, u64)>>,
    /// Sessions that worked here and whose environments may still be open.
    pub(super) kept: tokio::sync::Mutex<HashMap<SessionId, Kept>>,
}

impl Worker {
    /// A worker over these ports. Call [`Worker::listen`] once, so that it hears rings.
    pub fn new(
        core: Core,
        harness: Arc<dyn Harness>,
        environments: Arc<dyn Environments>,
    ) -> Arc<Worker> {
        Arc::new(Worker {
            core,
            harness,
            environments,
            limits: CaptureLimits::default(),
            histories: Histories::default(),
            leaving: watch::Sender::new(Leaving::default()),
            rung: Mutex::default(),
            running: Mutex::default(),
            kept: tokio::sync::Mutex::default(),
        })
    }

    /// Passes rings on to the Runs of this worker, and hands over environments that are kept open, until the worker is dropped.
    pub fn listen(self: &Arc<Self>) {
        let mut rings = self.core.bell.listen_work();
        let worker = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Some(session) = rings.recv().await {
                let Some(worker) = worker.upgrade() else {
                    return;
                };
                let Some(session) = SessionId::parse(&session) else {
                    continue;
                };
                let running = worker.rung().get(&session).cloned();
                match running {
                    Some(listening) => listening.iter().for_each(|notify| notify.notify_one()),
                    None => drop(tokio::spawn(async move {
                        worker.hand_over_soon(&session).await;
                    })),
                }
            }
        });
    }

    /// Asks all Runs to stop at their next safe point, and after the grace period at once; leases are given back.
    pub fn leave(&self, grace_ms: u64) {
        self.leaving.send_replace(Leaving {
            asked: true,
            grace_ms,
        });
    }

    pub(super) fn leaving(&self) -> watch::Receiver<Leaving> {
        self.leaving.subscribe()
    }

    pub(super) fn rung(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Vec<Arc<Notify>>>> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn running(&self) -> std::sync::MutexGuard<'_, BTreeSet<(SessionId, u64)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the Runs of this Session look at its head, as a ring would.
    pub fn nudge(&self, session: &SessionId) {
        let listening = self.rung().get(session).cloned().unwrap_or_default();
        listening.iter().for_each(|notify| notify.notify_one());
    }

    fn stop_listening(&self, session: &SessionId, notify: &Arc<Notify>) {
        let mut rung = self.rung();
        if let Some(listening) = rung.get_mut(session) {
            listening.retain(|one| !Arc::ptr_eq(one, notify));
            if listening.is_empty() {
                rung.remove(session);
            }
        }
    }

    /// Works for the granted Session until it owes nothing more, or the authority ends. A grant that comes twice is run once: the
    /// fence can't tell two Runs of one grant apart.
    pub async fn run(self: &Arc<Self>, grant: RunGrant) {
        let Some(session) = SessionId::parse(&grant.session) else {
            return;
        };
        let Some(_running) = Running::of(self, &session, grant.generation) else {
            tracing::warn!(%session, generation = grant.generation, "a grant came twice");
            return;
        };
        let notify = Arc::new(Notify::new());
        self.rung()
            .entry(session.clone())
            .or_default()
            .push(Arc::clone(&notify));
        self.kept.lock().await.remove(&session);
        let end = match Live::open(self, &session, &grant, Arc::clone(&notify)).await {
            Ok(mut live) => {
                let end = live.work().await;
                live.part(&end).await;
                if let Some(spec) = &live.environment
                    && live.loaded.head.environment_opened
                {
                    self.keep_open(&session, &spec.id, &grant.execution).await;
                }
                end
            }
            Err(stop) => Err(stop),
        };
        self.stop_listening(&session, &notify);
        if let Err(stop) = end {
            self.histories.forget(&session);
            self.say_it_is_over(&session, &grant).await;
            tracing::info!(%session, generation = grant.generation, %stop, "run stopped");
        }
    }
}

/// A grant that is being run, until this is dropped.
struct Running {
    worker: Arc<Worker>,
    grant: (SessionId, u64),
}

impl Running {
    /// `None`: it is being run already.
    fn of(worker: &Arc<Worker>, session: &SessionId, generation: u64) -> Option<Running> {
        let grant = (session.clone(), generation);
        let fresh = worker.running().insert(grant.clone());
        fresh.then(|| Running {
            worker: Arc::clone(worker),
            grant,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.worker.running().remove(&self.grant);
    }
}

/// A Run that holds its lease.
pub(super) struct Live {
    pub(super) worker: Arc<Worker>,
    pub(super) session: SessionId,
    pub(super) grant: RunGrant,
    pub(super) loaded: Loaded,
    pub(super) config: Config,
    pub(super) row: RunRow,
    pub(super) rung: Arc<Notify>,
    /// The spec of the Session's environment, if it has one.
    pub(super) environment: Option<EnvironmentSpec>,
    /// What is being written and not recorded yet.
    pub(super) texts: LiveTexts,
    /// The newest message that the harness was given when it was started last.
    pub(super) offered: u64,
    /// The harness that works now, or worked last, was handed answers while it worked.
    pub(super) answers_handed: bool,
    /// The Turn that paused in this Run, and perhaps goes on in it.
    pub(super) paused: Option<u64>,
    /// The active Turn's row, once it was read. Nobody but the live Run changes it.
    pub(super) turn_row: Option<(u64, TurnRow)>,
}

impl Live {
    async fn open(
        worker: &Arc<Worker>,
        session: &SessionId,
        grant: &RunGrant,
        rung: Arc<Notify>,
    ) -> Result<Live, Stop> {
        let core = &worker.core;
        // Storage trouble never ends a Run (I12), not even one that has hardly begun.
        let partition = keys::session_partition(session);
        let wanted = [
            Key::new(partition.clone(), keys::HEAD),
            Key::new(partition.clone(), keys::CONFIG),
            Key::new(partition, keys::run(grant.generation)),
        ];
        let records = patiently(|| async { Ok(core.store.get_many(&wanted).await?) }).await?;
        let mut records = records.into_iter().map(|record| record.ok_or(Stop::Fenced));
        let mut next = || records.next().unwrap_or(Err(Stop::Fenced));
        let (head, config, row) = (next()?, next()?, next()?);
        let loaded = Loaded {
            head: decode(&head)?,
            version: head.version,
        };
        let fence = &loaded.head.fence;
        if !fence.accepts(grant.generation, &grant.execution) {
            return Err(Stop::Fenced);
        }
        let config: Config = decode(&config)?;
        let row = decode(&row)?;
        Ok(Live {
            worker: Arc::clone(worker),
            session: session.clone(),
            grant: grant.clone(),
            environment: config.environment.clone(),
            loaded,
            config,
            row,
            rung,
            texts: LiveTexts::new(session.to_string(), grant.generation),
            offered: 0,
            answers_handed: false,
            paused: None,
            turn_row: None,
        })
    }

    /// Turn after Turn.
    async fn work(&mut self) -> Result<(), Stop> {
        loop {
            if self.worker.leaving.borrow().asked {
                return Err(Stop::Left);
            }
            if !self.turn().await? {
                return Ok(());
            }
        }
    }

    /// The last thing a Run does: give the lease back if it still has it, or end what it can't own any more.
    async fn part(&mut self, end: &Result<(), Stop>) {
        match end {
            Ok(()) => {}
            Err(Stop::Left) => {
                self.end_environment().await;
                let _ = self.release("left", None, true).await;
            }
            Err(Stop::Broken(error)) => {
                let _ = self.release("failed", Some(error.to_string()), false).await;
            }
            Err(Stop::Fenced) => {
                // Somebody else owns the Session now: not one process of ours may go on in its environment.
                if let Some(spec) = &self.environment {
                    let worker = &self.worker;
                    let generation = self.grant.generation;
                    worker
                        .close_behind(&self.session, generation, &spec.id)
                        .await;
                }
            }
        }
    }

    /// Gives the lease back; the Turn stays where it is and somebody else goes on.
    /// `closed` says that its environment was closed.
    async fn release(
        &mut self,
        how: &str,
        error: Option<String>,
        closed: bool,
    ) -> Result<(), Stop> {
        let settings = self.worker.core.settings.clone();
        let row = self.ended(how);
        let generation = self.grant.generation;
        self.change(move |draft| {
            let released = draft.head.fence.release();
            released.map_err(|e| EngineError::Conflict(e.to_string()))?;
            for pending in &mut draft.head.pending {
                pending.claimed = 0;
            }
            if closed {
                environment::suspended(draft);
            }
            if let Some(error) = &error {
                draft.head.last_error = Some(error.clone());
                super::recover::charge_attempt(draft, &settings, error);
            }
            draft.put(keys::run(generation), &row);
            Ok(())
        })
        .await
    }

    /// This Run's row, ended now.
    pub(super) fn ended(&self, how: &str) -> RunRow {
        let mut row = self.row.clone();
        row.ended_ms = Some(self.worker.core.clock.now_ms());
        row.end = Some(how.to_owned());
        row
    }

    /// Reads the head again and asserts the fence.
    pub(super) async fn refresh(&mut self) -> Result<(), Stop> {
        let mut attempt = 0;
        loop {
            match self.worker.core.load(&self.session).await {
                Ok(Some(loaded)) => {
                    self.loaded = loaded;
                    return self.assert_fence();
                }
                Ok(None) => return Err(Stop::Fenced),
                Err(error @ EngineError::Damaged { .. }) => return Err(error.into()),
                // Storage trouble never ends a Run (I12).
                Err(error) => {
                    attempt += 1;
                    tracing::warn!(session = %self.session, %error, "the head could not be read");
                    tokio::time::sleep(backoff(attempt)).await;
                }
            }
        }
    }

    fn assert_fence(&self) -> Result<(), Stop> {
        let head = &self.loaded.head;
        if head.deleted_ms.is_none()
            && head
                .fence
                .accepts(self.grant.generation, &self.grant.execution)
        {
            Ok(())
        } else {
            Err(Stop::Fenced)
        }
    }

    /// Commits a change of the Session under this Run's authority, and renews the lease with it. `f` is applied to a fresh
    /// draft as often as it takes; storage trouble is waited out (I12), only the fence ends it.
    pub(super) async fn change<T>(
        &mut self,
        f: impl Fn(&mut Draft) -> Result<T, EngineError>,
    ) -> Result<T, Stop> {
        let core = self.worker.core.clone();
        let mut attempt = 0;
        loop {
            self.assert_fence()?;
            let now_ms = core.clock.now_ms();
            let mut draft = Draft::of(&self.session, &self.loaded, now_ms);
            let renewed = draft.head.fence.renew(now_ms + core.settings.lease_ms);
            if let Some(turn) = &mut draft.head.turn {
                turn.unheard = 0;
            }
            renewed.map_err(|_| Stop::Fenced)?;
            let answer = f(&mut draft)?;
            let (commit, head) = draft.seal(&*core.ids);
            loop {
                match core.commit_once(commit.clone()).await {
                    Ok(()) => {
                        let histories = &self.worker.histories;
                        let writes = Arc::unwrap_or_clone(commit.writes);
                        histories.wrote(&self.session, writes);
                        // A lease that was given back may leave work for a dispatcher, and room for other work.
                        let owes_delivery = head.agenda.deliver != self.loaded.head.agenda.deliver;
                        match head.fence.lease {
                            Some(_) if !owes_delivery => {
                                core.bell.ring_change(self.session.as_str());
                            }
                            _ => core.bell.ring(self.session.as_str()),
                        }
                        self.loaded = Loaded {
                            head,
                            version: self.loaded.version + 1,
                        };
                        return Ok(answer);
                    }
                    Err(StoreError::Conflict(_)) => break,
                    Err(error @ StoreError::Invalid(_)) => {
                        return Err(EngineError::from(error).into());
                    }
                    // Unknown: only the same commit can tell. Did not happen: the same commit is as good as a new one.
                    Err(error) => {
                        attempt += 1;
                        tracing::warn!(session = %self.session, %error, attempt, "commit will be repeated");
                        tokio::time::sleep(backoff(attempt)).await;
                    }
                }
            }
            self.refresh().await?;
        }
    }

    /// The active Turn's rows, waited for through storage trouble. Items in `known` are left out: the caller is about to
    /// replace them.
    pub(super) async fn attending(&mut self, known: &[u64]) -> Result<Option<Attending>, Stop> {
        let Some(active) = &self.loaded.head.turn else {
            return Ok(None);
        };
        let (session, core) = (&self.session, &self.worker.core);
        let number = active.number;
        let turn = match self.turn_row.take().filter(|(n, _)| *n == number) {
            Some((_, row)) => row,
            None => {
                let rows = patiently(|| core.rows(session, [keys::turn(number)])).await?;
                let missing = || EngineError::not_found("turn", number.to_string());
                rows.into_iter().next().ok_or_else(missing)?
            }
        };
        let mut numbers = Attending::item_numbers(active);
        numbers.retain(|number| !known.contains(number));
        let sorts = || numbers.iter().map(|&number| keys::item(number));
        let items = patiently(|| core.rows(session, sorts())).await?;
        let items = numbers.iter().copied().zip(items).collect();
        self.turn_row = Some((number, turn.clone()));
        Ok(Some(Attending { turn, items }))
    }
}

/// Repeats a read until it answers or can't (I12).
pub(super) async fn patiently<T, F>(mut read: impl FnMut() -> F) -> Result<T, Stop>
where
    F: Future<Output = Result<T, EngineError>>,
{
    let mut attempt = 0;
    loop {
        match read().await {
            Ok(value) => return Ok(value),
            Err(error @ (EngineError::Damaged { .. } | EngineError::NotFound { .. })) => {
                return Err(error.into());
            }
            Err(error) => {
                attempt += 1;
                tracing::warn!(%error, attempt, "a read will be repeated");
                tokio::time::sleep(backoff(attempt)).await;
            }
        }
    }
}
