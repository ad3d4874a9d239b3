//! The store's second thread: it copies the WAL back into the database beside the writer, makes room at its end, and answers commits
//! whose turn to write does not come.
//!
//! Most processes never need it: it starts with the first thing there is to do.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::ahead::Ahead;
use super::checkpoint::{Log, checkpoint, sync_database};
use super::open::{Durability, Place};
use super::queue::Queue;
use super::threads::{Alive, spawn};
use crate::engine::ports::StoreError;

/// How often the helper looks again while there is something to watch.
const TICK: Duration = Duration::from_millis(50);

/// The pause after a copy that failed.
const RETRY: Duration = Duration::from_secs(1);

/// What the writer tells the helper, and the helper's life.
pub(super) struct Helper {
    place: Arc<Place>,
    queue: Arc<Queue>,
    log: Arc<Log>,
    ahead: Ahead,
    state: Mutex<State>,
    changed: Condvar,
    /// Held while a copy is made, by whoever makes it.
    copying: Mutex<()>,
}

#[derive(Default)]
struct State {
    /// The writer waits for its turn, which another process has.
    blocked: bool,
    closed: bool,
    /// Given to the thread when it starts; gone afterwards.
    alive: Option<Alive>,
}

impl Helper {
    pub(super) fn new(place: Arc<Place>, queue: Arc<Queue>, log: Arc<Log>) -> Helper {
        Helper {
            place,
            queue,
            log,
            ahead: Ahead::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
            copying: Mutex::default(),
        }
    }

    /// Allows the thread to start when there is something to do.
    pub(super) fn enable(&self, alive: Alive) {
        self.lock().alive = Some(alive);
    }

    /// The writer begins or ends to wait for its turn.
    pub(super) fn blocked(self: &Arc<Self>, blocked: bool) {
        self.lock().blocked = blocked;
        if blocked {
            self.nudge();
        }
    }

    /// There may be something to do.
    pub(super) fn nudge(self: &Arc<Self>) {
        let mut state = self.lock();
        if let Some(alive) = state.alive.clone() {
            let helper = Arc::clone(self);
            if spawn("store-helper", alive, move || helper.run()).is_ok() {
                state.alive = None;
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    /// A group was committed.
    pub(super) fn look(self: &Arc<Self>) {
        if self.has_work() {
            self.nudge();
        }
    }

    fn has_work(&self) -> bool {
        self.log.worth_copying() || self.has_room_to_make()
    }

    fn has_room_to_make(&self) -> bool {
        self.place.options.durability == Durability::Full && self.ahead.is_short(&self.log)
    }

    /// The right to copy: at once or not at all, or else as soon as the helper's own copy has ended.
    pub(super) fn copying(&self, wait: bool) -> Option<MutexGuard<'_, ()>> {
        match self.copying.try_lock() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
            Err(TryLockError::WouldBlock) if wait => {
                let held = self.copying.lock();
                Some(held.unwrap_or_else(PoisonError::into_inner))
            }
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Ends the thread after its current step.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.alive = None;
        drop(state);
        self.changed.notify_one();
    }

    /// The thread's life.
    fn run(&self) {
        let mut conn = None;
        let mut appended = 0;
        while let Some(blocked) = self.wait() {
            if blocked {
                self.expire();
            }
            if self.has_room_to_make() {
                self.ahead.lay(&self.place, &self.log);
            }
            let quiet = self.log.appended() == appended;
            appended = self.log.appended();
            if self.log.worth_copying() || (quiet && self.log.worth_completing()) {
                let copied = self.copy(&mut conn);
                if !copied {
                    conn = None;
                }
                self.pause(if copied { TICK } else { RETRY });
            }
        }
    }

    /// Sleeps until there is something to do or to look at: whether the writer is blocked. `None` ends the thread.
    fn wait(&self) -> Option<bool> {
        let mut state = self.lock();
        if !state.closed && !self.has_work() {
            let watching = state.blocked || self.log.worth_completing();
            state = if watching {
                let woken = self.changed.wait_timeout(state, TICK);
                woken.unwrap_or_else(PoisonError::into_inner).0
            } else {
                let woken = self.changed.wait(state);
                woken.unwrap_or_else(PoisonError::into_inner)
            };
        }
        (!state.closed).then_some(state.blocked)
    }

    /// Sleeps, whatever the writer says: a copy that a reader holds up would be tried without end otherwise.
    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.lock();
        while !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn expire(&self) {
        let patience = Duration::from_millis(self.place.options.patience_ms);
        for pending in self.queue.take_older(patience) {
            let error = StoreError::Unavailable(format!(
                "another rat-things process has been writing to {} for {} s without an end; is one stopped?",
                self.place.path.display(),
                patience.as_secs()
            ));
            // Nobody waits any more when the caller was dropped.
            let _ = pending.answer.send(Err(error));
        }
    }

    fn copy(&self, conn: &mut Option<Connection>) -> bool {
        if conn.is_none() {
            *conn = self.place.connect_writing().ok();
        }
        let Some(conn) = conn else { return false };
        // The writer is at it itself, perhaps while it waits for this thread's own step to end.
        let Some(held) = self.copying(false) else {
            return true;
        };
        let copied = checkpoint(conn, &self.log);
        drop(held);
        if self.log.worth_syncing() {
            sync_database(conn);
        }
        copied
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing can panic halfway through a change of this state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
