//! Room at the end of the WAL, written before a commit needs it.
//!
//! A commit that makes the file longer waits for the file system's own records, too, and takes about twice as long as one that
//! overwrites. SQLite overwrites its WAL once that has begun anew; before, it would make it longer with every commit. So the helper
//! appends zeros, which mean nothing to SQLite: like what an earlier round left behind, they do not have the salt of this one.
//!
//! The surprise: no lock is held. What is written in append mode goes to wherever the file ends at that instant, so it never falls on
//! a page that another thread or process has just written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use rustix::fs::{OFlags, statvfs};

use super::checkpoint::{HARD_PAGES, Log};
use super::identity::suffixed;
use super::open::Place;

/// Bytes that one page takes in the WAL.
const FRAME_BYTES: u64 = 24 + 4096;

/// A process that writes less than this many pages never lays anything: most commands write a few and end.
const FIRST_PAGES: u64 = 64;

/// There should be at least this much room.
const LOW_BYTES: u64 = 1 << 20;

/// How much room is made at once. The sync of more would hold up the commits beside it for longer.
const PIECE_BYTES: usize = 1 << 20;

/// Room that is made at most before anybody looks again.
const FULL_BYTES: u64 = 3 << 20;

/// The WAL is about to begin anew when it is this long, so no room beyond is needed.
const MOST_BYTES: u64 = HARD_PAGES * FRAME_BYTES;

/// Space that must be left on the disk: room ahead is for speed alone.
const SPARE_BYTES: u64 = 64 << 20;

/// How far the WAL's file reaches, as far as this process knows.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    reaches: AtomicU64,
    /// It can't be made longer, or must not.
    given_up: AtomicBool,
}

impl Ahead {
    /// Whether commits will soon have to make the file longer themselves.
    pub(super) fn is_short(&self, log: &Log) -> bool {
        !self.given_up.load(Relaxed)
            && log.appended() >= FIRST_PAGES
            && self.wanted(log, LOW_BYTES) > self.reaches.load(Relaxed)
    }

    /// Makes room. Whatever goes wrong is no error for anybody: commits make the file longer then.
    pub(super) fn lay(&self, place: &Place, log: &Log) {
        if self.append(place, log).is_err() {
            self.given_up.store(true, Relaxed);
        }
    }

    fn append(&self, place: &Place, log: &Log) -> io::Result<()> {
        let path = suffixed(&place.path, "-wal");
        let mut file = OpenOptions::new()
            .append(true)
            .custom_flags((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits() as i32)
            .open(&path)?;
        let meta = file.metadata()?;
        if place.identity.log() != Some((meta.dev(), meta.ino())) {
            return Err(io::Error::other("it was replaced"));
        }
        let zeros = vec![0; PIECE_BYTES];
        // The log goes on meanwhile, and other processes may be making room, too.
        while self.reach(&file)? < self.wanted(log, FULL_BYTES) {
            let disk = statvfs(&path)?;
            if disk.f_bavail.saturating_mul(disk.f_frsize) < SPARE_BYTES {
                return Err(io::Error::other("the disk is nearly full"));
            }
            file.write_all(&zeros)?;
            file.sync_data()?;
        }
        Ok(())
    }

    fn reach(&self, file: &File) -> io::Result<u64> {
        let reaches = file.metadata()?.len();
        self.reaches.store(reaches, Relaxed);
        Ok(reaches)
    }

    fn wanted(&self, log: &Log, room: u64) -> u64 {
        let used = log.length().saturating_mul(FRAME_BYTES);
        used.saturating_add(room).min(MOST_BYTES)
    }
}
