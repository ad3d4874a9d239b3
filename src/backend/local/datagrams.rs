//! Datagrams between the processes of one data directory: one unix socket for each that listens, in the run directory.
//!
//! Sending never waits: who is full loses a datagram, and a socket nobody is bound to any more is removed. There is no list of
//! listeners: the directory is the list. It is read again as soon as it has changed, which one call tells, so that a process which has just begun
//! to listen is not missed. With nobody there, sending costs that call.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, Stat};

use crate::backend::local::ids;

/// What the name of every socket ends with.
const SUFFIX: &str = ".sock";
/// Longest path a unix socket address holds, without its closing zero.
const ADDRESS_BYTES: usize = 107;

/// The sockets of one directory, which must exist by the time it is used and belong to this user alone.
pub(super) struct Sockets {
    dir: PathBuf,
    /// The socket datagrams are sent from, made by the first one.
    sender: OnceLock<Option<UnixDatagram>>,
    /// The names that were found last.
    listing: Mutex<Option<Arc<Listing>>>,
}

/// The sockets that a directory had.
struct Listing {
    /// The directory when it was read.
    dir: Version,
    names: Vec<CString>,
}

/// Tells a directory from another one, and from itself with other names in it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    changed: Duration,
}

/// A directory that changed so recently may change again without a sign of it, because times of change are rough.
const SETTLED: Duration = Duration::from_millis(200);

impl Version {
    fn of(stat: &Stat) -> Option<Version> {
        let seconds = u64::try_from(stat.st_mtime).ok()?;
        let nanos = u32::try_from(stat.st_mtime_nsec).ok()?;
        Some(Version {
            device: stat.st_dev,
            inode: stat.st_ino,
            changed: Duration::new(seconds, nanos),
        })
    }

    /// Whether any later change gives it another time.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.is_ok_and(|now| {
            now.checked_sub(self.changed)
                .is_some_and(|age| age >= SETTLED)
        })
    }
}

/// The name of a socket that this process is bound to; dropping it removes the name.
pub(super) struct Bound {
    dir: PathBuf,
    name: String,
}

impl Bound {
    /// Whether this is the name of that socket.
    pub(super) fn is(&self, name: &CStr) -> bool {
        self.name.as_bytes() == name.to_bytes()
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // Whoever sends next removes what could not be removed here.
        let _ = std::fs::remove_file(self.dir.join(&self.name));
    }
}

impl Sockets {
    /// Of this directory.
    pub(super) fn new(dir: PathBuf) -> Sockets {
        Sockets {
            dir,
            sender: OnceLock::new(),
            listing: Mutex::default(),
        }
    }

    /// The directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Binds a socket whose name begins with `prefix`.
    ///
    /// # Errors
    /// It can't be made, or there is no Tokio runtime to read it.
    pub(super) fn bind(&self, prefix: &str) -> io::Result<(Bound, tokio::net::UnixDatagram)> {
        let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        let mut random = [0u8; 4];
        ids::fill(&mut random);
        // The random part makes the name one that never was: nobody removes it for a dead namesake's.
        let name = format!(
            "{prefix}{}-{}{SUFFIX}",
            std::process::id(),
            data_encoding::HEXLOWER.encode(&random)
        );
        let dir = open_dir(&self.dir)?;
        let socket = UnixDatagram::bind(address(&self.dir, &dir, OsStr::new(&name)))?;
        let bound = Bound {
            dir: self.dir.clone(),
            name,
        };
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::chmodat(&dir, bound.name.as_str(), mode, AtFlags::empty())?;
        socket.set_nonblocking(true)?;
        let _entered = runtime.enter();
        Ok((bound, tokio::net::UnixDatagram::from_std(socket)?))
    }

    /// Sends a datagram to every socket whose name begins with one of `prefixes`, without those that `except` names. The datagram is
    /// made if there is one.
    ///
    /// # Errors
    /// The directory can't be read. That a socket did not take it is none.
    pub(super) fn send<'a>(
        &self,
        prefixes: &[&str],
        except: impl Fn(&CStr) -> bool,
        datagram: impl FnOnce() -> std::borrow::Cow<'a, [u8]>,
    ) -> io::Result<()> {
        let sender = self.sender.get_or_init(|| new_sender().ok());
        let Some(sender) = sender else { return Ok(()) };
        let listing = self.listing()?;
        let is_meant = |name: &&CString| {
            prefixes.iter().any(|prefix| is_socket(name, prefix)) && !except(name)
        };
        let mut meant = listing.names.iter().filter(is_meant).peekable();
        if meant.peek().is_none() {
            return Ok(());
        }
        let (dir, bytes) = (open_dir(&self.dir)?, datagram());
        for name in meant {
            send_to(sender, &bytes, &self.dir, &dir, name);
        }
        Ok(())
    }

    /// The sockets that are there now.
    fn listing(&self) -> io::Result<Arc<Listing>> {
        let dir = Version::of(&rustix::fs::stat(&self.dir)?);
        let mut last = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| Some(last.dir) == dir) {
            return Ok(Arc::clone(last));
        }
        let dir = dir.ok_or_else(|| io::Error::other("the time of the last change is none"))?;
        let settled = dir.is_settled();
        let listing = Arc::new(Listing {
            dir,
            names: names(&self.dir)?,
        });
        *last = settled.then(|| Arc::clone(&listing));
        Ok(listing)
    }
}

/// The names of all sockets in a directory.
fn names(dir: &Path) -> io::Result<Vec<CString>> {
    let dir = open_dir(dir)?;
    let mut space = [MaybeUninit::<u8>::uninit(); 4_096];
    let mut entries = RawDir::new(&dir, &mut space);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if is_socket(entry.file_name(), "") {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

fn is_socket(name: &CStr, prefix: &str) -> bool {
    let name = name.to_bytes();
    name.starts_with(prefix.as_bytes()) && name.ends_with(SUFFIX.as_bytes())
}

fn new_sender() -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn send_to(sender: &UnixDatagram, bytes: &[u8], path: &Path, dir: &OwnedFd, name: &CStr) {
    let name_os = OsStr::from_bytes(name.to_bytes());
    match sender.send_to(bytes, address(path, dir, name_os)) {
        Ok(_) => {}
        // Nobody is bound to it: its process died without cleaning up.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let _ = rustix::fs::unlinkat(dir, name, AtFlags::empty());
        }
        // Full, or gone since the directory was read: it is lost, which it may be.
        Err(_) => {}
    }
}

/// A path to `name` that fits a socket address, however long the directory's own path is.
fn address(path: &Path, dir: &OwnedFd, name: &OsStr) -> PathBuf {
    let plain = path.join(name);
    if plain.as_os_str().len() <= ADDRESS_BYTES {
        return plain;
    }
    Path::new("/proc/self/fd")
        .join(dir.as_raw_fd().to_string())
        .join(name)
}

fn open_dir(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
