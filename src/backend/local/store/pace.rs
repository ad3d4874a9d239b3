//! What the groups before tell about the next one: whether more commits are about to come, and whether to wait for them.
//!
//! Without it, clients that wait for their answer settle into two groups that take turns, because the writer starts on the first
//! arrival after an answer. So it waits for both, as long as they keep coming, where a sync is slow enough for that to pay.

use std::time::Duration;

use super::pen::MAX_GROUP;

/// How long to wait for company, learnt from the groups before.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Sizes of the last group and of the one before it.
    groups: [usize; 2],
    /// Moving average of the time a group takes.
    cycle: Duration,
}

/// How long company is awaited.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Patience {
    /// After the last arrival.
    pub(super) quiet: Duration,
    /// In all.
    pub(super) most: Duration,
}

impl Pace {
    /// Below this a group is cheaper than the wait for it.
    const WORTH_IT: Duration = Duration::from_millis(1);
    const QUIET: [Duration; 2] = [Duration::from_micros(50), Duration::from_micros(250)];

    /// A group of so many commits took so long.
    pub(super) fn grouped(&mut self, commits: usize, took: Duration) {
        self.groups = [commits, self.groups[0]];
        self.cycle = if self.cycle.is_zero() {
            took
        } else {
            (self.cycle * 7 + took) / 8
        };
    }

    /// How many may come: those who were answered last, and those who were answered before them.
    pub(super) fn company(&self) -> usize {
        self.groups.iter().sum::<usize>().min(MAX_GROUP)
    }

    /// Whether one client commits alone, and a sync is over before a thread is awake.
    pub(super) fn is_alone(&self) -> bool {
        self.groups == [1, 1] && self.cycle < Self::WORTH_IT
    }

    /// A lone client never waits.
    pub(super) fn patience(&self) -> Option<Patience> {
        let [least, most] = Self::QUIET;
        (self.groups[0] > 1 && self.cycle >= Self::WORTH_IT).then(|| Patience {
            quiet: (self.cycle / 20).clamp(least, most),
            most: self.cycle / 2,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_client_never_waits_for_company() {
        let mut pace = Pace::default();
        assert_eq!(pace.patience(), None);
        pace.grouped(1, Duration::from_millis(8));
        assert_eq!(pace.patience(), None);
    }

    #[test]
    fn company_is_awaited_while_it_comes_but_not_for_long() {
        let mut pace = Pace::default();
        pace.grouped(8, Duration::from_millis(2));
        let micros = |quiet, most| {
            Some(Patience {
                quiet: Duration::from_micros(quiet),
                most: Duration::from_micros(most),
            })
        };
        assert_eq!(pace.patience(), micros(100, 1000));
        pace.grouped(8, Duration::from_millis(298));
        assert_eq!(pace.patience(), micros(250, 19_500));
    }

    #[test]
    fn the_company_is_that_of_two_groups() {
        let mut pace = Pace::default();
        pace.grouped(5, Duration::from_millis(2));
        pace.grouped(3, Duration::from_millis(2));
        assert_eq!(pace.company(), 8);
        pace.grouped(MAX_GROUP, Duration::from_millis(2));
        assert_eq!(pace.company(), MAX_GROUP);
    }

    #[test]
    fn a_client_is_alone_after_two_lone_commits_on_a_fast_disk() {
        let mut pace = Pace::default();
        let fast = Duration::from_micros(300);
        assert!(!pace.is_alone());
        pace.grouped(1, fast);
        assert!(!pace.is_alone());
        pace.grouped(1, fast);
        assert!(pace.is_alone());
        pace.grouped(2, fast);
        assert!(!pace.is_alone());
        for _ in 0..2 {
            pace.grouped(1, Duration::from_millis(20));
        }
        assert!(!pace.is_alone());
    }

    #[test]
    fn a_fast_disk_is_not_slowed_down() {
        let mut pace = Pace::default();
        pace.grouped(8, Duration::from_micros(400));
        assert_eq!(pace.patience(), None);
    }
}
