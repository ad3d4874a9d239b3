//! Turns between processes that write one database.
//!
//! SQLite's own lock has no queue: whoever releases it takes it again before a sleeping waiter looks, and others starve for
//! seconds. Two file locks make turns: a writer takes `turn`, then `write`, and gives `turn` back. The next writer waits for
//! `write` while it holds `turn`, so the last owner can't come first again. Underneath, SQLite's lock still decides what is
//! correct; these locks decide only who is next.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::identity::suffixed;

/// The two lock files of one database. They hold no data and stay where they are.
#[derive(Debug)]
pub(super) struct Turnstile {
    turn: File,
    write: File,
}

/// The right to write, until dropped.
pub(super) struct Turn<'a>(&'a Turnstile);

impl Turnstile {
    /// Opens the lock files beside `database`, creating them.
    pub(super) fn open(database: &Path) -> io::Result<Turnstile> {
        Ok(Turnstile {
            turn: lock_file(&suffixed(database, "-turn"))?,
            write: lock_file(&suffixed(database, "-write"))?,
        })
    }

    /// Takes the right to write if nobody has it or waits for it.
    pub(super) fn try_enter(&self) -> io::Result<Option<Turn<'_>>> {
        if !try_lock(&self.turn)? {
            return Ok(None);
        }
        let entered = try_lock(&self.write);
        unlock(&self.turn);
        Ok(entered?.then_some(Turn(self)))
    }

    /// Waits for the right to write, as long as it takes.
    pub(super) fn enter(&self) -> io::Result<Turn<'_>> {
        lock(&self.turn)?;
        let entered = lock(&self.write);
        unlock(&self.turn);
        entered.map(|()| Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        unlock(&self.0.write);
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn lock(file: &File) -> io::Result<()> {
    loop {
        match flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}

fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(other) => Err(other.into()),
    }
}

fn unlock(file: &File) {
    // Unlocking a lock that is held on an open file has no way to fail.
    let _ = flock(file, FlockOperation::Unlock);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    fn two() -> (tempfile::TempDir, Turnstile, Turnstile) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("store.db");
        let open = || Turnstile::open(&path).expect("lock files");
        let (left, right) = (open(), open());
        (dir, left, right)
    }

    #[test]
    fn one_at_a_time_has_the_turn() {
        let (_dir, left, right) = two();
        let turn = left.try_enter().expect("locks work").expect("it is free");
        assert!(right.try_enter().expect("locks work").is_none());
        drop(turn);
        assert!(right.try_enter().expect("locks work").is_some());
    }

    /// While somebody waits, the one who had the turn does not get it again first.
    #[test]
    fn whoever_waits_comes_next() {
        let (_dir, left, right) = two();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    drop(right.enter().expect("locks work"));
                }
            });
            // However quickly the greedy one comes back, ten turns come to an end.
            for _ in 0..10 {
                drop(left.enter().expect("locks work"));
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
