//! The commit that stores are measured with: what accepting one input writes, on a store with many Sessions.
//!
//! Five rows with 2.3 KB of values. The Session is picked at random out of 20,000, so nothing is ever near what came before: the
//! least favourable case.

use std::sync::atomic::{AtomicU64, Ordering};

use rat_things::engine::ports::{Change, Commit, CommitId, Guard, Key, Write};

/// Sessions in the store.
pub const SESSIONS: usize = 20_000;

/// A small generator of pseudo-random numbers (SplitMix64): quick, and the same on every run.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    /// Bytes that don't compress.
    pub fn bytes(&mut self, size: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(size + 8);
        while out.len() < size {
            out.extend_from_slice(&self.number().to_le_bytes());
        }
        out.truncate(size);
        out
    }
}

/// The revision of every Session's head, so that each commit carries the right guard.
pub struct Heads(pub Vec<AtomicU64>);

impl Heads {
    /// Sessions that don't exist yet.
    pub fn new() -> Heads {
        Heads((0..SESSIONS).map(|_| AtomicU64::new(0)).collect())
    }

    /// The commit that accepts one input for `session`, which the caller has for itself: head, input, journal and receipt of the
    /// Session, and its one entry in the agenda.
    pub fn accept(&self, session: usize, random: &mut Random) -> Commit {
        let revision = self.0[session].fetch_add(1, Ordering::Relaxed);
        let own = format!("S/sess_{session:026}");
        let agenda = format!("A/execute/{}", session % 4);
        let due = 1_700_000_000_000 + session * 7919 % 100_000;
        let receipt = format!("receipt/{:016x}{:016x}", random.number(), random.number());
        let head = match revision {
            0 => Guard::Absent,
            n => Guard::Version(n),
        };
        let rows = [
            (&own, "head".to_owned(), head, 300),
            (&own, format!("input/{revision:012}"), Guard::Absent, 1000),
            (&own, format!("journal/{revision:012}"), Guard::Absent, 600),
            (&own, receipt, Guard::Absent, 200),
            (&agenda, format!("{due:013}/{session:026}"), Guard::Any, 200),
        ];
        let mut id = [0; 16];
        id.copy_from_slice(&random.bytes(16));
        let writes = rows.map(|(partition, sort, guard, size)| Write {
            key: Key::new(partition.as_str(), sort),
            guard,
            change: Change::Put(random.bytes(size)),
        });
        Commit {
            id: CommitId(id),
            writes: Vec::from(writes).into(),
        }
    }
}
