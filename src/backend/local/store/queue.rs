//! Commits that wait for the writer. Bounded; each answer goes back to the task that waits for it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::group::Answer;
use super::prepared::Prepared;
use crate::engine::ports::StoreError;

/// Commits that may wait at once; one more is answered `Throttled`.
const MAX_WAITING: usize = 4096;

/// A commit on its way to the writer.
pub(super) struct Pending {
    pub(super) commit: Arc<Prepared>,
    pub(super) answer: oneshot::Sender<Answer>,
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
        commit: Arc<Prepared>,
    ) -> Result<oneshot::Receiver<Answer>, StoreError> {
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

    /// Whether no commit waits.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    /// Sleeps until a commit waits; `false` once the queue is closed and empty.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.closed {
            state.wanted = 1;
            state = self
                .arrived
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.wanted = 0;
        !state.waiting.is_empty()
    }

    /// Sleeps until `wanted` commits wait, but no longer than it takes until none comes for a time of `quiet`, nor than `most`.
    pub(super) fn gather(&self, wanted: usize, quiet: Duration, most: Duration) {
        let end = Instant::now() + most;
        let mut state = self.lock();
        let (mut seen, mut until) = (state.waiting.len(), Instant::now() + quiet);
        while state.waiting.len() < wanted && !state.closed {
            let now = Instant::now();
            if now >= until.min(end) {
                if state.waiting.len() == seen || now >= end {
                    break;
                }
                (seen, until) = (state.waiting.len(), now + quiet);
            }
            state.wanted = wanted;
            state = self
                .arrived
                .wait_timeout(state, until.min(end).saturating_duration_since(now))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        state.wanted = 0;
    }

    /// Takes the oldest commits: one at least if any waits, then as many as keep within `most` and `most_bytes` of values.
    pub(super) fn take(&self, most: usize, most_bytes: usize) -> Vec<Pending> {
        let mut state = self.lock();
        let mut bytes = 0;
        let fits = |pending: &&Pending| {
            bytes += pending.commit.value_bytes();
            bytes <= most_bytes
        };
        let count = state.waiting.iter().take(most).take_while(fits).count();
        let count = count.max(1).min(state.waiting.len());
        state.waiting.drain(..count).collect()
    }

    /// Takes all.
    pub(super) fn take_all(&self) -> Vec<Pending> {
        self.lock().waiting.drain(..).collect()
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::local::store::partitions::Partitions;
    use crate::engine::ports::{Change, Commit, CommitId, Guard, Key, Write};

    fn commit(bytes: usize) -> Arc<Prepared> {
        let commit = Commit {
            id: CommitId([0; 16]),
            writes: vec![Write {
                key: Key::new("p", "s"),
                guard: Guard::Any,
                change: Change::Put(vec![0; bytes]),
            }]
            .into(),
        };
        Arc::new(Prepared::new(commit, &Partitions::default()))
    }

    fn queue(sizes: &[usize]) -> Queue {
        let queue = Queue::default();
        for size in sizes {
            queue.push(commit(*size)).expect("there is room");
        }
        queue
    }

    #[test]
    fn a_full_queue_is_throttled() {
        let queue = queue(&[0; MAX_WAITING]);
        assert_eq!(queue.push(commit(0)).map(drop), Err(StoreError::Throttled));
        queue.take(1, 0);
        assert!(queue.push(commit(0)).is_ok());
    }

    #[test]
    fn a_group_is_bounded_in_number_and_in_bytes() {
        let queue = queue(&[10, 10, 10, 500, 10, 10]);
        assert_eq!(queue.take(2, 100).len(), 2);
        assert_eq!(queue.take(9, 100).len(), 1);
        // What is too wide for any group is a group alone.
        assert_eq!(queue.take(9, 100).len(), 1);
        assert_eq!(queue.take(9, 100).len(), 2);
        assert_eq!(queue.take(9, 100).len(), 0);
    }

    #[test]
    fn a_closed_queue_takes_nothing_more_but_gives_what_it_has() {
        let queue = queue(&[10]);
        queue.close();
        let refused = queue.push(commit(10));
        assert!(matches!(refused, Err(StoreError::Unavailable(_))));
        assert!(queue.wait());
        assert_eq!(queue.take_all().len(), 1);
        assert!(!queue.wait());
    }

    #[test]
    fn only_those_who_waited_too_long_are_taken_as_older() {
        let queue = queue(&[10, 10]);
        assert_eq!(queue.take_older(Duration::from_secs(3600)).len(), 0);
        assert_eq!(queue.take_older(Duration::ZERO).len(), 2);
    }
}
