//! Deliver: the last stage, in a work group of its own (I9). Each attempt is claimed under a lease before it is made, so that
//! after any crash somebody knows that it may have happened: such a delivery is uncertain and waits for a person (I6).
//!
//! What decides is pure ([`is_due`], [`sweep`], [`answer_event`]); [`Deliverer`] acts. Deliveries of one Session have no order among
//! themselves: one destination that is down does not hold up another.
//!
//! Several deliverers may have several clocks: whether an attempt of another one was lost, each finds out on its own monotonic one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use super::agenda::Due;
use super::core::{Core, Loaded, backoff};
use super::delivery::{
    DeliveryEvent, DeliveryRefusal, DeliveryRow, DeliveryState, change_delivery,
};
use super::draft::Draft;
use super::error::EngineError;
use super::history::as_text;
use super::ids::SessionId;
use super::keys::{AGENDA_SHARDS, Group};
use super::measure::DeliveryCounts;
use super::observer::{Looks, Seen};
use super::outbox::Changed;
use super::ports::{Courier, Parcel, Sent, StoreError};

/// Sessions whose due deliveries are claimed at the same time.
const PARALLEL: usize = 32;
/// Attempts that are made at the same time.
const SENDING: usize = 256;
/// Deliveries of one Session that are claimed in one commit.
const AT_ONCE: u32 = 6;
/// Agenda rows read at once.
const SCAN_ROWS: usize = 256;
/// Without a ring, the agenda is read this often.
const IDLE_SCAN_MS: u64 = 2_000;
/// Rings within this time lead to one reading of the agenda.
const RING_SCAN_MS: u64 = 100;
/// A Session whose handling failed, or whose due attempts somebody may still be at, is left alone this long.
const RETRY_MS: u64 = 500;

/// How deliveries are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// An attempt that is not over by then is given up as uncertain.
    pub lease_ms: u64,
    /// Attempts before a delivery that provably did not arrive has failed.
    pub tries: u32,
    /// The pause behind the first attempt; it doubles with each.
    pub first_pause_ms: u64,
    /// The longest pause.
    pub longest_pause_ms: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            lease_ms: 60_000,
            tries: 12,
            first_pause_ms: 2_000,
            longest_pause_ms: 3_600_000,
        }
    }
}

impl Policy {
    /// The pause behind attempt `n`, from 1.
    pub fn pause_ms(&self, n: u32) -> u64 {
        let times = 1u64 << n.saturating_sub(1).min(32);
        self.first_pause_ms
            .saturating_mul(times)
            .min(self.longest_pause_ms)
    }
}

/// A claimed attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// `dlv_…`
    pub id: String,
    /// The row as it was claimed; `attempts` is the attempt's number.
    pub row: DeliveryRow,
}

/// Whether an owed delivery is to be handled now. One that is being sent has been lost once it has shown nothing new for a whole
/// lease: `silent_ms`, on a clock that nobody sets. A pause that is longer than it can be was written by a clock that is ahead, and
/// is over.
pub fn is_due(row: &DeliveryRow, now_ms: u64, silent_ms: u64, policy: Policy) -> bool {
    match row.state {
        DeliveryState::Sending => silent_ms >= policy.lease_ms,
        _ => {
            let left_ms = row.due_ms.saturating_sub(now_ms);
            let pause_ms = match row.tries {
                0 => 0,
                tries => policy.pause_ms(tries),
            };
            left_ms == 0 || left_ms > pause_ms
        }
    }
}

/// Takes the due ones of `owed`: what is to be sent is claimed, and an attempt that was claimed and never ended is uncertain.
/// `owed` are the Session's first owed deliveries in the order of their due times; `rest` is when the first one behind them is
/// due.
pub fn sweep(
    draft: &mut Draft,
    owed: &[(String, DeliveryRow)],
    rest: Option<u64>,
    policy: Policy,
    is_due: impl Fn(&str, &DeliveryRow) -> bool,
) -> Result<Vec<Attempt>, DeliveryRefusal> {
    let now_ms = draft.now_ms;
    let lease_until_ms = now_ms + policy.lease_ms;
    let mut attempts = Vec::new();
    let mut next = rest;
    let mut owe = |due_ms: u64| next = Some(next.map_or(due_ms, |next| next.min(due_ms)));
    for (id, row) in owed {
        if !is_due(id, row) {
            owe(row.due_ms);
            continue;
        }
        if row.state == DeliveryState::Sending {
            let why = "the sender was lost while it was being sent".to_owned();
            change_delivery(draft, id, row, DeliveryEvent::LostSight, now_ms, Some(why))?;
            continue;
        }
        let claim = DeliveryEvent::Claim;
        let row = change_delivery(draft, id, row, claim, lease_until_ms, None)?;
        owe(lease_until_ms);
        attempts.push(Attempt {
            id: id.clone(),
            row,
        });
    }
    draft.head.deliveries_due_ms = next;
    draft.move_deliveries();
    Ok(attempts)
}

