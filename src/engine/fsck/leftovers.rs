//! Bytes that a store keeps beside its rows and that no row names: commits that failed leave them, and rows that changed.

use super::{Fsck, Leftover};
use crate::engine::check::{Finding, Invariant, Repair};
use crate::engine::error::EngineError;
use crate::engine::ports::Key;

impl Fsck<'_> {
    /// Finds them, and removes them if that is asked for. They are a day old, so that no commit is about to name them.
    pub(super) async fn leftovers(&mut self) -> Result<(), EngineError> {
        let mut after = String::new();
        loop {
            let before_ms = self.orphans_before_ms();
            let some = self.inventory.leftovers(&after, before_ms).await?;
            let Some((found, last)) = some else {
                return Ok(());
            };
            for leftover in found {
                let repaired = self.options.repair
                    && self.inventory.remove_leftover(&leftover, before_ms).await?;
                self.outcome.add(finding(leftover), repaired);
            }
            after = last;
        }
    }
}

fn finding(leftover: Leftover) -> Finding {
    Finding {
        invariant: Invariant::I14,
        what: format!(
            "no row names these {} bytes, which are kept beside the rows",
            leftover.size_bytes
        ),
        key: Key::new(leftover.partition, leftover.name),
        repair: Repair::RemoveBlob,
    }
}
