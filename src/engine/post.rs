//! A post: a worker that has a machine to itself, for one Session. It works on what is claimed for it, waits a while for more, and ends.
//!
//! Nobody speaks to it. Its machine is launched after a generation was claimed under its name, so the head has named it from the beginning; the next
//! claim under the same name is its next order. As soon as the head names another one, it has no business there.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::core::{Core, Loaded};
use super::draft::Draft;
use super::environment;
use super::error::EngineError;
use super::fence::RunState;
use super::ids::SessionId;
use super::ports::{ExecutionId, RunGrant, StoreError};
use super::reached::Reached;
use super::run::Worker;
use super::session::Head;

/// During a Run the head is looked at this often: that is how a worker far from who accepts hears of steers and cancels.
const LOOK: Duration = Duration::from_secs(1);
/// Between two looks for the next order at first.
const POLL_FIRST: Duration = Duration::from_secs(1);
/// And at last. So long it may take until a worker that waits has noticed that something was claimed for it.
pub(super) const POLL_LAST: Duration = Duration::from_secs(15);
/// An order is likely to come soon after the last one: for so long the first pause is kept.
const POLL_FAST: Duration = Duration::from_secs(30);
/// How long it may take to say that it ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long a worker stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Without work.
    pub idle: Duration,
    /// Without a store.
    pub unreachable: Duration,
}

/// Why a worker leaves its post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There was nothing to do for long enough.
    Idle,
    /// The Session has another worker, or none is wanted here any more.
    Superseded,
    /// There is no such Session, or not any more.
    NoSession,
    /// The store could not be reached for long enough.
    Unreachable,
    /// It was asked to leave.
    Asked,
}

impl End {
    /// In words, behind "the worker ends: ".
    pub fn words(self) -> &'static str {
        match self {
            End::Idle => "there was nothing to do",
            End::Superseded => "the session has another worker, or wants none here",
            End::NoSession => "there is no such session any more",
            End::Unreachable => "the store could not be reached",
            End::Asked => "it was asked to leave",
        }
    }
}

/// What a head says to the worker of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Work, under this generation.
    Work(u64),
    /// A Run here is not over yet by the record.
    Settling,
    /// Wait for more.
    Wait,
    /// Go.
    Go(End),
}

/// Decides from the head alone; `done` is the last generation that was worked on here.
fn order(head: Option<&Head>, me: &ExecutionId, done: u64) -> Order {
    let Some(head) = head.filter(|head| head.deleted_ms.is_none()) else {
        return Order::Go(End::NoSession);
    };
    let fence = &head.fence;
    let mine = |other: Option<&ExecutionId>| other == Some(me);
    match fence.state() {
        RunState::Leased if mine(fence.lease.as_ref().map(|lease| &lease.execution)) => {
            match fence.generation > done {
                true => Order::Work(fence.generation),
                false => Order::Settling,
            }
        }
        RunState::Free if mine(fence.last.as_ref()) => Order::Wait,
        RunState::Leased | RunState::Free | RunState::Quarantined => Order::Go(End::Superseded),
    }
}

/// The pause before the next look for an order.
fn pause(idle_for: Duration) -> Duration {
    match idle_for.checked_sub(POLL_FAST) {
        None => POLL_FIRST,
        // It grows with the time that nothing came.
        Some(beyond) => (POLL_FIRST + beyond / 8).min(POLL_LAST),
    }
}

/// A worker at its post.
pub struct Post {
    core: Core,
    worker: Arc<Worker>,
    reached: Arc<Reached>,
    session: SessionId,
    me: ExecutionId,
    limits: Limits,
}

impl Post {
    /// The post of the execution `me`. `core.store` is `reached`, which knows when it was reached last.
    pub fn new(
        core: Core,
        worker: Arc<Worker>,
        reached: Arc<Reached>,
        (session, me): (SessionId, ExecutionId),
        limits: Limits,
    ) -> Post {
        Post {
            core,
            worker,
            reached,
            session,
            me,
            limits,
        }
    }

    /// Works until there is a reason to end. `leave` is how long running Turns get once somebody asks it to go.
    pub async fn keep(&self, mut leave: watch::Receiver<Option<u64>>) -> End {
        let mut done = 0;
        let mut idle_since = Instant::now();
        loop {
            if leave.borrow().is_some() {
                return self.farewell(End::Asked).await;
            }
            match self.core.load(&self.session).await {
                Ok(loaded) => match order(loaded.as_ref().map(|l| &l.head), &self.me, done) {
                    Order::Work(generation) => {
                        done = generation;
                        if let Some(end) = self.work(generation, &mut leave).await {
                            return end;
                        }
                        idle_since = Instant::now();
                        continue;
                    }
                    Order::Go(end) => return end,
                    Order::Wait if idle_since.elapsed() >= self.limits.idle => {
                        match self.sign_off().await {
                            Ok(true) => return End::Idle,
                            // Somebody was quicker: perhaps there is work.
                            Ok(false) => continue,
                            Err(error) => tracing::warn!(%error, "the end could not be recorded"),
                        }
                    }
                    // Whoever looks after leases will fence it; nothing more is worked on under it here.
                    Order::Settling if idle_since.elapsed() >= self.limits.idle => {
                        return End::Superseded;
                    }
                    Order::Settling | Order::Wait => {}
                },
                Err(error) => {
                    tracing::warn!(session = %self.session, %error, "the head could not be read");
                }
            }
            if self.reached.silent_for() >= self.limits.unreachable {
                return End::Unreachable;
            }
            tokio::select! {
                () = tokio::time::sleep(pause(idle_since.elapsed())) => {}
                // Whoever could ask is gone: so is whatever it works for.
                changed = leave.changed() => if changed.is_err() {
                    return self.farewell(End::Asked).await;
                },
            }
        }
    }

