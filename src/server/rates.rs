//! How often each caller may ask: a bucket of tokens a key, filled at the key's rate, with room for two seconds of it.
//!
//! It is kept in this process only. Several daemons over one store allow the rate each, and a restart fills every bucket.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Callers that are remembered at once. Who comes then takes the place of the one that was silent for longest.
const MAX_BUCKETS: usize = 4_096;
/// Seconds of the rate that a bucket has room for.
const BURST_S: u64 = 2;
/// Parts of a token, so that a slow rate fills it by a whole number every millisecond.
const PARTS: u64 = 1_000;

/// What is left to one caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    /// Thousandths of a token.
    parts: u64,
    /// When that was so. Unix ms.
    at_ms: u64,
}

impl Bucket {
    fn full(per_second: u32, now_ms: u64) -> Bucket {
        Bucket {
            parts: capacity(per_second),
            at_ms: now_ms,
        }
    }

    /// Takes one token, or answers in how many ms there will be one. A clock that went back fills nothing.
    fn take(&mut self, per_second: u32, now_ms: u64) -> Result<(), u32> {
        let per_ms = u64::from(per_second.max(1));
        let filled = now_ms.saturating_sub(self.at_ms).saturating_mul(per_ms);
        self.parts = self
            .parts
            .saturating_add(filled)
            .min(capacity(per_second.max(1)));
        self.at_ms = now_ms;
        match self.parts.checked_sub(PARTS) {
            Some(left) => {
                self.parts = left;
                Ok(())
            }
            // At most a second, of the slowest rate.
            None => Err(u32::try_from((PARTS - self.parts).div_ceil(per_ms)).unwrap_or(u32::MAX)),
        }
    }
}

fn capacity(per_second: u32) -> u64 {
    u64::from(per_second) * BURST_S * PARTS
}

/// The buckets of all callers.
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<HashMap<String, Bucket>>);

impl Rates {
    /// Lets `caller` (a key's digest) ask once more, or answers after how many ms it may.
    pub(super) fn take(&self, caller: &str, per_second: u32, now_ms: u64) -> Result<(), u32> {
        // Numbers that a panic elsewhere could not have left half-written.
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(caller) {
            return bucket.take(per_second, now_ms);
        }
        if buckets.len() >= MAX_BUCKETS {
            let silent = buckets.iter().min_by_key(|(_, bucket)| bucket.at_ms);
            if let Some(silent) = silent.map(|(caller, _)| caller.clone()) {
                buckets.remove(&silent);
            }
        }
        let mut bucket = Bucket::full(per_second, now_ms);
        let taken = bucket.take(per_second, now_ms);
        buckets.insert(caller.to_owned(), bucket);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_seconds_of_the_rate_may_come_at_once_and_then_the_rate() {
        let mut bucket = Bucket::full(5, 1_000);
        for n in 0..10 {
            assert_eq!(bucket.take(5, 1_000), Ok(()), "{n}");
        }
        assert_eq!(bucket.take(5, 1_000), Err(200));
        assert_eq!(bucket.take(5, 1_199), Err(1));
        assert_eq!(bucket.take(5, 1_200), Ok(()));
        assert_eq!(bucket.take(5, 1_200), Err(200));
        let hour_ms = 3_600_000;
        for n in 0..10 {
            assert_eq!(bucket.take(5, hour_ms), Ok(()), "{n}");
        }
        assert!(
            bucket.take(5, hour_ms).is_err(),
            "a long silence is no more"
        );
    }

    #[test]
    fn whoever_waits_as_long_as_told_is_let_in() {
        for rate in [1, 3, 7, 50, 999, 1_000_000] {
            let mut bucket = Bucket {
                parts: 0,
                at_ms: 10,
            };
            let wait_ms = bucket.take(rate, 10).expect_err("it is empty");
            assert!(wait_ms >= 1, "{rate}");
            assert_eq!(bucket.take(rate, 10 + u64::from(wait_ms)), Ok(()), "{rate}");
        }
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing_away_and_locks_nobody_out() {
        let mut bucket = Bucket {
            parts: 0,
            at_ms: 10_000,
        };
        assert_eq!(bucket.take(1, 5_000), Err(1_000));
        assert_eq!(bucket.take(1, 6_000), Ok(()));
    }

    #[test]
    fn a_lower_rate_holds_at_once() {
        let mut bucket = Bucket::full(100, 0);
        assert_eq!(bucket.take(1, 0), Ok(()));
        assert_eq!(bucket.take(1, 0), Ok(()));
        assert_eq!(bucket.take(1, 0), Err(1_000));
    }

    #[test]
    fn callers_do_not_share_and_no_more_are_remembered_than_there_is_room_for() {
        let rates = Rates::default();
        for n in 0..2 * MAX_BUCKETS as u64 {
            assert_eq!(rates.take(&format!("caller {n}"), 1, n), Ok(()));
        }
        let buckets = rates.0.lock().expect("nobody panicked");
        assert_eq!(buckets.len(), MAX_BUCKETS);
        assert!(
            buckets.contains_key("caller 8191"),
            "the last one is remembered"
        );
    }
}
