//! What SQLite's errors mean to a caller of the Store port: who must act, and whether it happened.
//!
//! Not a place for policy: retrying is the writer's business. The surprise: "can't open" tells nothing about its cause, so the
//! cause is looked up in the file system afterwards.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use rustix::fs::{Access, access};

use crate::engine::ports::{StoreError, StoreFault};

/// The store's error for an SQLite error after which nothing is written.
pub(super) fn refused(error: &rusqlite::Error, path: &Path) -> StoreError {
    let Some(code) = error.sqlite_error() else {
        // A value that does not have its column's type: the row was not written by this program.
        return corrupt(path, &error.to_string());
    };
    match code.code {
        ErrorCode::DiskFull => full(path),
        // Growing the shared index of the WAL fails this way when the disk is full.
        ErrorCode::SystemIoFailure if code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => {
            full(path)
        }
        ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::AuthorizationForStatementDenied => read_only(path, &error.to_string()),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => corrupt(path, &error.to_string()),
        ErrorCode::CannotOpen => cannot_open(path, &error.to_string()),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Unavailable(format!(
            "another program keeps {} locked ({error})",
            path.display()
        )),
        _ => StoreError::Unavailable(format!("{}: {error}", path.display())),
    }
}

/// The store's error for a failure of the system outside SQLite, after which nothing is written.
pub(super) fn refused_io(error: &io::Error, path: &Path) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full(path),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            read_only(path, &error.to_string())
        }
        io::ErrorKind::NotFound => cannot_open(path, &error.to_string()),
        _ => StoreError::Unavailable(format!("{}: {error}", path.display())),
    }
}

/// Whether a failed COMMIT may have reached the disk all the same.
pub(super) fn may_have_happened(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// No space left.
pub(super) fn full(path: &Path) -> StoreError {
    broken(
        StoreFault::DiskFull,
        format!(
            "no space is left on the disk of {}: free some and try again; nothing was written, and what was acknowledged is safe",
            path.display()
        ),
    )
}

/// The file, its directory or its mount refuses writes.
pub(super) fn read_only(path: &Path, cause: &str) -> StoreError {
    broken(
        StoreFault::ReadOnly,
        format!(
            "{} can't be written ({cause}): this user needs write permission for the file and for its directory, on a writable mount",
            path.display()
        ),
    )
}

/// Not a database of ours, or damaged.
pub(super) fn corrupt(path: &Path, cause: &str) -> StoreError {
    broken(
        StoreFault::Corrupt,
        format!(
            "{} is not a rat-things database, or it is damaged ({cause}): restore a backup, or move it away together with its -wal and -shm files to start empty",
            path.display()
        ),
    )
}

/// Written by a later version of this program.
pub(super) fn newer(path: &Path, found: i64, known: i64) -> StoreError {
    broken(
        StoreFault::NewerSchema,
        format!(
            "{} has schema version {found}, and this rat-things knows versions up to {known}: use the newer rat-things that wrote it",
            path.display()
        ),
    )
}

/// The files under an open store are not the ones that were opened.
pub(super) fn replaced(path: &Path) -> StoreError {
    broken(
        StoreFault::Replaced,
        format!(
            "{} or its -wal or -shm file was removed or replaced while it was open, so nothing more is read or written: put the files back, or stop every rat-things process that uses them and start again",
            path.display()
        ),
    )
}

/// "Can't open" says nothing about the cause, so it is looked for.
fn cannot_open(path: &Path, cause: &str) -> StoreError {
    if path.is_dir() {
        return corrupt(path, "it is a directory");
    }
    let directory = path.parent().unwrap_or(Path::new("/"));
    if !directory.exists() {
        let cause = format!("the directory {} does not exist", directory.display());
        return read_only(path, &cause);
    }
    let wanted = Access::READ_OK | Access::WRITE_OK;
    if access(path, wanted).is_ok() && access(directory, wanted).is_ok() {
        return StoreError::Unavailable(format!("{}: {cause}", path.display()));
    }
    read_only(path, cause)
}

fn broken(fault: StoreFault, message: String) -> StoreError {
    StoreError::Broken { fault, message }
}
