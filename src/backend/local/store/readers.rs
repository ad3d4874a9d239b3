//! Reads: a few threads, each with its own connection.
//!
//! A point read takes microseconds when its pages are in memory and a disk access when they are not, so it may not run on the
//! async runtime's threads. Threads start when a read finds no idle one. Connections stay open for the life of the store, which also
//! keeps the WAL's files in place.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::faults;
use super::open::Place;
use crate::engine::ports::StoreError;

/// How long a reader trusts that the files are still the ones it has open. Looking costs a third of a point read, so it is not done
/// for each; the writer does look before each group.
const GUARD_EVERY: Duration = Duration::from_millis(10);

type Job = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// The pool. Dropping it ends the threads after their current read.
pub(super) struct Readers {
    shared: Arc<Shared>,
}

struct Shared {
    place: Arc<Place>,
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    idle: usize,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

impl Readers {
    /// A pool without threads yet.
    pub(super) fn new(place: Arc<Place>) -> Readers {
        Readers {
            shared: Arc::new(Shared {
                place,
                state: Mutex::default(),
                arrived: Condvar::new(),
            }),
        }
    }

    /// Tells the threads to end after the reads that wait.
    pub(super) fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.arrived.notify_all();
    }

    /// Runs `read` on one of the threads.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let place = Arc::clone(&self.shared.place);
        self.submit(Box::new(move |conn| {
            let result =
                conn.and_then(|conn| read(conn).map_err(|e| faults::refused(&e, &place.path)));
            // Nobody waits any more when the caller was dropped.
            let _ = answer.send(result);
        }))?;
        answered.await.unwrap_or_else(|_| {
            Err(StoreError::Unavailable(
                "the store's reader ended".to_owned(),
            ))
        })
    }

    fn submit(&self, job: Job) -> Result<(), StoreError> {
        let mut state = self.shared.lock();
        state.waiting.push_back(job);
        if state.waiting.len() <= state.idle {
            drop(state);
            self.shared.arrived.notify_one();
        } else if state.threads.len() < self.shared.place.options.readers.max(1) {
            let shared = Arc::clone(&self.shared);
            match thread::Builder::new()
                .name("store-reader".to_owned())
                .spawn(move || shared.serve())
            {
                Ok(thread) => state.threads.push(thread),
                // The read is served by another thread, if there is one.
                Err(_) if !state.threads.is_empty() => {}
                Err(e) => {
                    state.waiting.pop_back();
                    return Err(StoreError::Unavailable(format!(
                        "no thread for the store's reads: {e}"
                    )));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.close();
        let threads = std::mem::take(&mut self.shared.lock().threads);
        for thread in threads {
            // A reader that panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn serve(&self) {
        let mut conn: Option<Connection> = None;
        let mut guarded_at: Option<Instant> = None;
        while let Some(job) = self.next() {
            if guarded_at.is_none_or(|at| at.elapsed() >= GUARD_EVERY) {
                if let Err(e) = self.place.guard() {
                    job(Err(e));
                    continue;
                }
                guarded_at = Some(Instant::now());
            }
            match &conn {
                Some(conn) => job(Ok(conn)),
                None => match self.place.connect_reading() {
                    Ok(opened) => job(Ok(conn.insert(opened))),
                    Err(e) => job(Err(e)),
                },
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state.idle += 1;
            state = self
                .arrived
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing can panic halfway through a change of this state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
