//! The pen: what one needs to write, and whoever holds it writes. Usually that is the writer's thread, with a group.
//!
//! The surprise: a lone client writes itself. Two changes of thread take as long as a commit on a fast disk, so a commit that would be a
//! group of its own is made where it is asked for, if nothing has to be waited for. What is found wrong there is left to the
//! thread, which finds out again and says it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;

use super::checkpoint::{Step, checkpoint};
use super::group::{Answer, Grouper};
use super::helper::Helper;
use super::open::Place;
use super::pace::Pace;
use super::prepared::Prepared;
use super::queue::Queue;
use super::stats::Counters;
use super::turnstile::{Turn, Turnstile};

/// Commits of one group at most: more only adds latency.
pub(super) const MAX_GROUP: usize = 128;

/// Bytes of values of one group at most, unless one commit alone has more: nobody should wait for a transaction without end.
const MAX_GROUP_BYTES: usize = 4 << 20;

/// The connection, the turns among processes, and what was learnt from the groups before.
pub(super) struct Pen {
    place: Arc<Place>,
    helper: Arc<Helper>,
    counters: Arc<Counters>,
    grouper: Grouper,
    turnstile: Option<Turnstile>,
    pub(super) pace: Pace,
    /// The WAL's length when the writer last tended it.
    tended_at: u64,
}

impl Pen {
    /// Opens nothing yet.
    pub(super) fn new(place: Arc<Place>, helper: Arc<Helper>, counters: Arc<Counters>) -> Pen {
        Pen {
            grouper: Grouper::new(Arc::clone(&place), Arc::clone(&counters)),
            place,
            helper,
            counters,
            turnstile: None,
            pace: Pace::default(),
            tended_at: 0,
        }
    }

    /// Whether the next commit may be made where it is asked for: it has no company, and nothing has to be tended after it.
    pub(super) fn is_free(&self) -> bool {
        let log = self.counters.log();
        self.pace.is_alone() && log.step(self.tended_at.min(log.length())) == Step::Rest
    }

    /// Makes a lone commit, if nobody has to be waited for but the disk. `None`: nothing happened, and the thread should try.
    pub(super) fn alone(&mut self, commit: &Arc<Prepared>) -> Option<Answer> {
        let turn = self.turnstile.as_ref()?.try_enter().ok()??;
        let begun = Instant::now();
        let answer = self.grouper.alone(commit)?;
        drop(turn);
        let took = begun.elapsed();
        self.counters.worked(took);
        self.pace.grouped(1, took);
        self.counters.answered_alone();
        self.helper.look();
        Some(answer)
    }

    /// Takes a group from the queue, commits and answers it. An error is one of the lock files, before any commit was taken.
    pub(super) fn group(&mut self, queue: &Queue) -> io::Result<()> {
        let turnstile = match &mut self.turnstile {
            Some(turnstile) => turnstile,
            none => none.insert(Turnstile::open(&self.place.path)?),
        };
        let turn = enter(turnstile, &self.helper)?;
        let batch = queue.take(MAX_GROUP, MAX_GROUP_BYTES);
        if batch.is_empty() {
            return Ok(());
        }
        let (commits, askers): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|p| (p.commit, p.answer)).unzip();
        let begun = Instant::now();
        let answers = self.grouper.run(&commits);
        drop(commits);
        let took = begun.elapsed();
        self.counters.worked(took);
        self.pace.grouped(answers.len(), took);

        let log = self.counters.log();
        self.tended_at = self.tended_at.min(log.length());
        let step = log.step(self.tended_at);
        // Who waits for the turn need not wait for the answers, unless the WAL is tended while no process writes.
        let turn = (step != Step::Rest).then_some(turn);
        for (asker, result) in askers.into_iter().zip(answers) {
            answer(asker, result);
        }
        self.helper.look();
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

/// The pen, as soon as nobody else holds it. Who panicked with it in hand left a connection that is not used again.
pub(super) fn lock(pen: &Mutex<Pen>) -> MutexGuard<'_, Pen> {
    pen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers who asked for a commit.
pub(super) fn answer(asker: oneshot::Sender<Answer>, answer: Answer) {
    // Nobody waits any more when the caller was dropped.
    let _ = asker.send(answer);
}
