//! The bell between processes: one unix datagram socket for each listening process, in the run directory.
//!
//! Ringing sends the Session's id to every socket there without ever waiting; a listener that is full loses rings, and a socket
//! nobody is bound to any more is removed. It keeps no list of listeners: the directory is the list, read anew with every ring,
//! because a cache of it could miss a process that has just begun to listen.

use std::ffi::{CStr, OsStr};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use rustix::fs::{AtFlags, Mode, OFlags, RawDir};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::backend::local::ids;
use crate::engine::ports::Bell;

/// Rings a listener may be behind before it loses some.
const LISTENER_RINGS: usize = 1_024;
/// Longest Session id that is sent or believed.
const SESSION_BYTES: usize = 128;
/// Longest path a unix socket address holds, without its closing zero.
const ADDRESS_BYTES: usize = 107;

/// A bell shared by all processes that use one run directory. Cheap to clone. Dropping the last clone stops listening.
#[derive(Clone)]
pub struct LocalBell {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    /// The socket rings are sent from, made by the first ring.
    sender: OnceLock<Option<UnixDatagram>>,
    /// For work, and for everything.
    ears: [Ear; 2],
}

/// What a listener wants to hear; each has a socket name of its own, so that a ring nobody waits for costs a look into the
/// directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wants {
    Work = 0,
    Everything = 1,
}

impl Wants {
    fn prefix(self) -> &'static str {
        match self {
            Wants::Work => "bell-",
            Wants::Everything => "ear-",
        }
    }
}

/// One kind of listening in this process.
#[derive(Default)]
struct Ear {
    /// The socket, bound by the first listener.
    bound: OnceLock<Option<Bound>>,
    here: Arc<Listeners>,
}

/// The socket that other processes ring, and the task that reads it.
struct Bound {
    dir: PathBuf,
    name: String,
    reader: AbortHandle,
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.reader.abort();
        // Whoever rings next removes what could not be removed here.
        let _ = std::fs::remove_file(self.dir.join(&self.name));
    }
}

/// Listeners in this process.
#[derive(Default)]
struct Listeners(Mutex<Vec<mpsc::Sender<String>>>);

impl Listeners {
    fn all(&self) -> MutexGuard<'_, Vec<mpsc::Sender<String>>> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn tell(&self, session: &str) {
        use mpsc::error::TrySendError::Closed;
        self.all()
            .retain(|to| !matches!(to.try_send(session.to_owned()), Err(Closed(_))));
    }
}

impl LocalBell {
    /// The bell of `run_dir`, which must exist by the time it is used and belong to this user alone.
    pub fn new(run_dir: impl Into<PathBuf>) -> LocalBell {
        LocalBell {
            inner: Arc::new(Inner {
                dir: run_dir.into(),
                sender: OnceLock::new(),
                ears: Default::default(),
            }),
        }
    }
}

impl Inner {
    /// Binds this process's socket. Without one, other processes can't ring here and polling has to do.
    fn bind(&self, wants: Wants) -> Option<Bound> {
        let mut random = [0u8; 4];
        ids::fill(&mut random);
        // The random part makes the name one that never was: nobody removes it for a dead namesake's.
        let name = format!(
            "{}{}-{}.sock",
            wants.prefix(),
            std::process::id(),
            data_encoding::HEXLOWER.encode(&random)
        );
        match bind_and_read(&self.dir, &name, self.ear(wants).here.clone()) {
            Ok(reader) => Some(Bound {
                dir: self.dir.clone(),
                name,
                reader,
            }),
            Err(error) => {
                tracing::warn!(dir = %self.dir.display(), %error, "can't hear other processes; work will be found by polling");
                None
            }
        }
    }

    fn ear(&self, wants: Wants) -> &Ear {
        &self.ears[wants as usize]
    }

    fn ring(&self, session: &str, who: &[Wants]) {
        for wants in who {
            self.ear(*wants).here.tell(session);
        }
        if session.len() > SESSION_BYTES {
            return;
        }
        if let Err(error) = self.ring_others(session.as_bytes(), who) {
            tracing::debug!(%error, "a ring was lost");
        }
    }

    fn listen(&self, wants: Wants) -> mpsc::Receiver<String> {
        let (to, rings) = mpsc::channel(LISTENER_RINGS);
        let ear = self.ear(wants);
        ear.here.all().push(to);
        ear.bound.get_or_init(|| self.bind(wants));
        rings
    }

    /// Whether this process itself is bound to that socket: it has been told already.
    fn is_own(&self, name: &CStr) -> bool {
        let bound = self.ears.iter().filter_map(|ear| ear.bound.get()?.as_ref());
        bound
            .into_iter()
            .any(|own| own.name.as_bytes() == name.to_bytes())
    }

    fn ring_others(&self, session: &[u8], who: &[Wants]) -> io::Result<()> {
        let sender = self.sender.get_or_init(|| new_sender().ok());
        let Some(sender) = sender else { return Ok(()) };
        let dir = open_dir(&self.dir)?;
        let mut space = [MaybeUninit::<u8>::uninit(); 4_096];
        let mut entries = RawDir::new(&dir, &mut space);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if who.iter().any(|wants| is_socket(name, *wants)) && !self.is_own(name) {
                send(sender, session, &self.dir, &dir, name);
            }
        }
        Ok(())
    }
}

impl Bell for LocalBell {
    fn ring(&self, session: &str) {
        self.inner.ring(session, &[Wants::Work, Wants::Everything]);
    }

    fn ring_change(&self, session: &str) {
        self.inner.ring(session, &[Wants::Everything]);
    }

    /// Rings of other processes arrive only if the first call in this process is made within a Tokio runtime.
    fn listen(&self) -> mpsc::Receiver<String> {
        self.inner.listen(Wants::Everything)
    }

    /// Rings of other processes arrive only if the first call in this process is made within a Tokio runtime.
    fn listen_work(&self) -> mpsc::Receiver<String> {
        self.inner.listen(Wants::Work)
    }
}

fn is_socket(name: &CStr, wants: Wants) -> bool {
    let name = name.to_bytes();
    name.starts_with(wants.prefix().as_bytes()) && name.ends_with(b".sock")
}

fn new_sender() -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn send(sender: &UnixDatagram, session: &[u8], path: &Path, dir: &OwnedFd, name: &CStr) {
    let name_os = OsStr::from_bytes(name.to_bytes());
    match sender.send_to(session, address(path, dir, name_os)) {
        Ok(_) => {}
        // Nobody is bound to it: its process died without cleaning up.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let _ = rustix::fs::unlinkat(dir, name, AtFlags::empty());
        }
        // Full, or gone since the directory was read: the ring is lost, which a ring may be.
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

fn bind_and_read(path: &Path, name: &str, here: Arc<Listeners>) -> io::Result<AbortHandle> {
    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    let dir = open_dir(path)?;
    let socket = UnixDatagram::bind(address(path, &dir, OsStr::new(name)))?;
    rustix::fs::chmodat(&dir, name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    socket.set_nonblocking(true)?;
    let socket = {
        let _entered = runtime.enter();
        tokio::net::UnixDatagram::from_std(socket)?
    };
    let task = runtime.spawn(async move {
        let mut space = [0u8; SESSION_BYTES];
        // An error here means that the socket is of no use any more; polling takes over.
        while let Ok(read) = socket.recv(&mut space).await {
            if let Ok(session) = std::str::from_utf8(&space[..read]) {
                here.tell(session);
            }
        }
    });
    Ok(task.abort_handle())
}
