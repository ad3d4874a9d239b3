//! Who of the workers takes a run: bookkeeping and choice, without processes. Time comes in as a value.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::engine::ports::ExecutionId;

/// How long a reservation keeps a place. Between reserving and launching lies one commit.
pub(super) const RESERVED_FOR: Duration = Duration::from_secs(30);

/// Sessions of which a worker's last launch is remembered; far more than it can run at once.
const LAUNCHES_KEPT: usize = 10_000;

/// The workers of this daemon.
#[derive(Debug)]
pub(super) struct Pool<W> {
    max_workers: usize,
    runs_per_worker: usize,
    slots: BTreeMap<String, Slot<W>>,
}

/// One worker.
#[derive(Debug)]
pub(super) struct Slot<W> {
    /// The means of talking to it.
    pub worker: W,
    /// What runs, by Session, with its generation.
    runs: HashMap<String, u64>,
    /// Places kept for runs that are being claimed, by Session, since when.
    reserved: HashMap<String, Instant>,
    /// Sessions whose environments it keeps open.
    holds: HashSet<String>,
    /// The highest generation launched of each Session: generations are never reused, so a lower or equal one is a repetition.
    launched: HashMap<String, u64>,
    /// It was asked to leave and gets nothing new.
    leaving: bool,
    /// When it last had something to do.
    busy_at: Instant,
}

/// The answer to a request for a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// This worker; a place is kept in it.
    Take(ExecutionId),
    /// A new worker is needed, and there may be one more.
    Spawn,
    /// Everything is taken.
    Full,
}

/// How busy a pool is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Worker processes that live.
    pub workers: usize,
    /// Of those, asked to leave.
    pub leaving: usize,
    /// Runs that go on.
    pub runs: usize,
    /// Places kept for runs that are being claimed.
    pub reserved: usize,
}

impl<W> Slot<W> {
    fn load(&self, now: Instant) -> usize {
        self.runs.len() + self.reservations(now)
    }

    /// Reservations that still hold, beside runs of the same Session.
    fn reservations(&self, now: Instant) -> usize {
        let held = self.reserved.iter();
        held.filter(|(session, since)| {
            now.duration_since(**since) < RESERVED_FOR && !self.runs.contains_key(*session)
        })
        .count()
    }

    fn serves(&self, session: &str) -> bool {
        self.runs.contains_key(session) || self.reserved.contains_key(session)
    }
}

impl<W> Pool<W> {
    pub(super) fn new(max_workers: usize, runs_per_worker: usize) -> Pool<W> {
        Pool {
            max_workers: max_workers.max(1),
            runs_per_worker: runs_per_worker.max(1),
            slots: BTreeMap::new(),
        }
    }

    /// Chooses a place for a run of `session`: where it runs already, where its environment is open, where there is most room.
    pub(super) fn choose(&mut self, session: &str, now: Instant) -> Choice {
        let room = self.runs_per_worker;
        let open = || self.slots.iter().filter(|(_, slot)| !slot.leaving);
        let roomy = || open().filter(|(_, slot)| slot.load(now) < room);
        let chosen = open()
            .find(|(_, slot)| slot.serves(session))
            .or_else(|| roomy().find(|(_, slot)| slot.holds.contains(session)))
            .or_else(|| roomy().min_by_key(|(_, slot)| slot.load(now)))
            .map(|(name, _)| name.clone());
        match chosen {
            Some(name) => {
                self.keep_place(&name, session, now);
                Choice::Take(ExecutionId(name))
            }
            // One that was asked to leave still counts: it takes memory until it is gone.
            None if self.slots.len() < self.max_workers => Choice::Spawn,
            None => Choice::Full,
        }
    }

    /// Takes up a worker that was just made for `session`.
    pub(super) fn add(&mut self, name: &ExecutionId, worker: W, session: &str, now: Instant) {
        let slot = Slot {
            worker,
            runs: HashMap::new(),
            reserved: HashMap::new(),
            holds: HashSet::new(),
            launched: HashMap::new(),
            leaving: false,
            busy_at: now,
        };
        self.slots.insert(name.0.clone(), slot);
        self.keep_place(&name.0, session, now);
    }

