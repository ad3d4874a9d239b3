//! Who the daemon of a data directory is: a lock that dies with its holder, and a note of what it says of itself.

use std::fs::File;
use std::io;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::cli::compose::Places;
use crate::cli::config::private_file;

/// What a daemon says of itself: `run/daemon.json`. True only while the lock is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Process identity.
    pub identity: String,
    /// Version of the program.
    pub version: String,
    /// Unix ms.
    pub started_ms: u64,
}

/// The lock, as long as this lives.
pub struct Held {
    _file: File,
}

fn lock_file(places: &Places) -> io::Result<File> {
    private_file(&places.run().join("daemon.lock"))
}

/// Takes the lock; `None` if somebody has it.
pub fn take(places: &Places) -> io::Result<Option<Held>> {
    let file = lock_file(places)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Held { _file: file })),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether a daemon holds the lock.
pub fn is_held(places: &Places) -> io::Result<bool> {
    take(places).map(|held| held.is_none())
}

/// Says who holds the lock.
pub fn write_note(places: &Places, note: &Note) -> io::Result<()> {
    let path = places.run().join("daemon.json");
    let aside = path.with_extension("new");
    drop(private_file(&aside)?);
    std::fs::write(&aside, serde_json::to_vec(note)?)?;
    std::fs::rename(aside, path)
}

/// Who held the lock last.
pub fn read_note(places: &Places) -> Option<Note> {
    let text = std::fs::read(places.run().join("daemon.json")).ok()?;
    serde_json::from_slice(&text).ok()
}
