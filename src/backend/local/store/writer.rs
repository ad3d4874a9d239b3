//! The one thread that writes: it takes what waits, takes its turn among processes, commits the group, then answers.
//!
//! The surprise is [`Pace`]: without it, clients that wait for their answer settle into batches of half their number, because the
//! writer starts on the first arrival after an answer. So it waits a little, but only when that has paid before.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::faults;
use super::group::{Answer, Grouper};
use super::helper::{Helper, checkpoint};
use super::open::Place;
use super::queue::{Pending, Queue};
use super::stats::Counters;
use super::turnstile::Turnstile;
use crate::engine::ports::{Commit, StoreError};

/// Commits of one group at most: more only adds latency.
const MAX_GROUP: usize = 128;

/// WAL length from which the writer completes a checkpoint itself, as soon as the helper has left it only a short step.
const HARD_PAGES: u64 = 16_000;

/// A short step.
const SHORT_PAGES: u64 = 1_000;

/// WAL length at which the writer completes it whatever that takes.
const LIMIT_PAGES: u64 = 24_000;

/// Everything the thread needs.
pub(super) struct Writer {
    pub(super) place: Arc<Place>,
    pub(super) queue: Arc<Queue>,
    pub(super) helper: Arc<Helper>,
    pub(super) counters: Arc<Counters>,
    pub(super) gather: bool,
}

impl Writer {
    /// The thread's life: it ends when the queue is closed and empty.
    pub(super) fn run(self) {
        let _ending = Ending(&self.queue);
        let mut grouper = Grouper {
            place: &self.place,
            counters: &self.counters,
            conn: None,
        };
        let mut turnstile = None;
        let mut pace = Pace::default();
        let mut completed_at = 0;
        while self.queue.wait() {
            if self.gather
                && let Some(patience) = pace.patience()
            {
                self.queue.gather(pace.last_group, patience);
            }
            if let Err(e) = self.step(&mut turnstile, &mut grouper, &mut pace) {
                refuse(self.queue.take(usize::MAX), &e);
            }
            self.complete_checkpoint(&turnstile, &grouper, &mut completed_at);
        }
    }

    /// One group.
    fn step(
        &self,
        turnstile: &mut Option<Turnstile>,
        grouper: &mut Grouper<'_>,
        pace: &mut Pace,
    ) -> Result<(), StoreError> {
        let refused = |e: io::Error| faults::refused_io(&e, &self.place.path);
        let turnstile = match turnstile {
            Some(turnstile) => turnstile,
            none => none.insert(Turnstile::open(&self.place.path).map_err(refused)?),
        };
        let turn = match turnstile.try_enter().map_err(refused)? {
            Some(turn) => turn,
            None => {
                self.helper.blocked(true);
                let entered = turnstile.enter();
                self.helper.blocked(false);
                entered.map_err(refused)?
            }
        };
        let (commits, answers) = split(self.queue.take(MAX_GROUP));
        if commits.is_empty() {
            return Ok(());
        }
        let begun = Instant::now();
        let results = grouper.run(&commits);
        let took = begun.elapsed();
        self.counters.worked(took);
        pace.grouped(commits.len(), took);
        drop(turn);
        for (answer, result) in answers.into_iter().zip(results) {
            // Nobody waits any more when the caller was dropped.
            let _ = answer.send(result);
        }
        Ok(())
    }

    /// Begins the WAL anew when it has become long: the helper copies most of it, and what is left is copied here, while no commit
    /// runs. A reader that holds an old snapshot prevents that; the next attempt comes another thousand pages later.
    fn complete_checkpoint(
        &self,
        turnstile: &Option<Turnstile>,
        grouper: &Grouper<'_>,
        completed_at: &mut u64,
    ) {
        let log = self.counters.log();
        let (length, behind) = (log.length(), log.behind());
        if behind >= super::helper::SOFT_PAGES {
            self.helper.nudge();
        }
        *completed_at = (*completed_at).min(length);
        let limit = length >= LIMIT_PAGES;
        if length < HARD_PAGES
            || length < *completed_at + SHORT_PAGES
            || !(limit || behind <= SHORT_PAGES)
        {
            return;
        }
        if let (Some(turnstile), Some(conn)) = (turnstile, &grouper.conn)
            && let Some(_held) = self.helper.copying(limit)
            && let Ok(_turn) = turnstile.enter()
        {
            *completed_at = length;
            checkpoint(conn, &log);
        }
    }
}

/// Whatever ends the thread, nobody may wait for it any longer: an answer that is dropped reads as unknown.
struct Ending<'a>(&'a Queue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.close();
        drop(self.0.take(usize::MAX));
    }
}

fn split(batch: Vec<Pending>) -> (Vec<Commit>, Vec<tokio::sync::oneshot::Sender<Answer>>) {
    batch.into_iter().map(|p| (p.commit, p.answer)).unzip()
}

fn refuse(batch: Vec<Pending>, error: &StoreError) {
    for pending in batch {
        // Nobody waits any more when the caller was dropped.
        let _ = pending.answer.send(Err(error.clone()));
    }
}

/// How long to wait for company, learnt from the groups before.
#[derive(Debug, Default)]
struct Pace {
    last_group: usize,
    /// Moving average of the time a group takes.
    cycle: Duration,
}

impl Pace {
    /// Below this a group is cheaper than the wait for it.
    const WORTH_IT: Duration = Duration::from_millis(1);
    const LEAST: Duration = Duration::from_micros(50);
    const MOST: Duration = Duration::from_micros(500);

    fn grouped(&mut self, commits: usize, took: Duration) {
        self.last_group = commits;
        self.cycle = if self.cycle.is_zero() {
            took
        } else {
            (self.cycle * 7 + took) / 8
        };
    }

    /// A lone client never waits.
    fn patience(&self) -> Option<Duration> {
        (self.last_group > 1 && self.cycle >= Self::WORTH_IT)
            .then(|| (self.cycle / 10).clamp(Self::LEAST, Self::MOST))
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
    fn company_is_awaited_for_a_tenth_of_a_slow_cycle() {
        let mut pace = Pace::default();
        pace.grouped(8, Duration::from_millis(3));
        assert_eq!(pace.patience(), Some(Duration::from_micros(300)));
        pace.grouped(8, Duration::from_millis(300));
        assert_eq!(pace.patience(), Some(Pace::MOST));
    }

    #[test]
    fn a_fast_disk_is_not_slowed_down() {
        let mut pace = Pace::default();
        pace.grouped(8, Duration::from_micros(400));
        assert_eq!(pace.patience(), None);
    }
}
