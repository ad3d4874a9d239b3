//! A commit, and what can be found out about it before the store is written: how its keys and its wide values are stored.
//!
//! It is found out where the commit is asked for. There is one thread that writes, and many that ask.

use super::keycode;
use super::packed;
use super::partitions::Partitions;
use crate::engine::ports::{Change, Commit};

/// See the module.
pub(super) struct Prepared {
    /// The commit.
    pub(super) commit: Commit,
    /// Of each of its writes, in their order.
    pub(super) rows: Vec<Ready>,
}

/// How a row is stored.
pub(super) struct Ready {
    /// The number of its partition and its key, if the number is remembered.
    pub(super) key: Option<(i64, Vec<u8>)>,
    /// What is stored in place of its value where that is wide; `None`: itself.
    pub(super) packed: Option<Vec<u8>>,
}

impl Prepared {
    /// With what this process remembers of partitions.
    pub(super) fn new(commit: Commit, partitions: &Partitions) -> Prepared {
        // The partition before, as most rows of a commit are of the same.
        let mut last: Option<(&str, Option<i64>)> = None;
        let rows = commit.writes.iter().map(|write| {
            let name = write.key.partition.as_str();
            let number = match last {
                Some((known, number)) if known == name => number,
                _ => partitions.remembered(name),
            };
            last = Some((name, number));
            Ready {
                key: number.map(|number| (number, keycode::encode(number, &write.key.sort))),
                packed: match &write.change {
                    Change::Put(value) => packed::pack(value),
                    Change::Delete | Change::Check => None,
                },
            }
        });
        let rows = rows.collect();
        Prepared { commit, rows }
    }

    /// Bytes of values.
    pub(super) fn value_bytes(&self) -> usize {
        let bytes = self.commit.writes.iter().map(|write| match &write.change {
            Change::Put(value) => value.len(),
            Change::Delete | Change::Check => 0,
        });
        bytes.sum()
    }
}