/// What the courier's answer to attempt `row.tries` means, when the delivery is due again if it is, and the answer in words.
pub fn answer_event(
    row: &DeliveryRow,
    sent: Sent,
    policy: Policy,
    now_ms: u64,
) -> (DeliveryEvent, u64, Option<String>) {
    match sent {
        Sent::Delivered => (DeliveryEvent::Arrived, now_ms, None),
        Sent::Failed { message, retryable } if retryable && row.tries < policy.tries => {
            let due_ms = now_ms + policy.pause_ms(row.tries);
            (DeliveryEvent::TryLater, due_ms, Some(message))
        }
        Sent::Failed { message, .. } => (DeliveryEvent::Refused, now_ms, Some(message)),
        Sent::Uncertain(message) => (DeliveryEvent::LostSight, now_ms, Some(message)),
    }
}

/// What a deliverer remembers; all of it may be lost.
#[derive(Default)]
struct Hints {
    /// Sessions whose due deliveries are being claimed.
    busy: HashSet<SessionId>,
    /// Not to be handled before.
    later: HashMap<SessionId, Instant>,
    /// Attempts that are being made, by delivery: number and due time.
    sending: Seen<String, (u32, u64)>,
    /// Entries that are not due by the clock here.
    looks: Looks,
}

/// What came of the wish to claim.
enum Claimed {
    /// These attempts are to be made.
    Attempts {
        attempts: Vec<Attempt>,
        /// More is due behind them.
        more: bool,
    },
    /// Nothing is due.
    Nothing,
    /// Somebody else was quicker.
    Beaten,
}

/// Carries deliveries out.
pub struct Deliverer {
    core: Core,
    courier: Arc<dyn Courier>,
    policy: Policy,
    visits: Arc<Semaphore>,
    sends: Arc<Semaphore>,
    hints: Mutex<Hints>,
    counts: Arc<DeliveryCounts>,
}

impl Deliverer {
    /// A deliverer over these ports. Any number of them may run, anywhere.
    pub fn new(core: Core, courier: Arc<dyn Courier>, policy: Policy) -> Arc<Deliverer> {
        Arc::new(Deliverer {
            core,
            courier,
            policy,
            visits: Arc::new(Semaphore::new(PARALLEL)),
            sends: Arc::new(Semaphore::new(SENDING)),
            hints: Mutex::default(),
            counts: Arc::default(),
        })
    }

    /// What became of its attempts so far.
    pub fn counts(&self) -> Arc<DeliveryCounts> {
        Arc::clone(&self.counts)
    }