    fn keep_place(&mut self, name: &str, session: &str, now: Instant) {
        if let Some(slot) = self.slots.get_mut(name) {
            slot.reserved
                .retain(|_, since| now.duration_since(*since) < RESERVED_FOR);
            slot.reserved.insert(session.to_owned(), now);
            slot.busy_at = now;
        }
    }

    /// Notes that a run is handed over. `None`: there is no such worker. `false`: it was handed over before.
    pub(super) fn launch(
        &mut self,
        name: &ExecutionId,
        session: &str,
        generation: u64,
        now: Instant,
    ) -> Option<bool> {
        let slot = self.slots.get_mut(&name.0)?;
        slot.reserved.remove(session);
        slot.busy_at = now;
        if slot
            .launched
            .get(session)
            .is_some_and(|last| *last >= generation)
        {
            return Some(false);
        }
        if slot.launched.len() >= LAUNCHES_KEPT {
            let runs = &slot.runs;
            slot.launched
                .retain(|session, _| runs.contains_key(session));
        }
        slot.launched.insert(session.to_owned(), generation);
        slot.runs.insert(session.to_owned(), generation);
        Some(true)
    }

    /// Takes back [`Pool::launch`]: the run did not reach the worker.
    pub(super) fn unlaunch(&mut self, name: &ExecutionId, session: &str, generation: u64) {
        if let Some(slot) = self.slots.get_mut(&name.0)
            && slot.launched.get(session) == Some(&generation)
        {
            slot.launched.remove(session);
            slot.runs.remove(session);
        }
    }

    /// Notes that a run is over.
    pub(super) fn ended(
        &mut self,
        name: &ExecutionId,
        session: &str,
        generation: u64,
        now: Instant,
    ) {
        if let Some(slot) = self.slots.get_mut(&name.0)
            && slot.runs.get(session) == Some(&generation)
        {
            slot.runs.remove(session);
            slot.busy_at = now;
        }
    }

    /// Notes which environments a worker keeps open.
    pub(super) fn holds(&mut self, name: &ExecutionId, sessions: Vec<String>) {
        if let Some(slot) = self.slots.get_mut(&name.0) {
            slot.holds = sessions.into_iter().collect();
        }
    }

    /// Forgets a worker, which is gone.
    pub(super) fn remove(&mut self, name: &ExecutionId) -> Option<W> {
        self.slots.remove(&name.0).map(|slot| slot.worker)
    }

    /// A worker that lives.
    pub(super) fn worker(&self, name: &ExecutionId) -> Option<&W> {
        self.slots.get(&name.0).map(|slot| &slot.worker)
    }

    /// Gives nothing new to a worker.
    pub(super) fn close(&mut self, name: &ExecutionId) {
        if let Some(slot) = self.slots.get_mut(&name.0) {
            slot.leaving = true;
        }
    }

    /// Gives nothing new to those workers that have had nothing to do for `idle`; with zero, to all workers. Returns them, those
    /// asked before included.
    pub(super) fn close_idle(&mut self, idle: Duration, now: Instant) -> Vec<&W> {
        let slots = self.slots.values_mut();
        slots
            .filter(|slot| {
                idle.is_zero() || (slot.load(now) == 0 && now.duration_since(slot.busy_at) >= idle)
            })
            .map(|slot| {
                slot.leaving = true;
                &slot.worker
            })
            .collect()
    }

    pub(super) fn load(&self, now: Instant) -> Load {
        let mut load = Load {
            workers: self.slots.len(),
            ..Load::default()
        };
        for slot in self.slots.values() {
            load.leaving += usize::from(slot.leaving);
            load.runs += slot.runs.len();
            load.reserved += slot.reservations(now);
        }
        load
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: usize) -> ExecutionId {
        ExecutionId(format!("w{n}"))
    }

    /// Reserves; a new worker is made when one is needed. The worker's number, or why not.
    fn reserve(pool: &mut Pool<()>, session: &str, now: Instant) -> Result<String, Choice> {
        match pool.choose(session, now) {
            Choice::Take(name) => Ok(name.0),
            Choice::Spawn => {
                let name = name(pool.load(now).workers);
                pool.add(&name, (), session, now);
                Ok(name.0)
            }
            Choice::Full => Err(Choice::Full),
        }
    }

