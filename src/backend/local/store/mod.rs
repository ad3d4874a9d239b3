//! The SQLite store: one file, several processes, commits in groups.
//!
//! Commits of a process go through one queue to one thread, which writes as many as wait in one transaction with one sync and then
//! answers. Long reads go to a few threads with a connection each; short ones are made where they are asked for. Between processes
//! a pair of file locks makes turns. The surprise: a SQLite file can be removed or replaced under an open connection without any
//! error, so the store checks for that itself.
//!
//! Read in this order: `schema`, `keycode`, `partitions`, `statements`, `rows` and `moving` (what is stored), `group` (one transaction), `pen` and `pace` (who writes
//! it, and when), `writer` and `queue` (the thread), `turnstile` (turns between processes), `joined`, `checkpoint`, `ahead` and `helper`, `readers`, `open` and `identity`.

mod ahead;
mod apply;
mod checkpoint;
mod faults;
mod group;
mod helper;
mod identity;
mod joined;
mod keycode;
mod moving;
mod open;
mod pace;
mod packed;
mod partitions;
mod pen;
mod prepared;
mod queue;
mod readers;
mod rows;
mod schema;
mod statements;
mod stats;
mod survey;
mod threads;
mod turnstile;
mod upkeep;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::runtime::{Handle, RuntimeFlavor};

use self::group::Answer;
use self::helper::Helper;
use self::open::Place;
use self::pen::Pen;
use self::prepared::Prepared;
use self::queue::Queue;
use self::readers::Readers;
use self::stats::Counters;
use self::threads::{Ended, spawn};
use self::writer::Writer;
use crate::engine::ports::{Commit, Committed, Key, Page, Range, Record, Store, StoreError};

pub use self::apply::{INLINE_NEW_BYTES, INLINE_ROW_BYTES};
pub use self::open::Durability;
pub use self::stats::StoreStats;
pub use self::upkeep::{BackupError, Health};

/// The schema that this program writes, and reads without migrating.
pub fn schema_version() -> u64 {
    schema::STEPS.len() as u64
}

/// So many rows are read as quickly as one.
const FEW_KEYS: usize = 4;

/// How long closing waits for commits in the queue.
const CLOSING: Duration = Duration::from_secs(2);

/// How a store is opened. The default is right for everything but tests and measurements.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// How long a commit waits for its turn while another process keeps it, in milliseconds. Foreign programs that keep the
    /// database locked are waited for no longer than 5 s.
    pub patience_ms: u64,
    /// Threads that read, at most.
    pub readers: usize,
    /// Whether the writer may wait a little for company.
    pub gather: bool,
    /// How much is on the disk when a commit is acknowledged.
    pub durability: Durability,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            patience_ms: 10_000,
            readers: 4,
            gather: true,
            durability: Durability::Full,
        }
    }
}

/// The Store port on a SQLite file. Cheap to open: no thread starts before the first read or commit needs it.
///
/// Dropping it waits until the commits in the queue are answered (for 2 s at most, if another process keeps the turn) and closes the
/// files; the last process that closes folds the WAL into the database.
pub struct SqliteStore {
    place: Arc<Place>,
    counters: Arc<Counters>,
    queue: Arc<Queue>,
    helper: Arc<Helper>,
    pen: Arc<Mutex<Pen>>,
    writer: Mutex<Option<Ended>>,
    readers: Readers,
}

impl SqliteStore {
    /// Opens the database at `path`, creating it (mode 0600) in an existing directory, or migrating it from an older schema in one
    /// transaction.
    ///
    /// # Errors
    /// [`StoreError::Broken`] when an operator must act: no space, no permission, not our database, a newer schema.
    /// [`StoreError::Unavailable`] when another program keeps the file locked.
    pub fn open(path: &Path, options: StoreOptions) -> Result<SqliteStore, StoreError> {
        let place = Arc::new(open::open(path, options)?);
        let counters = Arc::new(Counters::default());
        let queue = Arc::new(Queue::default());
        let helper = Arc::new(Helper::new(
            Arc::clone(&place),
            Arc::clone(&queue),
            Arc::clone(counters.log()),
        ));
        let pen = Pen::new(
            Arc::clone(&place),
            Arc::clone(&helper),
            Arc::clone(&counters),
        );
        let readers = Readers::new(Arc::clone(&place));
        Ok(SqliteStore {
            place,
            counters,
            queue,
            helper,
            pen: Arc::new(Mutex::new(pen)),
            writer: Mutex::new(None),
            readers,
        })
    }

    /// Where the database is, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// What this process did so far.
    pub fn stats(&self) -> StoreStats {
        self.counters.snapshot()
    }

    /// Starts the writer, once.
    fn start(&self) -> Result<(), StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.is_some() {
            return Ok(());
        }
        let (alive, ended) = mpsc::channel();
        let life = Writer::new(
            Arc::clone(&self.place),
            Arc::clone(&self.queue),
            Arc::clone(&self.pen),
        );
        // The writer may need its helper at once.
        self.helper.enable(alive.clone());
        spawn("store-writer", alive, move || life.run())?;
        *writer = Some(ended);
        Ok(())
    }

    /// Makes a commit that has no company, here and now. `None`: nothing happened.
    ///
    /// It holds a thread of the runtime for one sync, which takes no longer than giving the thread's other tasks away would: there were two
    /// quick syncs before it. Should the disk hang now, the other threads go on, and what they commit waits in the queue.
    fn commit_alone(&self, commit: &Arc<Prepared>) -> Option<Answer> {
        if !has_other_threads() {
            return None;
        }
        let mut pen = self.pen.try_lock().ok()?;
        if !pen.is_free() || !self.queue.is_empty() {
            return None;
        }
        pen.alone(commit)
    }
}

/// Whether the runtime goes on while this thread of it waits for a disk.
fn has_other_threads() -> bool {
    Handle::try_current().is_ok_and(|runtime| {
        runtime.runtime_flavor() == RuntimeFlavor::MultiThread
            && runtime.metrics().num_workers() > 1
    })
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // All are told first and waited for afterwards; the readers are waited for when their pool is dropped.
        self.queue.close();
        self.helper.close();
        self.readers.close();
        let writer = self
            .writer
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(ended) = writer.take() {
            // A writer that waits for its turn may never end while another process keeps it. Nobody needs what it holds.
            let _ = ended.recv_timeout(CLOSING);
        }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        let (place, key) = (Arc::clone(&self.place), key.clone());
        self.readers
            .run_short(move |conn| rows::get(conn, &place.partitions, &key))
            .await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        let few = keys.len() <= FEW_KEYS;
        let (place, keys) = (Arc::clone(&self.place), keys.to_vec());
        let read = move |conn: &Connection| rows::get_many(conn, &place.partitions, &keys);
        match few {
            true => self.readers.run_short(read).await,
            false => self.readers.run(read).await,
        }
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        range.check_rules()?;
        let (place, range) = (Arc::clone(&self.place), range.clone());
        self.readers
            .run(move |conn| rows::range(conn, &place.partitions, &range))
            .await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        commit.check_rules()?;
        // Kept until the answer is there, so that its memory is not given back by the one thread that writes.
        let commit = Arc::new(Prepared::new(commit, &self.place.partitions));
        if let Some(answer) = self.commit_alone(&commit) {
            return answer;
        }
        self.start()?;
        let answered = self.queue.push(Arc::clone(&commit))?;
        answered
            .await
            .unwrap_or_else(|_| Err(StoreError::Unknown("the store's writer ended".to_owned())))
    }
}
