//! The guard against files that change under an open store.
//!
//! SQLite does not notice when the database, its WAL or its shared index is removed or replaced: commits then go to an unlinked
//! file, or two processes hold "the" write lock at once, and both lose acknowledged data without any error. So the identity of
//! the three files is remembered when they are opened and compared before every use. It is not a lock: it narrows the window
//! to one group of commits.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::io::Errno;

/// Device and inode of the database, its WAL and its shared index, as far as they exist: on a read-only mount the latter two may
/// not. While they are open their inode numbers can't be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity([Option<(u64, u64)>; 3]);

/// Where the three files are.
#[derive(Clone, Debug)]
pub(super) struct Files {
    paths: [PathBuf; 3],
}

impl Files {
    /// The files of the database at `database`, whose symbolic links are resolved already.
    pub(super) fn of(database: &Path) -> Files {
        Files {
            paths: [
                database.to_owned(),
                suffixed(database, "-wal"),
                suffixed(database, "-shm"),
            ],
        }
    }

    /// What is there now.
    pub(super) fn identity(&self) -> Identity {
        Identity(self.paths.each_ref().map(|path| inode(path)))
    }
}

impl Identity {
    /// Device and inode of the database itself.
    pub(super) fn database(&self) -> Option<(u64, u64)> {
        self.0[0]
    }

    /// Device and inode of the WAL.
    pub(super) fn log(&self) -> Option<(u64, u64)> {
        self.0[1]
    }
}

/// Device and inode of a path, and nothing else: Linux writes a new time of change with the next commit, and syncs it, for every time
/// of change that somebody was told.
#[cfg(target_os = "linux")]
pub(super) fn inode(path: &Path) -> Option<(u64, u64)> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
    match statx(CWD, path, AtFlags::empty(), StatxFlags::INO) {
        Ok(found) => Some((
            makedev(found.stx_dev_major, found.stx_dev_minor),
            found.stx_ino,
        )),
        Err(Errno::NOSYS) => told(path),
        Err(_) => None,
    }
}

/// Device and inode of a path.
#[cfg(not(target_os = "linux"))]
pub(super) fn inode(path: &Path) -> Option<(u64, u64)> {
    told(path)
}

fn told(path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::stat(path).ok()?;
    #[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
    Some((stat.st_dev as u64, stat.st_ino as u64))
}

/// `path` with `suffix` behind its last component.
pub(super) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
