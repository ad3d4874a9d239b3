//! Pauses between attempts: they double, half of each is chance, and all of them end at a deadline.

use std::time::Duration;

use tokio::time::Instant;

use crate::backend::local::ids;

const FIRST_MS: u64 = 20;
const MOST_MS: u64 = 1_000;

/// The pauses of one call.
pub(in crate::backend::aws) struct Pauses {
    until: Instant,
    made: u32,
}

impl Pauses {
    pub(in crate::backend::aws) fn new(patience: Duration) -> Pauses {
        Pauses {
            until: Instant::now() + patience,
            made: 0,
        }
    }

    /// Waits before the next attempt; `false`, at once, if there is no time for one.
    pub(in crate::backend::aws) async fn pause(&mut self) -> bool {
        let mut chance = [0; 2];
        ids::fill(&mut chance);
        let pause = Duration::from_millis(pause_ms(self.made, u16::from_be_bytes(chance)));
        self.made += 1;
        if Instant::now() + pause >= self.until {
            return false;
        }
        tokio::time::sleep(pause).await;
        true
    }
}

/// The pause behind so many others; `chance` says where in its upper half.
fn pause_ms(made: u32, chance: u16) -> u64 {
    let whole = FIRST_MS.saturating_mul(1 << made.min(10)).min(MOST_MS);
    whole / 2 + whole / 2 * u64::from(chance) / u64::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_within_their_bounds() {
        assert_eq!((pause_ms(0, 0), pause_ms(0, u16::MAX)), (10, 20));
        assert_eq!((pause_ms(3, 0), pause_ms(3, u16::MAX)), (80, 160));
        assert_eq!((pause_ms(60, 0), pause_ms(60, u16::MAX)), (500, 1_000));
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_end_at_the_deadline() {
        let begun = Instant::now();
        let mut pauses = Pauses::new(Duration::from_secs(5));
        while pauses.pause().await {}
        let took = begun.elapsed();
        assert!(took > Duration::from_secs(3) && took < Duration::from_secs(5));
    }
}
