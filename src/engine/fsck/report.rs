//! What a check found, and how much it looked at.

use crate::engine::check::Finding;
use crate::engine::ids::SessionId;

/// Findings that are kept; the rest is counted.
const KEPT: usize = 10_000;

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Owners with lists.
    pub owners: u64,
    /// Sessions, deleted ones that are not erased yet included.
    pub sessions: u64,
    /// Rows of Sessions.
    pub rows: u64,
    /// Blobs that rows name.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
    /// Imports that are not over.
    pub imports: u64,
}

/// A finding and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// What was found.
    pub finding: Finding,
    /// It is there no more.
    pub repaired: bool,
}

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How much was looked at.
    pub tally: Tally,
    /// What was found, at most ten thousand.
    pub found: Vec<Judged>,
    /// How many more.
    pub more: u64,
    /// Sessions that never stood still long enough to be seen in one piece: nothing is known of them.
    pub restless: Vec<SessionId>,
}

impl Outcome {
    /// Findings that are still there.
    pub fn left(&self) -> u64 {
        let left = self.found.iter().filter(|judged| !judged.repaired).count();
        left as u64 + self.more
    }

    pub(super) fn add(&mut self, finding: Finding, repaired: bool) {
        match self.found.len() < KEPT {
            true => self.found.push(Judged { finding, repaired }),
            false => self.more += u64::from(!repaired),
        }
    }
}
