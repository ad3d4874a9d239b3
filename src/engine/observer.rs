//! The observer: for how long something has stayed as it is, on the observer's own monotonic clock.
//!
//! Programs on several machines have several clocks, and none of them is right. So nobody is taken for silent because a time in
//! a record has passed: whoever looks after others remembers what it saw and when it saw that first, and waits itself. All of it may
//! be lost; who starts anew begins to watch anew.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

use super::fence::{Fence, Generation};
use super::ids::SessionId;
use super::keys::AGENDA_SHARDS;

/// What of a fence changes whenever its Run shows that it lives, or another one takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sign {
    generation: Generation,
    renewals: u64,
    /// A worker of an older version renews nothing but this.
    until_ms: u64,
}

impl Sign {
    /// Of the Run that holds the lease, or of the one that is missed.
    pub(super) fn of(fence: &Fence) -> Sign {
        let lease = fence.lease.as_ref();
        Sign {
            generation: fence.generation,
            renewals: lease.map_or(0, |lease| lease.renewals),
            until_ms: lease.map_or(0, |lease| lease.until_ms),
        }
    }
}

/// Things that were seen, and since when each is as it was seen last.
#[derive(Debug)]
pub(super) struct Seen<K, V> {
    things: HashMap<K, Thing<V>>,
}

#[derive(Debug)]
struct Thing<V> {
    value: V,
    since: Instant,
    last: Instant,
    /// When its holder was given a last chance.
    warned: Option<Instant>,
}

/// How long the holder of a lease that has lapsed is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// It is given a last chance now.
    Begins,
    /// It has one.
    Lasts,
    /// It had one.
    IsOver,
}

impl<K, V> Default for Seen<K, V> {
    fn default() -> Self {
        let things = HashMap::new();
        Seen { things }
    }
}

impl<K: Eq + Hash + Clone, V: PartialEq> Seen<K, V> {
    /// It is `value` now: for how long at least it has been. It was read at some time between `asked` and `told`.
    pub(super) fn unchanged(
        &mut self,
        key: &K,
        value: V,
        asked: Instant,
        told: Instant,
    ) -> Duration {
        match self.things.get_mut(key) {
            Some(thing) if thing.value == value => {
                thing.last = told;
                asked.saturating_duration_since(thing.since)
            }
            Some(_) | None => {
                let thing = Thing {
                    value,
                    since: told,
                    last: told,
                    warned: None,
                };
                self.things.insert(key.clone(), thing);
                Duration::ZERO
            }
        }
    }

    /// Its holder gets a last chance from now on.
    pub(super) fn warn(&mut self, key: &K, now: Instant) {
        if let Some(thing) = self.things.get_mut(key) {
            thing.warned = Some(now);
        }
    }

    /// How long its holder has had a last chance.
    pub(super) fn patience(&self, key: &K, patience: Duration, now: Instant) -> Patience {
        match self.things.get(key).and_then(|thing| thing.warned) {
            None => Patience::Begins,
            Some(warned) if now.saturating_duration_since(warned) < patience => Patience::Lasts,
            Some(_) => Patience::IsOver,
        }
    }

    /// There is nothing to be seen of it any more.
    pub(super) fn forget(&mut self, key: &K) {
        self.things.remove(key);
    }

    /// Forgets what nobody has looked at for `long`.
    pub(super) fn forget_old(&mut self, long: Duration, now: Instant) {
        self.things
            .retain(|_, thing| now.saturating_duration_since(thing.last) < long);
    }
}

/// Entries of the agenda that are not due by the observer's clock, and when each is looked at all the same. An entry whose writer's
/// clock is ahead is found this way: once when it is first seen, and then as often as it may have something to tell.
#[derive(Debug, Default)]
pub(super) struct Looks {
    again: HashMap<(SessionId, u64), Instant>,
    /// Where the walk through what is not due goes on, for each shard.
    cursors: [Option<String>; AGENDA_SHARDS as usize],
}

impl Looks {
    /// Whether this entry is to be looked at now; if so, it is not before `pause` is over again.
    pub(super) fn now(
        &mut self,
        session: &SessionId,
        due_ms: u64,
        pause: Duration,
        now: Instant,
    ) -> bool {
        let entry = (session.clone(), due_ms);
        if self.again.get(&entry).is_some_and(|again| *again > now) {
            return false;
        }
        self.again.insert(entry, now + pause);
        true
    }

    /// What this entry has to tell is known until then.
    pub(super) fn known(&mut self, session: &SessionId, due_ms: u64, until: Instant) {
        self.again.insert((session.clone(), due_ms), until);
    }

    /// What this entry has to tell is not known, or was of no use: it is looked at again when it is seen next.
    pub(super) fn forget(&mut self, session: &SessionId, due_ms: u64) {
        self.again.remove(&(session.clone(), due_ms));
    }

    /// Forgets entries that nobody sees any more.
    pub(super) fn forget_old(&mut self, long: Duration, now: Instant) {
        self.again.retain(|_, again| *again + long > now);
    }

