//! Storing a blob: write aside, sync, rename into place, sync the directories. Everything here blocks; callers run it on a
//! blocking thread.
//!
//! The surprising part is what is synced when a blob is already there: its directories, once per process. Another process may
//! have renamed it into place a moment ago and may not have synced that yet, and `put` promises that the bytes survive power loss.

use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{CWD, RenameFlags};

use super::fault::sort;
use super::list::make_young;
use super::place::{DAMAGED, Place, TEMP};
use crate::engine::ports::{BlobError, BlobRef};

/// Names of durable directories kept in memory; beyond this the set starts anew, which costs syncs and nothing else.
const KNOWN_ENTRIES: usize = 8_192;

/// Attempts to publish a blob while its scope is being deleted by someone else.
const ATTEMPTS: usize = 4;

/// Directories whose own entry this process knows to be synced.
#[derive(Default)]
pub(super) struct Durable(Mutex<HashSet<PathBuf>>);

impl Durable {
    fn knows(&self, path: &Path) -> bool {
        self.set().contains(path)
    }

    fn learn(&self, path: &Path) {
        let mut set = self.set();
        if set.len() >= KNOWN_ENTRIES {
            set.clear();
        }
        set.insert(path.to_owned());
    }

    fn unlearn(&self, path: &Path) {
        self.set().remove(path);
    }

    /// Forgets everything at or below `path`, which is going away.
    pub(super) fn forget(&self, path: &Path) {
        self.set().retain(|known| !known.starts_with(path));
    }

