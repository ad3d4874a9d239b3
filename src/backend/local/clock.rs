//! The machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::engine::ports::Clock;

/// Wall-clock time of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        // A clock set before 1970 counts as 1970.
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() as u64)
    }
}
