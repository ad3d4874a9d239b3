//! Reads: a few threads, each with its own connection, and connections for reads that are over sooner than a thread wakes up.
//!
//! What may take long (ranges, many rows, the opening of a connection) runs on the threads. A point read takes ten microseconds, and
//! two changes of thread several times that, so it runs where it is asked for, on a connection that never waits: when all of these are in
//! use, or one finds a lock, the read goes to the threads after all. A page that is not in memory costs it one access to the disk.
//! Threads start when a read finds no idle one. Connections stay open for the life of the store, which also keeps the WAL's
//! files in place.

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

/// Reads on the threads before there is a connection for reads in place, and again before there is one more: commands that read a little and
/// end need none, and a lone client needs one.
const BEFORE_IN_PLACE: u32 = 32;
/// Connections for reads in place, at most: as many as there are threads that may read at the same time, within reason.
const IN_PLACE: usize = 4;

type Job = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// The pool. Dropping it ends the threads after their current read.
pub(super) struct Readers {
    shared: Arc<Shared>,
}

struct Shared {
    place: Arc<Place>,
    state: Mutex<State>,
    arrived: Condvar,
    /// Those behind one are used while it is in use.
    in_place: [Mutex<InPlace>; IN_PLACE],
}

/// A connection for reads in place.
#[derive(Default)]
struct InPlace {
    conn: Option<Guarded>,
    /// Reads so far that would have used it.
    wanted: u32,
    /// A thread opens it.
    opening: bool,
}

/// A connection, and when the files were last found to be the ones it has open.
struct Guarded {
    conn: Connection,
    at: Option<Instant>,
}

impl Guarded {
    /// Looks at the files, unless it did so a moment ago.
    fn check(&mut self, place: &Place) -> Result<&Connection, StoreError> {
        if self.at.is_none_or(|at| at.elapsed() >= GUARD_EVERY) {
            self.at = None;
            place.guard()?;
            self.at = Some(Instant::now());
        }
        Ok(&self.conn)
    }
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
                in_place: Default::default(),
            }),
        }
    }

    /// Tells the threads to end after the reads that wait.
    pub(super) fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.arrived.notify_all();
    }

    /// Runs a short `read`: here, or on one of the threads.
    pub(super) async fn run_short<T: Send + 'static>(
        &self,
        read: impl Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let here = self.read_in_place(&read);
        match here {
            Some(result) => result,
            None => self.run(read).await,
        }
    }

    /// The answer of `read`, if it can be had without waiting for anything.
    fn read_in_place<T>(
        &self,
        read: &dyn Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Option<Result<T, StoreError>> {
        let mut places = self.shared.in_place.iter().enumerate();
        let (at, mut here) = places.find_map(|(at, place)| Some((at, place.try_lock().ok()?)))?;
        let Some(guarded) = &mut here.conn else {
            here.wanted = here.wanted.saturating_add(1);
            if here.wanted >= BEFORE_IN_PLACE && !here.opening {
                here.opening = true;
                drop(here);
                self.open_in_place(at);
            }
            return None;
        };
        // Whatever is wrong, the threads find out and say it.
        let conn = guarded.check(&self.shared.place).ok()?;
        read(conn).ok().map(Ok)
    }

    fn open_in_place(&self, at: usize) {
        let shared = Arc::downgrade(&self.shared);
        let job: Job = Box::new(move |_| {
            let Some(shared) = shared.upgrade() else {
                return;
            };
            let opened = shared.place.connect_reading().ok();
            let conn = opened.filter(|conn| conn.busy_timeout(Duration::ZERO).is_ok());
            let mut here = shared.in_place(at);
            here.conn = conn.map(|conn| Guarded { conn, at: None });
            here.wanted = 0;
            here.opening = false;
        });
        if self.submit(job).is_err() {
            self.shared.in_place(at).opening = false;
        }
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
        let mut guarded: Option<Guarded> = None;
        while let Some(job) = self.next() {
            let open = match &mut guarded {
                Some(open) => Ok(open),
                None => match self.place.connect_reading() {
                    Ok(conn) => Ok(guarded.insert(Guarded { conn, at: None })),
                    Err(e) => Err(e),
                },
            };
            job(open.and_then(|open| open.check(&self.place)));
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

    fn in_place(&self, at: usize) -> MutexGuard<'_, InPlace> {
        // A read that panicked left the connection as it was.
        let place = self.in_place[at].lock();
        place.unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing can panic halfway through a change of this state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
