//! The store's second thread: it copies the WAL back into the database beside the writer, and answers commits whose turn to
//! write does not come.
//!
//! A checkpoint made by the writer stalls every commit for 10 ms and more per 1,000 pages; made here it stalls none. But it can't
//! catch up with a busy writer, so the writer makes the last, small step itself (see `writer`), after which the WAL begins anew.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::wal::CheckpointMode;

use super::open::Place;
use super::queue::Queue;
use super::stats::Log;
use crate::engine::ports::StoreError;

/// Pages only in the WAL at which the helper begins to copy.
pub(super) const SOFT_PAGES: u64 = 4_000;

/// How often the helper looks again while there is something to watch.
const TICK: Duration = Duration::from_millis(50);

/// The pause after a copy that failed.
const RETRY: Duration = Duration::from_secs(1);

/// What the writer tells the helper, and the helper's life.
pub(super) struct Helper {
    place: Arc<Place>,
    queue: Arc<Queue>,
    log: Arc<Log>,
    patience: Duration,
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
}

impl Helper {
    pub(super) fn new(
        place: Arc<Place>,
        queue: Arc<Queue>,
        log: Arc<Log>,
        patience: Duration,
    ) -> Helper {
        Helper {
            place,
            queue,
            log,
            patience,
            state: Mutex::default(),
            changed: Condvar::new(),
            copying: Mutex::default(),
        }
    }

    /// The writer begins or ends to wait for its turn.
    pub(super) fn blocked(&self, blocked: bool) {
        self.lock().blocked = blocked;
        if blocked {
            self.changed.notify_one();
        }
    }

    /// There may be something to copy.
    pub(super) fn nudge(&self) {
        self.changed.notify_one();
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
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// The thread's life.
    pub(super) fn run(&self) {
        let mut conn = None;
        let mut length = 0;
        while let Some(blocked) = self.wait() {
            if blocked {
                self.expire();
            }
            // A quiet writer lets a copy complete, and then the WAL can begin anew.
            let behind = self.log.behind();
            let quiet = length == self.log.length() && length >= SOFT_PAGES && behind > 0;
            length = self.log.length();
            if behind >= SOFT_PAGES || quiet {
                let copied = self.copy(&mut conn);
                self.pause(if copied { TICK } else { RETRY });
            }
        }
    }

    /// Sleeps until there is something to do or to look at: whether the writer is blocked. `None` ends the thread.
    fn wait(&self) -> Option<bool> {
        let mut state = self.lock();
        let behind = self.log.behind();
        if !state.closed && behind < SOFT_PAGES {
            let watching = state.blocked || (behind > 0 && self.log.length() >= SOFT_PAGES);
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
        for pending in self.queue.take_older(self.patience) {
            let error = StoreError::Unavailable(format!(
                "another rat-things process has been writing to {} for {} s without an end; is one stopped?",
                self.place.path.display(),
                self.patience.as_secs()
            ));
            // Nobody waits any more when the caller was dropped.
            let _ = pending.answer.send(Err(error));
        }
    }

    fn copy(&self, conn: &mut Option<Connection>) -> bool {
        if conn.is_none() {
            *conn = self.place.connect_writer().ok();
        }
        conn.as_ref()
            .is_some_and(|conn| checkpoint(conn, &self.log))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing can panic halfway through a change of this state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies what it can without waiting for anybody; whether that worked. A failure (a full disk, say) is no error for anybody: the
/// WAL keeps what it has, and a later attempt goes on.
pub(super) fn checkpoint(conn: &Connection, log: &Log) -> bool {
    match conn.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE) {
        Ok((_, copied)) => {
            log.checkpointed(copied.max(0) as u64);
            true
        }
        Err(_) => false,
    }
}