    /// Works until `stop` turns true. Attempts that were claimed by then are still brought to their end.
    pub async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut rings = self.core.bell.listen_work();
        let mut next_scan = Instant::now() + self.scan().await;
        loop {
            tokio::select! {
                biased;
                changed = stop.changed() => if changed.is_err() || *stop.borrow() { return },
                () = tokio::time::sleep_until(next_scan) => {
                    next_scan = Instant::now() + self.scan().await;
                }
                Some(_) = rings.recv() => {
                    next_scan = next_scan.min(Instant::now() + Duration::from_millis(RING_SCAN_MS));
                }
            }
        }
    }

    /// Handles the Sessions that owe deliveries now; the pause until the next one does.
    async fn scan(self: &Arc<Self>) -> Duration {
        let mut next_ms = IDLE_SCAN_MS;
        self.forget_old();
        for shard in 0..AGENDA_SHARDS {
            match self.scan_shard(shard).await {
                Ok(pause_ms) => next_ms = next_ms.min(pause_ms),
                Err(error) => tracing::warn!(%error, "the agenda could not be read"),
            }
        }
        Duration::from_millis(next_ms)
    }

    async fn scan_shard(self: &Arc<Self>, shard: u32) -> Result<u64, EngineError> {
        let mut from = String::new();
        loop {
            let page = self
                .core
                .agenda_page(Group::Deliver, shard, &from, SCAN_ROWS);
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
            self.look(entries, now_ms).await;
            match (ahead, next) {
                (Some(due_ms), next) => {
                    if let Some(next) = next {
                        self.look_ahead(shard, next).await?;
                    }
                    return Ok((due_ms - now_ms).clamp(1, IDLE_SCAN_MS));
                }
                (None, Some(next)) => from = next,
                (None, None) => return Ok(pause_ms),
            }
        }
    }

    /// Handles those of these entries that are due, or are to be looked at all the same.
    async fn look(self: &Arc<Self>, entries: Vec<Due>, now_ms: u64) {
        let lease = Duration::from_millis(self.policy.lease_ms);
        for due in entries {
            let (session, now) = (&due.session, Instant::now());
            if due.due_ms <= now_ms || self.hints().looks.now(session, due.due_ms, lease, now) {
                self.visit(due).await;
            }
        }
    }

    /// Looks at one page more of what is not due.
    async fn look_ahead(self: &Arc<Self>, shard: u32, behind: String) -> Result<(), EngineError> {
        let from = self.hints().looks.ahead(shard, behind);
        let page = self
            .core
            .agenda_page(Group::Deliver, shard, &from, SCAN_ROWS);
        let (entries, next) = page.await?;
        self.hints().looks.read_to(shard, next);
        self.look(entries, self.core.clock.now_ms()).await;
        Ok(())
    }

    /// Forgets what was seen of Sessions that have left the agenda.
    fn forget_old(&self) {
        let long = Duration::from_millis(3 * self.policy.lease_ms);
        let now = Instant::now();
        let mut hints = self.hints();
        hints.sending.forget_old(long, now);
        hints.looks.forget_old(long, now);
        hints.later.retain(|_, later| *later > now);
    }

    /// Handles a Session in a task of its own, once at a time.
    async fn visit(self: &Arc<Self>, due: Due) {
        {
            let mut hints = self.hints();
            let later = hints.later.get(&due.session);
            if later.is_some_and(|later| *later > Instant::now())
                || !hints.busy.insert(due.session.clone())
            {
                return;
            }
        }
        let guard = Busy(Arc::clone(self), due.session.clone());
        let Ok(slot) = Arc::clone(&self.visits).acquire_owned().await else {
            return;
        };
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let _guard = guard;
            if let Err(error) = this.deliver(&due).await {
                tracing::warn!(session = %due.session, %error, "deliveries were not brought on");
            }
            drop(slot);
        });
    }

    /// Claims the due deliveries of a Session until none is due, and has each attempt made by a task of its own: one that is
    /// slow holds up nothing.
    async fn deliver(self: &Arc<Self>, due: &Due) -> Result<(), EngineError> {
        let session = &due.session;
        let mut beaten = 0;
        loop {
            let Ok(mut room) = Arc::clone(&self.sends).acquire_many_owned(AT_ONCE).await else {
                return Ok(());
            };
            let begun = Instant::now();
            let loaded = self.core.load(session).await?;
            let now_ms = self.core.clock.now_ms();
            let entry = loaded
                .as_ref()
                .and_then(|loaded| loaded.head.agenda.deliver);
            let claim = match loaded.as_ref().zip(entry) {
                Some((loaded, entry)) => self.claim(session, loaded, entry, now_ms).await?,
                None => Claimed::Nothing,
            };
            match (claim, loaded) {
                (Claimed::Attempts { attempts, more }, Some(loaded)) => {
                    for attempt in attempts {
                        let (this, session) = (Arc::clone(self), session.clone());
                        let (owner, place) = (loaded.head.owner.clone(), room.split(1));
                        tokio::spawn(async move {
                            this.attempt(&owner, &session, attempt, begun, place).await;
                        });
                    }
                    if !more {
                        return Ok(());
                    }
                }
                (Claimed::Beaten, _) => {
                    beaten += 1;
                    if beaten == self.core.decisions().end {
                        return Err(EngineError::Busy { attempts: beaten });
                    }
                    tokio::time::sleep(backoff(beaten.min(6))).await;
                }
                // Nothing is due here. If the agenda says so, it is wrong, or somebody is still at it.
                (Claimed::Nothing | Claimed::Attempts { .. }, _) => {
                    if due.due_ms <= now_ms {
                        let later = Instant::now() + Duration::from_millis(RETRY_MS);
                        self.hints().later.insert(session.clone(), later);
                    }
                    let (group, due_ms) = (Group::Deliver, due.due_ms);
                    return self.core.drop_stray(group, session, due_ms).await;
                }
            }
        }
    }

    /// Claims what is due. The Session's entry is at `entry`.
    async fn claim(
        &self,
        session: &SessionId,
        loaded: &Loaded,
        entry: u64,
        now_ms: u64,
    ) -> Result<Claimed, EngineError> {
        let asked = Instant::now();
        let (owed, rest) = self.core.owed(session, AT_ONCE as usize).await?;
        let told = Instant::now();
        let due: HashSet<&str> = {
            let mut hints = self.hints();
            let due = owed.iter().filter(|(id, row)| {
                let attempt = (row.attempts, row.due_ms);
                let silent = hints.sending.unchanged(id, attempt, asked, told);
                let silent_ms = u64::try_from(silent.as_millis()).unwrap_or(u64::MAX);
                is_due(row, now_ms, silent_ms, self.policy)
            });
            due.map(|(id, _)| id.as_str()).collect()
        };
        let first = owed.iter().map(|(_, row)| row.due_ms).chain(rest).min();
        let is_early = entry <= now_ms && first.is_none_or(|first| first > entry);
        if due.is_empty() && !is_early {
            return Ok(Claimed::Nothing);
        }
        let mut draft = Draft::of(session, loaded, now_ms);
        // Rows that are newer than the head refuse here or at the commit; both mean to look again.
        let is_due = |id: &str, _: &DeliveryRow| due.contains(id);
        let Ok(attempts) = sweep(&mut draft, &owed, rest, self.policy, is_due) else {
            return Ok(Claimed::Beaten);
        };
        let (commit, head) = draft.seal(&*self.core.ids);
        if let Some(due_ms) = head.agenda.deliver {
            // This clock put it there, and comes by then.
            let wait_ms = due_ms.saturating_sub(now_ms) + 2 * IDLE_SCAN_MS;
            let until = Instant::now() + Duration::from_millis(wait_ms);
            self.hints().looks.known(session, due_ms, until);
        }
        match self.core.commit_once(commit).await {
            Ok(()) => {
                let was_lost = |id: &str, row: &DeliveryRow| {
                    row.state == DeliveryState::Sending && due.contains(id)
                };
                let lost = owed.iter().filter(|(id, row)| was_lost(id, row));
                self.counts.uncertain.add(lost.count() as u64);
                let now = Instant::now();
                let mut hints = self.hints();
                for Attempt { id, row } in &attempts {
                    let attempt = (row.attempts, row.due_ms);
                    hints.sending.unchanged(id, attempt, now, now);
                }
                let more = rest.is_some_and(|rest| rest <= now_ms);
                Ok(Claimed::Attempts { attempts, more })
            }
            Err(StoreError::Conflict(_)) => Ok(Claimed::Beaten),
            // Whether it was claimed is not known, so it is not sent: claimed, it will be uncertain.
            Err(error) => Err(error.into()),
        }
    }

    /// One attempt, and its record.
    async fn attempt(
        &self,
        owner: &str,
        session: &SessionId,
        attempt: Attempt,
        begun: Instant,
        _place: Option<OwnedSemaphorePermit>,
    ) {
        let sent = self.send(owner, session, &attempt, begun).await;
        let policy = self.policy;
        let number = attempt.row.attempts;
        let decide = |row: &DeliveryRow, now_ms| {
            // An operator may have wanted another attempt meanwhile: this answer is not about that one.
            (row.attempts == number && row.state != DeliveryState::Pending)
                .then(|| answer_event(row, sent.clone(), policy, now_ms))
        };
        // However long the store is in trouble: what is known is worth recording, and late is not too late.
        let mut repeat = 0;
        loop {
            let error = match self.core.change_owed(session, &attempt.id, decide).await {
                Ok(Some(Changed::Done(row))) => return self.counts.left(row.state),
                Ok(Some(Changed::Refused(_)) | None) => return,
                Err(error) => error,
            };
            tracing::warn!(%session, id = attempt.id, %error, "an answer could not be recorded");
            if matches!(error, EngineError::Damaged { .. }) {
                return;
            }
            repeat += 1;
            tokio::time::sleep(backoff(repeat)).await;
        }
    }

    /// Sends it, unless so much time has gone by since `begun`, before which it was not claimed, that others may have given it up.
    async fn send(
        &self,
        owner: &str,
        session: &SessionId,
        attempt: &Attempt,
        begun: Instant,
    ) -> Sent {
        let scope = self.core.scope(owner, session);
        let body = match self.core.fetch(&scope, &attempt.row.body).await {
            Ok(body) => as_text(body),
            Err(error) => {
                return Sent::Failed {
                    retryable: !matches!(error, EngineError::Damaged { .. }),
                    message: error.to_string(),
                };
            }
        };
        let parcel = Parcel {
            delivery_id: attempt.id.clone(),
            destination: attempt.row.destination.clone(),
            body: Bytes::from(body),
        };
        if begun.elapsed() >= Duration::from_millis(self.policy.lease_ms) {
            // Somebody may have decided meanwhile what becomes of it. That it was not sent is what is known here.
            return Sent::Failed {
                message: "the sender came too late to send it".into(),
                retryable: true,
            };
        }
        // The courier may take most of the lease, not all of it: the answer is to be recorded in time.
        let patience = Duration::from_millis(self.policy.lease_ms - self.policy.lease_ms / 4);
        match tokio::time::timeout(patience, self.courier.send(&parcel)).await {
            Ok(sent) => sent,
            Err(_) => Sent::Uncertain("the destination did not answer in time".into()),
        }
    }

    fn hints(&self) -> std::sync::MutexGuard<'_, Hints> {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A Session that is handled, until this is dropped.
struct Busy(Arc<Deliverer>, SessionId);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.hints().busy.remove(&self.1);
    }
}
