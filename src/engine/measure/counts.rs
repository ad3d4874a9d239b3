//! Numbers that many tasks add to and one reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A count that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn one(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, n: u64) {
        // Numbers for people: no other memory is ordered by them.
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// How many by now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper bounds of the classes that durations are counted in, in µs; a last class has none.
pub const BOUNDS_US: [u64; 14] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 5_000_000,
];

/// How long something took, each time, in classes.
#[derive(Debug, Default)]
pub struct Durations {
    classes: [Counter; BOUNDS_US.len() + 1],
    sum_us: Counter,
}

/// The same at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurationsNow {
    /// Of each bound, how many took at most so long; the last is all of them.
    pub at_most: [u64; BOUNDS_US.len() + 1],
    /// All together.
    pub sum_us: u64,
}

impl Durations {
    /// It took so long once more.
    pub fn took(&self, time: Duration) {
        let time_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let class = BOUNDS_US.partition_point(|bound| *bound < time_us);
        self.classes[class].one();
        self.sum_us.add(time_us);
    }

    /// What was counted by now.
    pub fn now(&self) -> DurationsNow {
        let mut sum = 0;
        DurationsNow {
            at_most: std::array::from_fn(|class| {
                sum += self.classes[class].get();
                sum
            }),
            sum_us: self.sum_us.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_class_that_has_room_for_it() {
        let durations = Durations::default();
        for time_us in [0, 100, 101, 5_000_000, 5_000_001] {
            durations.took(Duration::from_micros(time_us));
        }
        let now = durations.now();
        assert_eq!(now.at_most[..2], [2, 3]);
        assert_eq!(now.at_most[BOUNDS_US.len() - 1..], [4, 5]);
        assert_eq!(now.sum_us, 10_000_202);
        assert!(BOUNDS_US.is_sorted());
    }
}
