//! The store's threads: how they start, and how their end is heard.

use std::sync::mpsc;
use std::thread;

use crate::engine::ports::StoreError;

/// Held by each thread as long as it lives.
pub(super) type Alive = mpsc::Sender<()>;

/// Hears when every holder of its [`Alive`] is gone.
pub(super) type Ended = mpsc::Receiver<()>;

/// Starts a thread that holds `alive` until the end of its `life`.
pub(super) fn spawn(
    name: &str,
    alive: Alive,
    life: impl FnOnce() + Send + 'static,
) -> Result<(), StoreError> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            life();
            drop(alive);
        })
        .map(drop)
        .map_err(|e| StoreError::Unavailable(format!("the thread {name} can't start: {e}")))
}
