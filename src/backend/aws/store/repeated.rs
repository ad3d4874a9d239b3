//! Commits that this process knows to be applied: a repeat of one of them is answered from what its rows say, not from the token, which
//! DynamoDB answers in the same way for as long as it knows it.

use std::collections::{HashSet, VecDeque};

use crate::engine::ports::CommitId;

/// Commits that are remembered.
const REMEMBERED: usize = 4_096;

/// The newest commits that were applied.
#[derive(Debug, Default)]
pub(super) struct Applied {
    known: HashSet<CommitId>,
    order: VecDeque<CommitId>,
}

impl Applied {
    pub(super) fn contains(&self, id: CommitId) -> bool {
        self.known.contains(&id)
    }

    pub(super) fn add(&mut self, id: CommitId) {
        if !self.known.insert(id) {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_known_and_no_more_than_are_remembered() {
        let id = |n: usize| CommitId((n as u128).to_be_bytes());
        let mut applied = Applied::default();
        for n in 0..REMEMBERED + 10 {
            applied.add(id(n));
            applied.add(id(n));
        }
        assert_eq!(applied.order.len(), REMEMBERED);
        assert!(applied.contains(id(REMEMBERED + 9)) && applied.contains(id(10)));
        assert!(!applied.contains(id(9)));
    }
}