    #[test]
    fn workers_are_filled_before_new_ones_are_made_until_all_are_full() {
        let (mut pool, now) = (Pool::new(2, 2), Instant::now());
        for (session, want) in [("a", "w0"), ("b", "w0"), ("c", "w1"), ("d", "w1")] {
            assert_eq!(reserve(&mut pool, session, now), Ok(want.to_owned()));
        }
        assert_eq!(reserve(&mut pool, "e", now), Err(Choice::Full));
        assert_eq!(reserve(&mut pool, "a", now), Ok("w0".to_owned()));
        let load = pool.load(now);
        assert_eq!((load.workers, load.runs, load.reserved), (2, 0, 4));
    }

    #[test]
    fn a_reservation_that_is_not_used_lapses() {
        let (mut pool, now) = (Pool::new(1, 1), Instant::now());
        assert!(reserve(&mut pool, "a", now).is_ok());
        assert!(reserve(&mut pool, "b", now).is_err());
        assert!(reserve(&mut pool, "b", now + RESERVED_FOR).is_ok());
    }

    #[test]
    fn the_holder_of_an_environment_is_preferred_while_it_has_room() {
        let (mut pool, now) = (Pool::new(3, 2), Instant::now());
        for session in ["a", "b", "c"] {
            reserve(&mut pool, session, now).expect("room");
        }
        for (session, worker) in [("a", 0), ("b", 0), ("c", 1)] {
            assert_eq!(pool.launch(&name(worker), session, 1, now), Some(true));
            pool.ended(&name(worker), session, 1, now);
        }
        pool.holds(&name(1), vec!["c".to_owned(), "x".to_owned()]);
        assert_eq!(reserve(&mut pool, "c", now), Ok("w1".to_owned()));
        assert_eq!(reserve(&mut pool, "x", now), Ok("w1".to_owned()));
        pool.holds(&name(1), vec!["y".to_owned()]);
        assert_eq!(reserve(&mut pool, "y", now), Ok("w0".to_owned()));
        // Where it runs counts, room or not.
        pool.launch(&name(1), "c", 2, now);
        assert_eq!(reserve(&mut pool, "c", now), Ok("w1".to_owned()));
    }

    #[test]
    fn a_repeated_launch_is_noticed_even_after_the_run_ended() {
        let (mut pool, now) = (Pool::new(1, 2), Instant::now());
        reserve(&mut pool, "a", now).expect("room");
        let mut launch = |generation| pool.launch(&name(0), "a", generation, now);
        assert_eq!(launch(4), Some(true));
        assert_eq!(launch(4), Some(false));
        assert_eq!(launch(3), Some(false));
        pool.ended(&name(0), "a", 4, now);
        assert_eq!(pool.launch(&name(0), "a", 4, now), Some(false));
        assert_eq!(pool.launch(&name(0), "a", 5, now), Some(true));
        // The end of an older run says nothing about the newer one.
        pool.ended(&name(0), "a", 4, now);
        assert_eq!(pool.load(now).runs, 1);
        pool.unlaunch(&name(0), "a", 5);
        assert_eq!(pool.load(now).runs, 0);
        assert_eq!(pool.launch(&name(0), "a", 5, now), Some(true));
        assert_eq!(pool.launch(&name(9), "a", 5, now), None);
    }

    #[test]
    fn who_was_asked_to_leave_gets_nothing_new_and_counts_until_it_is_gone() {
        let (mut pool, now) = (Pool::new(2, 2), Instant::now());
        reserve(&mut pool, "a", now).expect("room");
        pool.launch(&name(0), "a", 1, now);
        assert!(pool.close_idle(Duration::from_secs(1), now).is_empty());
        assert_eq!(pool.close_idle(Duration::ZERO, now).len(), 1);
        assert_eq!(reserve(&mut pool, "a", now), Ok("w1".to_owned()));
        assert_eq!(pool.load(now).leaving, 1);
        let later = now + RESERVED_FOR;
        assert_eq!(pool.close_idle(Duration::from_secs(1), later).len(), 1);
        assert_eq!(reserve(&mut pool, "b", later), Err(Choice::Full));
        assert!(pool.remove(&name(0)).is_some());
        assert_eq!(pool.choose("b", later), Choice::Spawn);
    }
}
