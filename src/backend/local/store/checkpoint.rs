//! When the WAL is copied back into the database, and how.
//!
//! A WAL that grows without end slows reads and the start after a crash; a checkpoint made by the writer stalls every commit for 10 ms
//! and more per 1,000 pages. So the helper thread copies beside the writer, again and again. It can't catch up with a busy writer, so
//! once the WAL is long the helper syncs what it copied, and the writer makes the last step itself when that step is short; then the
//! WAL begins anew, in the same file.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ffi};

/// Pages only in the WAL at which the helper copies.
const SOFT_PAGES: u64 = 4_000;

/// WAL length from which the writer completes a checkpoint, as soon as that takes only a short step.
pub(super) const HARD_PAGES: u64 = 16_000;

/// A short step.
const SHORT_PAGES: u64 = 1_000;

/// WAL length at which the writer completes it whatever that takes.
const LIMIT_PAGES: u64 = 24_000;

/// The length of the WAL and how much of it is back in the database, in pages, as far as this process knows.
#[derive(Debug, Default)]
pub(super) struct Log {
    length: AtomicU64,
    copied: AtomicU64,
    appended: AtomicU64,
    checkpoints: AtomicU64,
}

/// What the writer should do about the WAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Rest,
    /// Complete a checkpoint, unless the helper is at it.
    Short,
    /// Complete a checkpoint, waiting for the helper.
    Forced,
}

impl Log {
    /// A commit left the WAL with `length` pages. A shorter WAL than before was begun anew.
    pub(super) fn committed(&self, length: u64) {
        let before = self.length.swap(length, Relaxed);
        let appended = if length > before {
            length - before
        } else {
            self.copied.store(0, Relaxed);
            length
        };
        self.appended.fetch_add(appended, Relaxed);
    }

    /// Pages that the WAL held after the last commit.
    pub(super) fn length(&self) -> u64 {
        self.length.load(Relaxed)
    }

    /// Pages appended so far.
    pub(super) fn appended(&self) -> u64 {
        self.appended.load(Relaxed)
    }

    /// Checkpoints made so far.
    pub(super) fn checkpoints(&self) -> u64 {
        self.checkpoints.load(Relaxed)
    }

    /// Whether the helper has work.
    pub(super) fn worth_copying(&self) -> bool {
        let behind = self.behind();
        behind >= SOFT_PAGES || (self.length() >= HARD_PAGES && behind > SHORT_PAGES)
    }

    /// Whether the WAL is long enough to begin anew, and a part of it is not copied yet: a quiet writer gives the chance.
    pub(super) fn worth_completing(&self) -> bool {
        self.length() >= SOFT_PAGES && self.behind() > 0
    }

    /// Whether the writer's step is near, so that the database should be synced first. A sync beside the writer slows many commits a
    /// little, so it is not made after every copy; without any, the writer's own would hold up a few for very long.
    pub(super) fn worth_syncing(&self) -> bool {
        self.length() >= HARD_PAGES
    }

    /// What the writer should do, given the length at which it last did something. A reader that holds an old snapshot makes a
    /// checkpoint vain; the next attempt comes another thousand pages later.
    pub(super) fn step(&self, last: u64) -> Step {
        let length = self.length();
        if length < HARD_PAGES || length < last + SHORT_PAGES {
            Step::Rest
        } else if length >= LIMIT_PAGES {
            Step::Forced
        } else if self.behind() <= SHORT_PAGES {
            Step::Short
        } else {
            Step::Rest
        }
    }

    /// Pages that are in the WAL alone.
    fn behind(&self) -> u64 {
        self.length().saturating_sub(self.copied.load(Relaxed))
    }
}

/// Copies what it can without waiting for anybody; whether that worked. A failure (a full disk, say) is no error for anybody: the
/// WAL keeps what it has, and a later attempt goes on.
pub(super) fn checkpoint(conn: &Connection, log: &Log) -> bool {
    match conn.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE) {
        Ok((_, copied)) => {
            log.copied
                .store(u64::try_from(copied).unwrap_or(0), Relaxed);
            log.checkpoints.fetch_add(1, Relaxed);
            true
        }
        Err(_) => false,
    }
}

/// Syncs the database file through SQLite's own handle. An incomplete checkpoint leaves that to the one that completes it, which
/// would then stall the writer for as long as it takes to write all that has gathered. (Opening the file ourselves is out of the
/// question: closing any descriptor of it drops all locks that this process holds on it.)
pub(super) fn sync_database(conn: &Connection) {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the connection is open and used by this thread alone. SQLite answers with its handle of the file, which is valid as
    // long as the connection, or leaves the null; the methods are SQLite's own, meant to be called with that handle.
    unsafe {
        let place = (&raw mut file).cast();
        let op = ffi::SQLITE_FCNTL_FILE_POINTER;
        ffi::sqlite3_file_control(conn.handle(), c"main".as_ptr(), op, place);
        let methods = file.as_ref().and_then(|file| file.pMethods.as_ref());
        if let Some(sync) = methods.and_then(|methods| methods.xSync) {
            // What it could not sync, the checkpoint that completes syncs again and reports.
            sync(file, ffi::SQLITE_SYNC_DATAONLY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(length: u64, copied: u64) -> Log {
        let log = Log::default();
        log.committed(length);
        log.copied.store(copied, Relaxed);
        log
    }

    #[test]
    fn the_helper_copies_in_large_steps_and_in_short_ones_at_the_end() {
        assert!(!log(3_999, 0).worth_copying());
        assert!(log(4_000, 0).worth_copying());
        assert!(!log(12_000, 10_000).worth_copying());
        assert!(log(16_000, 14_000).worth_copying());
        assert!(!log(16_000, 15_000).worth_copying());
    }

    #[test]
    fn the_writer_waits_for_a_short_step_but_not_for_ever() {
        assert_eq!(log(15_999, 15_999).step(0), Step::Rest);
        assert_eq!(log(16_000, 14_000).step(0), Step::Rest);
        assert_eq!(log(16_000, 15_000).step(0), Step::Short);
        assert_eq!(log(24_000, 0).step(0), Step::Forced);
    }

    #[test]
    fn a_vain_step_is_not_repeated_at_once() {
        assert_eq!(log(24_500, 0).step(24_000), Step::Rest);
        assert_eq!(log(25_000, 0).step(24_000), Step::Forced);
    }

    #[test]
    fn a_shorter_log_was_begun_anew() {
        let log = log(9_000, 9_000);
        log.committed(6);
        assert_eq!((log.length(), log.behind(), log.appended()), (6, 6, 9_006));
    }
}
