//! Fsck: the checker's rules over a whole store, Session by Session, beside whoever uses it; and the repairs that are safe.
//!
//! It knows no rule itself ([`super::check`] does) but those about bytes, and never guesses: a Session that changes while it is read
//! is read again, and what is not seen in one piece is not a finding. It keeps one Session at a time in memory, and the ids of those
//! whose agenda entries or lists look odd. Nothing is written unless repairs are asked for; each repair is a commit that asserts
//! what makes it right, and the Session is looked at again afterwards.
//!
//! Read in this order: `inventory` (what a store can list), `look` (one Session in one piece), `bytes`, `kept` (what is in no
//! Session), `leftovers` (what no row names), `mend`, `walk` (all of it).

mod bytes;
mod inventory;
mod kept;
mod leftovers;
mod look;
mod mend;
mod owners;
mod report;
mod walk;

pub use inventory::{Inventory, Leftover, StoredBlob};
pub use report::{Judged, Outcome, Tally};

use std::collections::{BTreeMap, BTreeSet};

use super::core::Core;
use super::ids::SessionId;
use super::ports::BlobScope;

/// Bytes that no record names are left alone for so long: they may be on their way into one.
pub const ORPHANS_AFTER_MS: u64 = 24 * 3_600_000;

/// How thoroughly, and what is done about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Repair what is safe to repair.
    pub repair: bool,
    /// Read stored bytes, not only whether they are there.
    pub contents: bool,
}

/// Is told what has been looked at so far.
pub type Progress<'a> = &'a (dyn Fn(&Tally) + Send + Sync);

/// One check of one store.
pub struct Fsck<'a> {
    core: &'a Core,
    inventory: &'a dyn Inventory,
    options: Options,
    progress: Progress<'a>,
    outcome: Outcome,
    /// Owners that have lists.
    owners: Vec<String>,
    /// Scopes of their own that owners' rows name.
    kept: BTreeSet<BlobScope>,
    /// Owners of whom a row can't be read: it may name any scope.
    unsure: BTreeSet<String>,
    /// Digests of superseded bytes that a chore removes in time, by Session.
    given_up: BTreeMap<SessionId, BTreeSet<String>>,
}

impl<'a> Fsck<'a> {
    /// A check that has not begun.
    pub fn new(
        core: &'a Core,
        inventory: &'a dyn Inventory,
        options: Options,
        progress: Progress<'a>,
    ) -> Fsck<'a> {
        Fsck {
            core,
            inventory,
            options,
            progress,
            outcome: Outcome::default(),
            owners: Vec::new(),
            kept: BTreeSet::new(),
            unsure: BTreeSet::new(),
            given_up: BTreeMap::new(),
        }
    }
}
