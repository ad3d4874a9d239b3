//! Notices when the harness must stop, wherever it waits.

use tokio::sync::{mpsc, watch};

use crate::engine::ports::{FromHarness, Signal, TurnEnd, TurnLink};

/// Watches the signal and the engine's end of the link.
#[derive(Clone)]
pub struct Stop {
    signal: watch::Receiver<Signal>,
    engine: mpsc::Sender<FromHarness>,
}

impl Stop {
    /// For one Turn's link.
    pub fn new(link: &TurnLink) -> Stop {
        Stop {
            signal: link.signal.clone(),
            engine: link.to_engine.clone(),
        }
    }

    /// How to end now, if a signal asks for it.
    pub fn now(&self) -> Option<TurnEnd> {
        if self.engine.is_closed() {
            return Some(TurnEnd::Left);
        }
        match *self.signal.borrow() {
            Signal::None => None,
            Signal::Leave => Some(TurnEnd::Left),
            Signal::Cancel => Some(TurnEnd::Cancelled),
        }
    }

    /// Waits until the Turn is to be left or cancelled.
    pub async fn asked(&self) -> TurnEnd {
        self.reached(Signal::Leave).await
    }

    /// Waits until the Turn is cancelled, or nobody is there any more to report to.
    pub async fn cancelled(&self) -> TurnEnd {
        self.reached(Signal::Cancel).await
    }

    async fn reached(&self, least: Signal) -> TurnEnd {
        let mut signal = self.signal.clone();
        loop {
            let current = *signal.borrow_and_update();
            if current >= least {
                return match current {
                    Signal::Cancel => TurnEnd::Cancelled,
                    Signal::Leave | Signal::None => TurnEnd::Left,
                };
            }
            tokio::select! {
                changed = signal.changed() => if changed.is_err() {
                    // No signal can come any more; the link itself is what is left to watch.
                    self.engine.closed().await;
                    return TurnEnd::Left;
                },
                () = self.engine.closed() => return TurnEnd::Left,
            }
        }
    }
}
