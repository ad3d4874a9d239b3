//! Removing a scope, and sweeping what crashes left behind. Everything here blocks.
//!
//! A scope is first renamed into the trash, which is one atomic step: a crash afterwards leaves something that nobody can read
//! as a blob any more and that the next delete or sweep finishes.

use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::fault::sort;
use super::place::{Place, TEMP, TRASH};
use super::put::{Durable, make_dirs, sync_dir, unique_name};
use crate::engine::ports::BlobError;

/// What a sweep removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Files that crashed puts had left.
    pub temp_files: u64,
    /// Their bytes.
    pub temp_bytes: u64,
    /// Scopes whose removal had been interrupted.
    pub scopes: u64,
}

/// Removes all blobs of a scope, also what an interrupted removal of it left.
pub(super) fn delete(root: &Path, place: &Place, durable: &Durable) -> Result<(), BlobError> {
    let trash = root.join(TRASH);
    durable.forget(&place.scope);
    if exists(&place.scope)? {
        make_dirs(&trash)?;
        let aside = trash.join(format!("{}{}", place.tag, unique_name()));
        match fs::rename(&place.scope, &aside) {
            Ok(()) => {
                sync_dir(&place.owner)?;
                sync_dir(&trash)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(sort("remove", &place.scope, &error)),
        }
    }
    durable.forget(&place.scope);
    empty(&trash, |name| name.starts_with(&place.tag)).map(|_| ())
}

/// Finishes interrupted removals, and removes temporary files that nobody has written to for `older_than_ms`.
pub(super) fn sweep(root: &Path, now_ms: u64, older_than_ms: u64) -> Result<Swept, BlobError> {
    let mut swept = Swept {
        scopes: empty(&root.join(TRASH), |_| true)?,
        ..Swept::default()
    };
    let temp = root.join(TEMP);
    for entry in entries(&temp)? {
        let path = entry.path();
        let Ok(meta) = entry.metadata() else {
            continue; // Its put ended meanwhile.
        };
        let written_ms = meta
            .modified()
            .ok()
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
            .map_or(0, |since| since.as_millis() as u64);
        if now_ms.saturating_sub(written_ms) < older_than_ms {
            continue;
        }
        match fs::remove_file(&path) {
            Ok(()) => {
                swept.temp_files += 1;
                swept.temp_bytes += meta.len();
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(sort("remove", &path, &error)),
        }
    }
    Ok(swept)
}

/// Removes the trees in `trash` whose names are `wanted`; how many there were.
fn empty(trash: &Path, wanted: impl Fn(&str) -> bool) -> Result<u64, BlobError> {
    let mut removed = 0;
    for entry in entries(trash)? {
        if !entry.file_name().to_str().is_some_and(&wanted) {
            continue;
        }
        let path = entry.path();
        match fs::remove_dir_all(&path) {
            Ok(()) => removed += 1,
            // Someone else is removing it too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(sort("remove", &path, &error)),
        }
    }
    Ok(removed)
}

/// The entries of a directory; an absent one has none.
pub(super) fn entries(dir: &Path) -> Result<Vec<fs::DirEntry>, BlobError> {
    match fs::read_dir(dir).and_then(Iterator::collect) {
        Ok(all) => Ok(all),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(sort("list", dir, &error)),
    }
}

fn exists(path: &Path) -> Result<bool, BlobError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(sort("look at", path, &error)),
    }
}