    /// Works under one generation. `Some`: that was the last.
    async fn work(&self, generation: u64, leave: &mut watch::Receiver<Option<u64>>) -> Option<End> {
        let grant = RunGrant {
            session: self.session.to_string(),
            generation,
            execution: self.me.clone(),
        };
        let running = self.worker.run(grant);
        tokio::pin!(running);
        let mut looking = tokio::time::interval(LOOK);
        looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // A Run looks by itself when it begins.
        looking.tick().await;
        let mut asked = false;
        loop {
            tokio::select! {
                () = &mut running => break,
                _ = looking.tick() => {
                    if self.reached.silent_for() >= self.limits.unreachable {
                        return Some(End::Unreachable);
                    }
                    self.worker.nudge(&self.session);
                }
                changed = leave.changed(), if !asked => {
                    asked = true;
                    let grace_ms = leave.borrow().unwrap_or_default();
                    self.worker.leave(if changed.is_ok() { grace_ms } else { 0 });
                }
            }
        }
        match asked {
            true => Some(self.farewell(End::Asked).await),
            false => None,
        }
    }

    /// Says that nothing more is to be claimed for this worker, if there is time.
    async fn farewell(&self, end: End) -> End {
        match tokio::time::timeout(FAREWELL, self.sign_off()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the end could not be recorded"),
            Err(_) => tracing::warn!("the end could not be recorded in time"),
        }
        end
    }

    /// Takes this worker's name out of the head, so that nothing more is claimed under it. `false`: somebody changed the head at that
    /// moment.
    async fn sign_off(&self) -> Result<bool, EngineError> {
        self.core.sign_off(&self.session, &self.me).await
    }
}

impl Core {
    /// The worker `execution` waits for this Session no more: its name leaves the head, in a commit that loses against any claim.
    /// `false`: it lost, and nothing was changed.
    ///
    /// # Errors
    /// The store's.
    pub async fn sign_off(
        &self,
        session: &SessionId,
        execution: &ExecutionId,
    ) -> Result<bool, EngineError> {
        let Some(loaded) = self.load(session).await? else {
            return Ok(true);
        };
        let Loaded { head, .. } = &loaded;
        if head.deleted_ms.is_some() || head.fence.last.as_ref() != Some(execution) {
            // Without its name there, only a lease can keep it; a lease is not given back here.
            let lease = head.fence.lease.as_ref();
            return Ok(lease.is_none_or(|lease| lease.execution != *execution));
        }
        let mut draft = Draft::of(session, &loaded, self.clock.now_ms());
        draft.head.fence.last = None;
        environment::ended(&mut draft);
        let (commit, _) = draft.seal(&*self.ids);
        match self.commit_once(commit).await {
            Ok(()) => {
                self.bell.ring_change(session.as_str());
                Ok(true)
            }
            Err(StoreError::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: u8) -> ExecutionId {
        ExecutionId(format!("ec2:{n}"))
    }

    fn head() -> Head {
        Head::new("o".into(), 0)
    }

    #[test]
    fn a_claim_under_its_name_is_its_order_and_each_is_followed_once() {
        let mut head = head();
        head.fence.claim(name(1), 9).expect("free");
        assert_eq!(order(Some(&head), &name(1), 0), Order::Work(1));
        assert_eq!(order(Some(&head), &name(1), 1), Order::Settling);
        head.fence.release().expect("leased");
        assert_eq!(order(Some(&head), &name(1), 1), Order::Wait);
        head.fence.claim(name(1), 9).expect("free");
        assert_eq!(order(Some(&head), &name(1), 1), Order::Work(2));
    }

    #[test]
    fn who_is_not_named_goes() {
        let go = |head: &Head| order(Some(head), &name(1), 0);
        let superseded = Order::Go(End::Superseded);
        assert_eq!(go(&head()), superseded);
        let mut other = head();
        other.fence.claim(name(2), 9).expect("free");
        assert_eq!(go(&other), superseded);
        let mut fenced = head();
        fenced.fence.claim(name(1), 9).expect("free");
        fenced.fence.lost_sight(9).expect("leased");
        assert_eq!(go(&fenced), superseded);
        let mut deleted = head();
        deleted.fence.claim(name(1), 9).expect("free");
        deleted.deleted_ms = Some(1);
        assert_eq!(go(&deleted), Order::Go(End::NoSession));
        assert_eq!(order(None, &name(1), 0), Order::Go(End::NoSession));
    }

    #[test]
    fn looks_are_frequent_at_first_and_rare_at_last() {
        let pauses: Vec<Duration> = (0..600).map(|s| pause(Duration::from_secs(s))).collect();
        assert!(pauses.is_sorted());
        assert_eq!(pauses.first(), Some(&POLL_FIRST));
        assert_eq!(pauses.last(), Some(&POLL_LAST));
        // An idle machine asks less than a hundred times in its ten minutes.
        let mut at = Duration::ZERO;
        let mut asked = 0;
        while at < Duration::from_secs(600) {
            at += pause(at);
            asked += 1;
        }
        assert!(asked < 100, "{asked}");
    }
}
