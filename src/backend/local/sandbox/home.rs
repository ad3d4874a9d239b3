//! An environment's directory on the host: `root/<id>/{lock,workspace}`, who holds it, and how it is removed.
//!
//! Everything in `workspace` was written by an agent; nothing here follows a link in it. The directory itself is 0700 and belongs to
//! us: set-uid files made in a workspace are live on the host's side of the mount, so nobody else may get that far.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, FlockOperation, Gid, Mode, OFlags, Uid, chmodat, chownat, fchown, flock, fstat,
    mkdirat, open, openat, stat, statat,
};
use rustix::io::Errno;

use super::config::RunAs;
use super::orphan;
use super::witness::Witness;
use crate::engine::ids::{Kind, well_formed};
use crate::engine::ports::EnvironmentError;

/// Between two looks at a lock that somebody else holds.
const LOCK_POLL: Duration = Duration::from_millis(20);
/// A lock that is held for so long is looked at: its holder may be one that will never let go.
const ORPHANS_AFTER: Duration = Duration::from_secs(1);

/// Waiting for a lock, and now and then ending what will never release it.
struct Orphans {
    look_at: Instant,
}

impl Orphans {
    fn due_soon() -> Orphans {
        Orphans {
            look_at: Instant::now() + ORPHANS_AFTER,
        }
    }

    async fn pause(&mut self, id: &str) {
        if Instant::now() >= self.look_at {
            self.look_at = Instant::now() + ORPHANS_AFTER;
            let ended = orphan::end(id);
            if ended > 0 {
                tracing::warn!(
                    id,
                    ended,
                    "a half-made sandbox without a launcher was ended"
                );
            }
        }
        tokio::time::sleep(LOCK_POLL).await;
    }
}

/// An environment's directory, held.
pub(super) struct Home {
    /// `root/<id>/workspace`.
    pub(super) workspace: PathBuf,
    /// The workspace was made now.
    pub(super) created: bool,
    /// Held as long as any copy of this descriptor is open. PID 1 has one.
    pub(super) lock: OwnedFd,
}

/// Takes hold of an environment's directory, making it if needed. `owner` gets the workspace, if given.
pub(super) async fn acquire(
    root: &Path,
    id: &str,
    owner: Option<RunAs>,
    wait: Duration,
) -> Result<Home, EnvironmentError> {
    let deadline = Instant::now() + wait;
    let mut orphans = Orphans::due_soon();
    loop {
        let held = try_acquire(root, id, owner).map_err(|e| failed("prepare", id, e))?;
        match held {
            Some(home) => return Ok(home),
            None if Instant::now() < deadline => orphans.pause(id).await,
            None => {
                return Err(EnvironmentError::Failed(format!(
                    "another process holds {id} (waited {} ms)",
                    wait.as_millis()
                )));
            }
        }
    }
}

