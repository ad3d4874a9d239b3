//! Listing what is stored, and removing what nobody needs. Everything here blocks.
//!
//! The surprise is how a single blob is removed: whoever stores bytes that are there already makes their file young, so a file is first
//! taken out of its place, and only then is it certain whether somebody did that a moment ago. If so, it goes back.

use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use super::fault::sort;
use super::place::{Place, TEMP, is_digest};
use super::put::{make_dirs, rename_new, sync_dir, unique_name};
use super::remove::entries;
use crate::engine::fsck::StoredBlob;
use crate::engine::ports::{BlobError, BlobScope};

/// A file that is younger need not be made young.
const YOUNG_MS: u64 = 3_600_000;

/// Every scope that has a directory.
pub(super) fn scopes(root: &Path) -> Result<Vec<BlobScope>, BlobError> {
    let mut found = Vec::new();
    for owner in names(root)? {
        // Our own directories begin with a dot.
        if owner.starts_with('.') {
            continue;
        }
        for session in names(&root.join(&owner))? {
            let owner = owner.clone();
            found.push(BlobScope { owner, session });
        }
    }
    found.sort_by(|a, b| (&a.owner, &a.session).cmp(&(&b.owner, &b.session)));
    Ok(found)
}

/// The blobs of a scope.
pub(super) fn blobs(place: &Place) -> Result<Vec<StoredBlob>, BlobError> {
    let mut found = Vec::new();
    for shelf in entries(&place.scope)? {
        for entry in entries(&shelf.path())? {
            let name = entry.file_name();
            let Some(sha256) = name.to_str().filter(|name| is_digest(name)) else {
                continue;
            };
            let meta = match entry.metadata() {
                Ok(meta) => meta,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(sort("look at", &entry.path(), &error)),
            };
            found.push(StoredBlob {
                sha256: sha256.to_owned(),
                size_bytes: meta.len(),
                written_ms: written_ms(&meta),
            });
        }
    }
    found.sort_by(|a, b| a.sha256.cmp(&b.sha256));
    Ok(found)
}

/// Removes a blob that nobody stored since `before_ms`; whether it did.
pub(super) fn remove(
    root: &Path,
    place: &Place,
    sha256: &str,
    before_ms: u64,
) -> Result<bool, BlobError> {
    if !is_digest(sha256) {
        return Ok(false);
    }
    let path = place.file(sha256);
    let old = |path: &Path| match fs::symlink_metadata(path) {
        Ok(meta) => Ok(written_ms(&meta) < before_ms),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(sort("look at", path, &error)),
    };
    if !old(&path)? {
        return Ok(false);
    }
    let temp = root.join(TEMP);
    make_dirs(&temp)?;
    let aside = temp.join(unique_name());
    match fs::rename(&path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(sort("remove", &path, &error)),
    }
    if !old(&aside)? {
        return match rename_new(&aside, &path) {
            Ok(()) => Ok(false),
            // It was stored anew meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // What can't be removed now, the sweep removes later.
                let _ = fs::remove_file(&aside);
                Ok(false)
            }
            Err(error) => Err(sort("put back", &path, &error)),
        };
    }
    fs::remove_file(&aside).map_err(|error| sort("remove", &aside, &error))?;
    sync_dir(&place.shelf(sha256))?;
    Ok(true)
}

/// Makes a blob's file young, because somebody stores the same bytes. `false`: it was taken away meanwhile.
pub(super) fn make_young(path: &Path, meta: &fs::Metadata) -> Result<bool, BlobError> {
    let age_ms = std::time::SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| now.as_millis() as u64)
        .saturating_sub(written_ms(meta));
    if age_ms < YOUNG_MS {
        return Ok(true);
    }
    let time = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    let now = Timestamps {
        last_access: time(UTIME_OMIT),
        last_modification: time(UTIME_NOW),
    };
    match rustix::fs::utimensat(CWD, path, &now, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        Err(errno) => Err(sort("touch", path, &io::Error::from(errno))),
    }
}

fn written_ms(meta: &fs::Metadata) -> u64 {
    let written = meta.modified().ok();
    let since = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_millis() as u64)
}

/// Names of the directories in `dir`, those that are text.
fn names(dir: &Path) -> Result<Vec<String>, BlobError> {
    let found = entries(dir)?;
    let directories = found
        .iter()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    Ok(directories
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect())
}