    fn set(&self) -> std::sync::MutexGuard<'_, HashSet<PathBuf>> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// A blob that is being written aside. Dropped before it is published, it is removed.
pub(super) struct Temp {
    file: File,
    path: PathBuf,
    /// False once the file has a name of its own and must stay.
    ours: bool,
}

impl Temp {
    /// Starts an empty one below `root`, making the root on first use.
    pub(super) fn create(root: &Path) -> Result<Temp, BlobError> {
        let dir = root.join(TEMP);
        let path = dir.join(unique_name());
        let file = match open_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_dirs(&dir)?;
                open_new(&path)
            }
            other => other,
        }
        .map_err(|error| sort("create", &path, &error))?;
        Ok(Temp {
            file,
            path,
            ours: true,
        })
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.file
            .write_all(bytes)
            .map_err(|error| sort("write", &self.path, &error))
    }

    /// Stores what was written, which is `blob`, unless it is there.
    pub(super) fn publish(
        mut self,
        root: &Path,
        place: &Place,
        durable: &Durable,
        blob: BlobRef,
    ) -> Result<BlobRef, BlobError> {
        if present(root, place, durable, &blob)? {
            return Ok(blob);
        }
        // Before it has its name: a file that a crash cuts short must never be found under a digest.
        self.file
            .sync_data()
            .map_err(|error| sort("sync", &self.path, &error))?;
        let target = place.file(&blob.sha256);
        for _ in 0..ATTEMPTS {
            make_shelf(place, durable, &blob.sha256)?;
            match rename_new(&self.path, &target) {
                Ok(()) => {
                    self.ours = false;
                    // Deleted at once, it was stored all the same.
                    let _stays = sync_entries(root, place, durable, &blob.sha256, true)?;
                    return Ok(blob);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if present(root, place, durable, &blob)? {
                        return Ok(blob);
                    }
                }
                // The scope was deleted between the two steps.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    durable.forget(&place.scope);
                }
                Err(error) => return Err(sort("store", &target, &error)),
            }
        }
        Err(BlobError::Unavailable(format!(
            "{} is being deleted",
            place.scope.display()
        )))
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if self.ours {
            // What can't be removed now, the sweep removes later.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether the blob is stored already, and if so durably from now on. A file of another length in its place is damage: it is
/// set aside, so that storing the bytes again mends it.
pub(super) fn present(
    root: &Path,
    place: &Place,
    durable: &Durable,
    blob: &BlobRef,
) -> Result<bool, BlobError> {
    let path = place.file(&blob.sha256);
    match std::fs::symlink_metadata(&path) {
        Ok(meta) if meta.is_file() && meta.len() == blob.size_bytes => {
            // A record is about to name it again: it is not left over.
            if !make_young(&path, &meta)? {
                return Ok(false);
            }
            sync_entries(root, place, durable, &blob.sha256, false)
        }
        Ok(_) => {
            set_aside(root, place, &path, &blob.sha256)?;
            Ok(false)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(sort("look at", &path, &error)),
    }
}

fn set_aside(root: &Path, place: &Place, path: &Path, digest: &str) -> Result<(), BlobError> {
    let dir = root.join(DAMAGED);
    make_dirs(&dir)?;
    let kept = dir.join(format!("{}{digest}.{}", place.tag, unique_name()));
    tracing::warn!(file = %path.display(), kept = %kept.display(), "a stored blob has a wrong length and was set aside");
    match std::fs::rename(path, &kept) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(sort("set aside", path, &error)),
    }
}

/// Makes the entries on the way to a blob durable, innermost first: on a journalling file system the first sync carries the
/// others, which then find nothing left to do. `false`: the scope was deleted meanwhile, and the blob with it.
fn sync_entries(
    root: &Path,
    place: &Place,
    durable: &Durable,
    digest: &str,
    new: bool,
) -> Result<bool, BlobError> {
    let file = place.file(digest);
    let shelf = place.shelf(digest);
    let above = root.parent().unwrap_or(root);
    let chain: [(&Path, &Path); 5] = [
        (&file, &shelf),
        (&shelf, &place.scope),
        (&place.scope, &place.owner),
        (&place.owner, root),
        (root, above),
    ];
    for (entry, dir) in chain {
        let known = durable.knows(entry);
        if !known || (new && entry == file) {
            match sync_dir(dir) {
                Ok(()) => {}
                Err(_) if dir.starts_with(&place.owner) && is_missing(&file) => {
                    durable.forget(&place.scope);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        if !known {
            durable.learn(entry);
        }
    }
    Ok(true)
}

/// Whether nothing of this name is there. What can't be looked at counts as there.
fn is_missing(path: &Path) -> bool {
    let looked = std::fs::symlink_metadata(path);
    looked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Makes a change of `dir`'s entries durable.
pub(super) fn sync_dir(dir: &Path) -> Result<(), BlobError> {
    match File::open(dir).and_then(|opened| opened.sync_all()) {
        // Some file systems can't sync a directory; their renames are as durable as they get.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        other => other.map_err(|error| sort("sync", dir, &error)),
    }
}

/// Makes the blob's directory. Whatever had to be made is not durable yet, whatever was known of an earlier one of that name.
fn make_shelf(place: &Place, durable: &Durable, digest: &str) -> Result<(), BlobError> {
    let shelf = place.shelf(digest);
    match private_dir().create(&shelf) {
        Ok(()) => durable.unlearn(&shelf),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            for made in [&place.owner, &place.scope, &shelf] {
                durable.unlearn(made);
            }
            make_dirs(&shelf)?;
        }
        Err(error) => return Err(sort("create", &shelf, &error)),
    }
    Ok(())
}

/// Makes a directory and its parents, for their owner alone.
pub(super) fn make_dirs(dir: &Path) -> Result<(), BlobError> {
    private_dir()
        .recursive(true)
        .create(dir)
        .map_err(|error| sort("create", dir, &error))
}

fn private_dir() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Renames without replacing: who stored the same bytes first keeps its file, so that readers never see it change.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // A file system without that flag: replacing a blob by the same bytes harms nobody.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => std::fs::rename(from, to),
        Err(error) => Err(error.into()),
    }
}

/// A name no other put uses, of this or any other process.
pub(super) fn unique_name() -> String {
    let mut bytes = [0u8; 16];
    crate::backend::local::ids::fill(&mut bytes);
    data_encoding::HEXLOWER.encode(&bytes)
}