    /// Where to read on in a shard behind what is due, which ends at `behind`.
    pub(super) fn ahead(&mut self, shard: u32, behind: String) -> String {
        let cursor = self.cursors.get_mut(shard as usize).and_then(Option::take);
        cursor.filter(|from| *from > behind).unwrap_or(behind)
    }

    /// Where it will be read on the next time; `None`: from the first one that is not due.
    pub(super) fn read_to(&mut self, shard: u32, next: Option<String>) {
        if let Some(cursor) = self.cursors.get_mut(shard as usize) {
            *cursor = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ports::ExecutionId;

    const SECOND: Duration = Duration::from_secs(1);

    fn session(last: char) -> SessionId {
        let id = format!("sess_{}{last}", "a".repeat(25));
        SessionId::parse(&id).expect("well formed")
    }

    #[test]
    fn only_what_stays_the_same_between_two_looks_is_unchanged() {
        let start = Instant::now();
        let mut seen: Seen<u8, u8> = Seen::default();
        assert_eq!(seen.unchanged(&1, 5, start, start + SECOND), Duration::ZERO);
        // It was so at the latest when the first answer came, and at least until the second question was asked.
        let (asked, told) = (start + 4 * SECOND, start + 9 * SECOND);
        assert_eq!(seen.unchanged(&1, 5, asked, told), 3 * SECOND);
        assert_eq!(seen.unchanged(&1, 6, told, told), Duration::ZERO);
        assert_eq!(seen.unchanged(&2, 6, told, told), Duration::ZERO);
        let later = told + SECOND;
        assert_eq!(seen.unchanged(&1, 6, later, later), SECOND);
    }

    #[test]
    fn a_last_chance_ends_with_the_first_sign_of_life() {
        let now = Instant::now();
        let mut seen: Seen<u8, u8> = Seen::default();
        seen.unchanged(&1, 5, now, now);
        assert_eq!(seen.patience(&1, SECOND, now), Patience::Begins);
        seen.warn(&1, now);
        assert_eq!(seen.patience(&1, SECOND, now), Patience::Lasts);
        assert_eq!(seen.patience(&1, SECOND, now + SECOND), Patience::IsOver);
        seen.unchanged(&1, 6, now, now);
        assert_eq!(seen.patience(&1, SECOND, now + SECOND), Patience::Begins);
    }

    #[test]
    fn what_nobody_looks_at_is_forgotten() {
        let now = Instant::now();
        let mut seen: Seen<u8, u8> = Seen::default();
        seen.unchanged(&1, 5, now, now);
        seen.unchanged(&2, 5, now, now + SECOND);
        seen.forget_old(SECOND, now + SECOND);
        let later = now + 2 * SECOND;
        assert_eq!(seen.unchanged(&1, 5, later, later), Duration::ZERO);
        assert_eq!(seen.unchanged(&2, 5, later, later), SECOND);
    }

    #[test]
    fn every_renewal_and_every_claim_is_a_sign_of_life() {
        let mut fence = Fence::default();
        let mut signs = vec![Sign::of(&fence)];
        let execution = || ExecutionId("x".into());
        fence.claim(execution(), 7).expect("free");
        signs.push(Sign::of(&fence));
        // A clock that stands still, and a worker that counts nothing.
        fence.renew(7).expect("leased");
        signs.push(Sign::of(&fence));
        if let Some(lease) = &mut fence.lease {
            lease.until_ms = 8;
        }
        signs.push(Sign::of(&fence));
        fence.lost_sight(9).expect("leased");
        signs.push(Sign::of(&fence));
        let mut each = signs.clone();
        each.dedup();
        assert_eq!(each, signs);
    }

    #[test]
    fn an_entry_is_looked_at_once_and_again_after_a_pause() {
        let now = Instant::now();
        let mut looks = Looks::default();
        assert!(looks.now(&session('a'), 9, SECOND, now));
        assert!(!looks.now(&session('a'), 9, SECOND, now));
        assert!(looks.now(&session('a'), 10, SECOND, now), "it was moved");
        assert!(looks.now(&session('b'), 9, SECOND, now));
        assert!(looks.now(&session('a'), 9, SECOND, now + SECOND));
        looks.known(&session('a'), 11, now + SECOND);
        assert!(!looks.now(&session('a'), 11, SECOND, now));
        looks.forget(&session('b'), 9);
        assert!(looks.now(&session('b'), 9, SECOND, now));
        looks.forget_old(SECOND, now + 2 * SECOND);
        assert!(looks.now(&session('a'), 11, SECOND, now));
    }

    #[test]
    fn a_shard_is_walked_page_by_page_and_then_from_the_beginning() {
        let mut looks = Looks::default();
        assert_eq!(looks.ahead(1, "b".into()), "b");
        looks.read_to(1, Some("d".into()));
        assert_eq!(looks.ahead(1, "b".into()), "d");
        looks.read_to(1, Some("f".into()));
        assert_eq!(looks.ahead(1, "g".into()), "g", "so much is due meanwhile");
        looks.read_to(1, None);
        assert_eq!(looks.ahead(1, "b".into()), "b");
        assert_eq!(looks.ahead(0, "a".into()), "a");
    }
}
