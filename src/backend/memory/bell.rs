//! A bell within one process, which can be made deaf: everything must go on without it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::engine::ports::Bell;

/// Rings a listener may be behind before it loses some.
const LISTENER_RINGS: usize = 1_024;

/// A bell for tests. Clones are the same bell.
#[derive(Clone, Default)]
pub struct MemoryBell {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    deaf: AtomicBool,
    listeners: Mutex<Vec<mpsc::Sender<String>>>,
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

#[async_trait]
impl Bell for MemoryBell {
    fn ring(&self, session: &str) {
        use mpsc::error::TrySendError::Closed;
        if self.inner.deaf.load(Ordering::SeqCst) {
            return;
        }
        let mut listeners = self
            .inner
            .listeners
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        listeners.retain(|to| !matches!(to.try_send(session.to_owned()), Err(Closed(_))));
    }

    fn listen(&self) -> mpsc::Receiver<String> {
        let (to, rings) = mpsc::channel(LISTENER_RINGS);
        self.inner
            .listeners
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
            .push(to);
        rings
    }
}
