//! A clock that stands still until it is told to move.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::ports::Clock;

/// Time as a test or the simulator decides it.
#[derive(Debug)]
pub struct ManualClock {
    now_ms: AtomicU64,
}

impl ManualClock {
    /// A clock that shows `now_ms` (Unix time).
    pub fn new(now_ms: u64) -> ManualClock {
        ManualClock {
            now_ms: AtomicU64::new(now_ms),
        }
    }

    /// Moves it forward; what it shows then.
    pub fn advance(&self, by_ms: u64) -> u64 {
        self.now_ms.fetch_add(by_ms, Ordering::SeqCst) + by_ms
    }

    /// Sets it, backwards too: real clocks do that.
    pub fn set(&self, now_ms: u64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    /// Shows an instant in 2026.
    fn default() -> Self {
        ManualClock::new(1_780_000_000_000)
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_only_when_told() {
        let clock = ManualClock::new(5);
        assert_eq!(clock.now_ms(), 5);
        assert_eq!(clock.advance(3), 8);
        clock.set(2);
        assert_eq!(clock.now_ms(), 2);
    }
}
