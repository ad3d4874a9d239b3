//! The one thread that writes: it takes what waits, takes its turn among processes, commits the group, then answers.
//!
//! The surprise is [`Pace`]: without it, clients that wait for their answer settle into two groups that take turns, because the
//! writer starts on the first arrival after an answer. So it waits for both, as long as they keep coming, where a sync is slow enough
//! for that to pay.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::checkpoint::{Step, checkpoint};
use super::faults;
use super::group::{Answer, Grouper};
use super::helper::Helper;
use super::open::Place;
use super::queue::Queue;
use super::stats::Counters;
use super::turnstile::{Turn, Turnstile};

/// Commits of one group at most: more only adds latency.
const MAX_GROUP: usize = 128;

/// Bytes of values of one group at most, unless one commit alone has more: nobody should wait for a transaction without end.
const MAX_GROUP_BYTES: usize = 4 << 20;

/// The thread's world.
pub(super) struct Writer {
    place: Arc<Place>,
    queue: Arc<Queue>,
    helper: Arc<Helper>,
    counters: Arc<Counters>,
    grouper: Grouper,
    turnstile: Option<Turnstile>,
    pace: Pace,
    /// The WAL's length when the writer last tended it.
    tended_at: u64,
}

impl Writer {
    /// Opens nothing yet.
    pub(super) fn new(
        place: Arc<Place>,
        queue: Arc<Queue>,
        helper: Arc<Helper>,
        counters: Arc<Counters>,
    ) -> Writer {
        Writer {
            grouper: Grouper::new(Arc::clone(&place), Arc::clone(&counters)),
            place,
            queue,
            helper,
            counters,
            turnstile: None,
            pace: Pace::default(),
            tended_at: 0,
        }
    }

    /// The thread's life: it ends when the queue is closed and empty.
    pub(super) fn run(mut self) {
        let queue = Arc::clone(&self.queue);
        let _ending = Ending(&queue);
        while queue.wait() {
            if self.place.options.gather
                && let Some(patience) = self.pace.patience()
            {
                queue.gather(self.pace.company(), patience.quiet, patience.most);
            }
            if let Err(e) = self.step() {
                let error = faults::refused_io(&e, &self.place.path);
                for pending in queue.take_all() {
                    answer(pending.answer, Err(error.clone()));
                }
            }
        }
    }

    /// One group. An error is one of the lock files, before any commit was taken.
    fn step(&mut self) -> io::Result<()> {
        let turnstile = match &mut self.turnstile {
            Some(turnstile) => turnstile,
            none => none.insert(Turnstile::open(&self.place.path)?),
        };
        let turn = enter(turnstile, &self.helper)?;
        let batch = self.queue.take(MAX_GROUP, MAX_GROUP_BYTES);
        if batch.is_empty() {
            return Ok(());
        }
        let (commits, askers): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|p| (p.commit, p.answer)).unzip();
        let begun = Instant::now();
        let answers = self.grouper.run(&commits);
        let took = begun.elapsed();
        self.counters.worked(took);
        self.pace.grouped(commits.len(), took);

        let log = self.counters.log();
        self.tended_at = self.tended_at.min(log.length());
        let step = log.step(self.tended_at);
        // Who waits for the turn need not wait for the answers, unless the WAL is tended while no process writes.
        let turn = (step != Step::Rest).then_some(turn);
        for (asker, result) in askers.into_iter().zip(answers) {
            answer(asker, result);
        }
        if log.worth_copying() {
            self.helper.nudge();
        }
        if let (Some(_turn), Some(conn)) = (turn, self.grouper.connection())
            && let Some(_held) = self.helper.copying(step == Step::Forced)
        {
            self.tended_at = log.length();
            checkpoint(conn, log);
        }
        Ok(())
    }
}

/// Waits for this process's turn. While that takes, the helper watches the patience of those who wait for answers.
fn enter<'t>(turnstile: &'t Turnstile, helper: &Arc<Helper>) -> io::Result<Turn<'t>> {
    if let Some(turn) = turnstile.try_enter()? {
        return Ok(turn);
    }
    helper.blocked(true);
    let entered = turnstile.enter();
    helper.blocked(false);
    entered
}

fn answer(asker: oneshot::Sender<Answer>, answer: Answer) {
    // Nobody waits any more when the caller was dropped.
    let _ = asker.send(answer);
}

/// Whatever ends the thread, nobody may wait for it any longer: an answer that is dropped reads as unknown.
struct Ending<'a>(&'a Queue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.close();
        drop(self.0.take_all());
    }
}

/// How long to wait for company, learnt from the groups before.
#[derive(Debug, Default)]
struct Pace {
    /// Sizes of the last group and of the one before it.
    groups: [usize; 2],
    /// Moving average of the time a group takes.
    cycle: Duration,
}

/// How long company is awaited.
#[derive(Debug, PartialEq, Eq)]
struct Patience {
    /// After the last arrival.
    quiet: Duration,
    /// In all.
    most: Duration,
}

impl Pace {
    /// Below this a group is cheaper than the wait for it.
    const WORTH_IT: Duration = Duration::from_millis(1);
    const QUIET: [Duration; 2] = [Duration::from_micros(50), Duration::from_micros(250)];

    fn grouped(&mut self, commits: usize, took: Duration) {
        self.groups = [commits, self.groups[0]];
        self.cycle = if self.cycle.is_zero() {
            took
        } else {
            (self.cycle * 7 + took) / 8
        };
    }

    /// How many may come: those who were answered last, and those who were answered before them.
    fn company(&self) -> usize {
        self.groups.iter().sum::<usize>().min(MAX_GROUP)
    }

    /// A lone client never waits.
    fn patience(&self) -> Option<Patience> {
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
    fn a_fast_disk_is_not_slowed_down() {
        let mut pace = Pace::default();
        pace.grouped(8, Duration::from_micros(400));
        assert_eq!(pace.patience(), None);
    }
}
