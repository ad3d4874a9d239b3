//! Commits that wait for the writer. Bounded; each answer goes back to the task that waits for it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::engine::ports::{Commit, Committed, StoreError};

/// Commits that may wait at once; one more is answered `Throttled`.
const MAX_WAITING: usize = 4096;

/// A commit on its way to the writer.
pub(super) struct Pending {
    pub(super) commit: Commit,
    pub(super) answer: oneshot::Sender<Result<Committed, StoreError>>,
    queued_at: Instant,
}

/// The queue between the tasks that commit and the one thread that writes.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Pending>,
    /// The writer sleeps until so many wait; 0 while it is not asleep.
    wanted: usize,
    closed: bool,
}

impl Queue {
    /// Adds a commit; its answer arrives at the other end of the returned channel.
    pub(super) fn push(
        &self,
        commit: Commit,
    ) -> Result<oneshot::Receiver<Result<Committed, StoreError>>, StoreError> {
        let (answer, answered) = oneshot::channel();
        let mut state = self.lock();
        if state.closed {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        }
        if state.waiting.len() >= MAX_WAITING {
            return Err(StoreError::Throttled);
        }
        state.waiting.push_back(Pending {
            commit,
            answer,
            queued_at: Instant::now(),
        });
        let wake = state.wanted > 0 && state.waiting.len() >= state.wanted;
        drop(state);
        if wake {
            self.arrived.notify_one();
        }
        Ok(answered)
    }

    /// Sleeps until a commit waits; `false` once the queue is closed and empty.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.closed {
            state.wanted = 1;
            state = self
                .arrived
                .wait(state)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        state.wanted = 0;
        !state.waiting.is_empty()
    }

    /// Sleeps until `wanted` commits wait, but no longer than `patience`.
    pub(super) fn gather(&self, wanted: usize, patience: Duration) {
        let until = Instant::now() + patience;
        let mut state = self.lock();
        while state.waiting.len() < wanted && !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state.wanted = wanted;
            state = self
                .arrived
                .wait_timeout(state, left)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
        state.wanted = 0;
    }

    /// Takes the oldest commits, at most `most`.
    pub(super) fn take(&self, most: usize) -> Vec<Pending> {
        let mut state = self.lock();
        let count = state.waiting.len().min(most);
        state.waiting.drain(..count).collect()
    }

    /// Takes those that have waited longer than `patience`.
    pub(super) fn take_older(&self, patience: Duration) -> Vec<Pending> {
        let mut state = self.lock();
        let count = state
            .waiting
            .iter()
            .take_while(|p| p.queued_at.elapsed() > patience)
            .count();
        state.waiting.drain(..count).collect()
    }

    /// Refuses further commits. The writer ends after those that wait.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing can panic halfway through a change of this state.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
