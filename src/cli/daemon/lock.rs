//! Who the daemon of a data directory is: a lock that dies with its holder, and a note of what it says of itself.
//!
//! The lock can be handed to a child: whoever starts a daemon takes the lock first and gives it away with the daemon's standard
//! input. So there is no moment at which two can start, and none at which the new one is not there yet.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::cli::compose::{self, Places};
use crate::cli::config::private_file;

/// How long somebody may keep the lock without a note: who looks at a daemon that leaves, and who starts one, for an instant.
const TRIES: u32 = 500;
const TRY_MS: u64 = 2;

/// What a daemon says of itself: `run/daemon.json`. True only while the lock is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Process identity.
    pub identity: String,
    /// Version of the program.
    pub version: String,
    /// Unix ms.
    pub started_ms: u64,
    /// Where it serves HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// Where its command line said that AWS is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint_url: Option<String>,
    /// Whether it speaks TLS there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
}

impl Note {
    /// What a client of the API needs, if it serves.
    pub fn base_url(&self) -> Option<String> {
        let scheme = match self.tls {
            true => "https",
            false => "http",
        };
        let address = self.listen?;
        Some(format!("{scheme}://{address}/v1"))
    }
}

/// The lock, as long as this lives, or a child that it was given to.
pub struct Held {
    file: File,
}

impl Held {
    /// The lock as a file that a child inherits as its standard input.
    pub fn for_child(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

fn lock_file(places: &Places) -> io::Result<File> {
    private_file(&places.run().join("daemon.lock"))
}

/// Takes the lock; `None` if a daemon has it.
pub fn take(places: &Places) -> io::Result<Option<Held>> {
    let file = lock_file(places)?;
    for _ in 0..TRIES {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(Held { file })),
            Err(rustix::io::Errno::WOULDBLOCK) if living(places).is_some() => return Ok(None),
            // Somebody looks, or just started a daemon and has not said so yet.
            Err(rustix::io::Errno::WOULDBLOCK) => {
                std::thread::sleep(Duration::from_millis(TRY_MS));
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(None)
}

/// Takes over the lock that came with the standard input, which becomes empty; `None` if there is none on it.
pub fn inherit(places: &Places) -> io::Result<Option<Held>> {
    let stdin = std::io::stdin();
    let same =
        |a: &rustix::fs::Stat, b: &rustix::fs::Stat| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
    let wanted = rustix::fs::fstat(lock_file(places)?)?;
    if !same(&rustix::fs::fstat(stdin.as_fd())?, &wanted) {
        return Ok(None);
    }
    let file = File::from(stdin.as_fd().try_clone_to_owned()?);
    // The open file is the one that holds the lock already; for any other it is taken, or not.
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    }
    // Children of ours get no lock with their standard input.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(Some(Held { file }))
}

/// Who holds the lock. Without a note of somebody who lives the lock is not even touched, so that looking is in nobody's way.
pub fn holder(places: &Places) -> io::Result<Option<Note>> {
    match living(places) {
        Some(note) => Ok(take(places)?.is_none().then_some(note)),
        None => Ok(None),
    }
}

/// Says who holds the lock.
pub fn write_note(places: &Places, note: &Note) -> io::Result<()> {
    let path = places.run().join("daemon.json");
    let aside = path.with_extension(format!("new-{}", std::process::id()));
    drop(private_file(&aside)?);
    std::fs::write(&aside, serde_json::to_vec(note)?)?;
    std::fs::rename(aside, path)
}

/// Who held the lock last.
pub fn read_note(places: &Places) -> Option<Note> {
    let text = std::fs::read(places.run().join("daemon.json")).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Who held the lock last, unless that process is known to be gone.
pub fn living(places: &Places) -> Option<Note> {
    read_note(places).filter(|note| compose::is_alive(&note.identity) != Some(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> (tempfile::TempDir, Places) {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("run")).expect("makes");
        let places = Places {
            root: dir.path().to_owned(),
        };
        (dir, places)
    }

    #[test]
    fn one_holds_the_lock_and_its_end_frees_it() {
        let (_dir, places) = places();
        let held = take(&places).expect("works").expect("is free");
        let note = Note {
            identity: compose::process_identity().expect("there is a /proc"),
            version: "0".into(),
            started_ms: 1,
            listen: None,
            endpoint_url: None,
            tls: false,
        };
        write_note(&places, &note).expect("writes");
        let holder = || holder(&places).expect("works");
        assert!(take(&places).expect("works").is_none());
        assert_eq!(holder().as_ref(), Some(&note));
        let childs = held.for_child().expect("clones");
        drop(held);
        assert_eq!(holder(), Some(note), "the child has it still");
        drop(childs);
        assert_eq!(holder(), None);
        assert!(take(&places).expect("works").is_some());
    }

    #[test]
    fn a_note_of_the_dead_and_a_damaged_one_say_nothing() {
        let (_dir, places) = places();
        assert_eq!(living(&places), None);
        let mut note = Note {
            identity: compose::process_identity().expect("there is a /proc"),
            version: "0".into(),
            started_ms: 1,
            listen: None,
            endpoint_url: None,
            tls: false,
        };
        write_note(&places, &note).expect("writes");
        assert_eq!(living(&places).as_ref(), Some(&note));
        note.identity = format!("proc:{}:1:0", i32::MAX);
        write_note(&places, &note).expect("writes");
        assert_eq!(living(&places), None);
        std::fs::write(places.run().join("daemon.json"), "{").expect("writes");
        assert_eq!((living(&places), read_note(&places)), (None, None));
    }
}