/// `None` when another process holds it.
fn try_acquire(root: &Path, id: &str, owner: Option<RunAs>) -> io::Result<Option<Home>> {
    let dir_path = directory(root, id)?;
    make_private(root)?;
    match std::fs::create_dir(&dir_path) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    let dir = open(
        &dir_path,
        OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    rustix::fs::fchmod(&dir, Mode::RWXU)?;
    let Some(lock) = take_lock(&dir, &dir_path)? else {
        return Ok(None);
    };
    let created = match mkdirat(&dir, "workspace", Mode::RWXU) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(e) => return Err(e.into()),
    };
    // The agent may have changed its mode; this name is ours, so it cannot be a link.
    chmodat(&dir, "workspace", Mode::RWXU, AtFlags::empty())?;
    let workspace = openat(
        &dir,
        "workspace",
        OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    give(&workspace, owner)?;
    match mkdirat(&workspace, "outputs", Mode::from_raw_mode(0o755)) {
        Ok(()) => give_child(&workspace, "outputs", owner)?,
        // Whatever the agent put there is judged when outputs are captured. What is still ours was made by one of us that was
        // killed before it could give it away.
        Err(Errno::EXIST) if is_ours(&workspace, "outputs")? => {
            give_child(&workspace, "outputs", owner)?;
        }
        Err(Errno::EXIST) => {}
        Err(e) => return Err(e.into()),
    }
    Ok(Some(Home {
        workspace: dir_path.join("workspace"),
        created,
        lock,
    }))
}

/// `None` when it is held, or was removed under us.
fn take_lock(dir: &OwnedFd, dir_path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = match openat(dir, "lock", flags, Mode::RUSR | Mode::WUSR) {
        Ok(lock) => lock,
        // The directory was removed between making and opening it.
        Err(Errno::NOENT) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(e) => return Err(e.into()),
    }
    // Whoever held it before may have removed the environment: then this lock is of a file that has no name any more.
    let held = fstat(&lock)?;
    match stat(dir_path.join("lock")) {
        Ok(named) if (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino) => {
            Ok(Some(lock).filter(|lock| !is_occupied(lock)))
        }
        Ok(_) | Err(Errno::NOENT) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Whether the sandbox of the last holder is still there, though it let go of the lock.
fn is_occupied(lock: &OwnedFd) -> bool {
    let mut text = [0; 256];
    let read = rustix::io::pread(lock, &mut text, 0).unwrap_or(0);
    let witness = std::str::from_utf8(&text[..read])
        .ok()
        .and_then(|text| text.parse::<Witness>().ok());
    witness.is_some_and(|witness| witness.is_there())
}

/// Notes in the lock who runs in the environment.
pub(super) fn note(lock: &OwnedFd, witness: &Witness) -> io::Result<()> {
    let text = witness.to_string();
    rustix::io::pwrite(lock, text.as_bytes(), 0)?;
    Ok(rustix::fs::ftruncate(lock, text.len() as u64)?)
}

fn give(dir: &OwnedFd, owner: Option<RunAs>) -> io::Result<()> {
    let Some(owner) = owner else {
        return Ok(());
    };
    if fstat(dir)?.st_uid != owner.uid {
        fchown(
            dir,
            Some(Uid::from_raw(owner.uid)),
            Some(Gid::from_raw(owner.gid)),
        )?;
    }
    Ok(())
}

/// Whether an entry belongs to this process's user. Everything that an agent makes while `owner` is given belongs to that.
fn is_ours(dir: &OwnedFd, name: &str) -> io::Result<bool> {
    let entry = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(entry.st_uid == rustix::process::geteuid().as_raw())
}

fn give_child(dir: &OwnedFd, name: &str, owner: Option<RunAs>) -> io::Result<()> {
    let Some(owner) = owner else {
        return Ok(());
    };
    let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
    Ok(chownat(
        dir,
        name,
        Some(uid),
        Some(gid),
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

fn make_private(root: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(root)?;
    let mode = std::fs::metadata(root)?.permissions().mode();
    if mode & 0o077 != 0 {
        std::fs::set_permissions(root, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Removes an environment's directory for good. `Ok` if there is none.
pub(super) async fn remove(root: &Path, id: &str, wait: Duration) -> Result<(), EnvironmentError> {
    let dir_path = directory(root, id).map_err(|e| failed("remove", id, e))?;
    let deadline = Instant::now() + wait;
    let mut orphans = Orphans::due_soon();
    let (dir, lock) = loop {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = match open(&dir_path, flags, Mode::empty()) {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return Ok(()),
            Err(e) => return Err(failed("remove", id, e.into())),
        };
        match take_lock(&dir, &dir_path).map_err(|e| failed("remove", id, e))? {
            Some(lock) => break (dir, lock),
            None if Instant::now() < deadline => orphans.pause(id).await,
            None => {
                return Err(EnvironmentError::Failed(format!(
                    "another process holds {id} (waited {} ms); nothing was removed",
                    wait.as_millis()
                )));
            }
        }
    };
    let done = tokio::task::spawn_blocking(move || -> io::Result<()> {
        super::erase::contents(dir.as_fd(), &["lock"])?;
        // The lock goes last: until then a repetition of this call finds it.
        rustix::fs::unlinkat(&dir, "lock", AtFlags::empty())?;
        std::fs::remove_dir(&dir_path)?;
        drop(lock);
        Ok(())
    });
    match done.await {
        Ok(done) => done.map_err(|e| failed("remove", id, e)),
        Err(e) => Err(failed("remove", id, io::Error::other(e))),
    }
}

/// The one place where an id becomes a path.
pub(super) fn directory(root: &Path, id: &str) -> io::Result<PathBuf> {
    if well_formed(Kind::Environment, id) {
        Ok(root.join(id))
    } else {
        let what = format!("{id:?} is not the id of an environment");
        Err(io::Error::new(io::ErrorKind::InvalidInput, what))
    }
}

fn failed(what: &str, id: &str, e: io::Error) -> EnvironmentError {
    EnvironmentError::Failed(format!("cannot {what} {id}: {e}"))
}
