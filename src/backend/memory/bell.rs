//! A bell within one process, which can be made deaf: everything must go on without it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::engine::ports::{Bell, LiveText};

/// Rings a listener may be behind before it loses some.
const LISTENER_RINGS: usize = 1_024;
/// Texts a follower may be behind before it loses some.
const FOLLOWER_TEXTS: usize = 256;

/// A bell for tests. Clones are the same bell.
#[derive(Clone, Default)]
pub struct MemoryBell {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    deaf: AtomicBool,
    everything: Mutex<Vec<mpsc::Sender<String>>>,
    work: Mutex<Vec<mpsc::Sender<String>>>,
    followers: Mutex<Vec<(String, mpsc::Sender<LiveText>)>>,
}

impl MemoryBell {
    /// A bell that works.
    pub fn new() -> MemoryBell {
        MemoryBell::default()
    }

    /// From now on every ring is lost, or none.
    pub fn lose_rings(&self, lose: bool) {
        self.inner.deaf.store(lose, Ordering::SeqCst);
    }
}

impl Inner {
    fn followers(&self) -> MutexGuard<'_, Vec<(String, mpsc::Sender<LiveText>)>> {
        self.followers
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }

    fn tell(&self, listeners: &Mutex<Vec<mpsc::Sender<String>>>, session: &str) {
        use mpsc::error::TrySendError::Closed;
        if self.deaf.load(Ordering::SeqCst) {
            return;
        }
        let mut listeners = listeners
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        listeners.retain(|to| !matches!(to.try_send(session.to_owned()), Err(Closed(_))));
    }
}

fn listener(listeners: &Mutex<Vec<mpsc::Sender<String>>>) -> mpsc::Receiver<String> {
    let (to, rings) = mpsc::channel(LISTENER_RINGS);
    listeners
        .lock()
        .unwrap_or_else(|broken| broken.into_inner())
        .push(to);
    rings
}

#[async_trait]
impl Bell for MemoryBell {
    fn ring(&self, session: &str) {
        self.inner.tell(&self.inner.work, session);
        self.inner.tell(&self.inner.everything, session);
    }

    fn ring_change(&self, session: &str) {
        self.inner.tell(&self.inner.everything, session);
    }

    fn listen(&self) -> mpsc::Receiver<String> {
        listener(&self.inner.everything)
    }

    fn listen_work(&self) -> mpsc::Receiver<String> {
        listener(&self.inner.work)
    }

    fn tell(&self, text: &LiveText) {
        use mpsc::error::TrySendError::Closed;
        if self.inner.deaf.load(Ordering::SeqCst) {
            return;
        }
        self.inner.followers().retain(|(session, to)| {
            *session != text.session || !matches!(to.try_send(text.clone()), Err(Closed(_)))
        });
    }

    fn overhear(&self, session: &str) -> mpsc::Receiver<LiveText> {
        let (to, texts) = mpsc::channel(FOLLOWER_TEXTS);
        self.inner.followers().push((session.to_owned(), to));
        texts
    }
}
