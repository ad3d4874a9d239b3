//! The bell between processes: datagrams to every process that listens, with a Session's id for a ring, and with words for who
//! follows a Session while it is being worked on.
//!
//! Words go to sockets that carry the Session's id in their name, so that a process which follows one Session is not woken by
//! all others. Surprising: they take the way through a socket within one process too, because a follower is told nothing that it could
//! rely on, and one way is enough.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::datagrams::{Bound, Sockets};
use crate::engine::ports::{Bell, LiveText};

/// Rings a listener may be behind before it loses some.
const LISTENER_RINGS: usize = 1_024;
/// Longest Session id that is sent or believed.
const SESSION_BYTES: usize = 128;
/// Texts a follower may be behind before it loses some.
const FOLLOWER_TEXTS: usize = 256;
/// Longest datagram with text: the longest text, every byte of it escaped, and what says where it belongs.
const TEXT_DATAGRAM_BYTES: usize = 6 * LiveText::MAX_BYTES + 1_024;

/// A bell shared by all processes that use one run directory. Cheap to clone. Dropping the last clone stops listening.
#[derive(Clone)]
pub struct LocalBell {
    inner: Arc<Inner>,
}

struct Inner {
    sockets: Sockets,
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
    bound: OnceLock<Option<Read>>,
    here: Arc<Listeners>,
}

/// The socket that other processes ring, and the task that reads it.
struct Read {
    bound: Bound,
    reader: AbortHandle,
}

impl Drop for Read {
    fn drop(&mut self) {
        self.reader.abort();
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
                sockets: Sockets::new(run_dir.into()),
                ears: Default::default(),
            }),
        }
    }
}

impl Inner {
    /// Binds this process's socket. Without one, other processes can't ring here and polling has to do.
    fn bind(&self, wants: Wants) -> Option<Read> {
        match self.sockets.bind(wants.prefix()) {
            Ok((bound, socket)) => {
                let reader = read_rings(socket, self.ear(wants).here.clone());
                Some(Read { bound, reader })
            }
            Err(error) => {
                tracing::warn!(dir = %self.sockets.dir().display(), %error, "can't hear other processes; work will be found by polling");
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
        let prefixes: Vec<&str> = who.iter().map(|wants| wants.prefix()).collect();
        // This process has been told already.
        let own = self
            .ears
            .iter()
            .filter_map(|ear| ear.bound.get()?.as_ref())
            .collect::<Vec<_>>();
        let sent = self.sockets.send(
            &prefixes,
            |name| own.iter().any(|read| read.bound.is(name)),
            || Cow::Borrowed(session.as_bytes()),
        );
        if let Err(error) = sent {
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

    fn tell(&self, text: &LiveText) {
        let Some(prefix) = followers_of(&text.session) else {
            return;
        };
        let sent = self.inner.sockets.send(
            &[&prefix],
            |_| false,
            // Our own types always serialise.
            || Cow::Owned(serde_json::to_vec(text).unwrap_or_default()),
        );
        if let Err(error) = sent {
            tracing::debug!(%error, "live text was lost");
        }
    }

    /// Nothing arrives if it is called outside of a Tokio runtime.
    fn overhear(&self, session: &str) -> mpsc::Receiver<LiveText> {
        let (to, texts) = mpsc::channel(FOLLOWER_TEXTS);
        let Some(prefix) = followers_of(session) else {
            return texts;
        };
        match self.inner.sockets.bind(&prefix) {
            Ok((bound, socket)) => read_texts(bound, socket, session.to_owned(), to),
            Err(error) => {
                tracing::debug!(%error, "can't hear what is being written; it is seen when it is complete");
            }
        }
        texts
    }
}

/// How the sockets of those begin who follow a Session; `None` for what can't be the name of one.
fn followers_of(session: &str) -> Option<String> {
    let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let fits = (1..=SESSION_BYTES).contains(&session.len()) && session.bytes().all(plain);
    fits.then(|| format!("live-{session}-"))
}

fn read_rings(socket: tokio::net::UnixDatagram, here: Arc<Listeners>) -> AbortHandle {
    let task = tokio::spawn(async move {
        let mut space = [0u8; SESSION_BYTES];
        // An error here means that the socket is of no use any more; polling takes over.
        while let Ok(read) = socket.recv(&mut space).await {
            if let Ok(session) = std::str::from_utf8(&space[..read]) {
                here.tell(session);
            }
        }
    });
    task.abort_handle()
}

/// Passes on what comes until nobody takes it any more.
fn read_texts(
    bound: Bound,
    socket: tokio::net::UnixDatagram,
    session: String,
    to: mpsc::Sender<LiveText>,
) {
    tokio::spawn(async move {
        let _bound = bound;
        let mut space = vec![0u8; TEXT_DATAGRAM_BYTES];
        loop {
            let read = tokio::select! {
                () = to.closed() => return,
                read = socket.recv(&mut space) => read,
            };
            let Ok(read) = read else { return };
            if let Ok(text) = serde_json::from_slice::<LiveText>(&space[..read])
                && text.session == session
            {
                // Who is behind loses some and sees the complete Item later.
                let _ = to.try_send(text);
            }
        }
    });
}
