//! What is owed at one moment.

use crate::engine::core::Core;
use crate::engine::error::EngineError;
use crate::engine::keys::{AGENDA_SHARDS, Group};

/// Entries that are read at once.
const STEP_ROWS: usize = 512;
/// Entries of a shard that are counted; beyond that nobody needs to know how many.
const MAX_ROWS: usize = 25_000;

/// One group of the agenda at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgendaNow {
    /// Sessions that owe something, now or at a later time: a lease that lapses is an entry, too.
    pub entries: u64,
    /// Those that are due.
    pub due: u64,
    /// For how long the first of them is due; 0 if none is.
    pub oldest_ms: u64,
}

impl Core {
    /// Counts a group's entries, up to 25,000 a shard.
    pub async fn agenda_now(&self, group: Group) -> Result<AgendaNow, EngineError> {
        let mut now = AgendaNow::default();
        for shard in 0..AGENDA_SHARDS {
            let mut from = String::new();
            let mut rows = 0;
            loop {
                let page = self.agenda_page(group, shard, &from, STEP_ROWS);
                let (entries, next) = page.await?;
                let now_ms = self.clock.now_ms();
                rows += entries.len();
                for entry in entries {
                    now.entries += 1;
                    if entry.due_ms <= now_ms {
                        now.due += 1;
                        now.oldest_ms = now.oldest_ms.max(now_ms - entry.due_ms);
                    }
                }
                match next {
                    Some(next) if rows < MAX_ROWS => from = next,
                    Some(_) | None => break,
                }
            }
        }
        Ok(now)
    }
}
