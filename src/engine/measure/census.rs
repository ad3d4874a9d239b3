//! What became of Turns, whoever worked on them: counted from the journals of the Sessions that were rung about.
//!
//! A ring may be lost, so a Session's next ring counts what the lost one was about, too. What nothing rings about any more, and what
//! is erased before it is looked at, is missed: these are numbers for people, and no decision is made by them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, watch};

use super::counts::Counter;
use crate::api::TurnStatus;
use crate::engine::core::{Core, decode};
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;
use crate::engine::journal::{Entry, JournalRow};
use crate::engine::keys;
use crate::engine::ports::Range;
use crate::engine::turn::TurnRow;

/// Sessions that were rung about are looked at this often.
const LOOK: Duration = Duration::from_secs(2);
/// Journal rows read at once.
const STEP_ROWS: usize = 64;
/// Sessions of which is remembered up to where they were counted.
const MAX_KNOWN: usize = 50_000;
/// Sessions that wait to be looked at; then they are, at once.
const MAX_RUNG: usize = 1_024;

/// What was counted.
#[derive(Debug, Default)]
pub struct Ended {
    /// Turns that completed.
    pub completed: Counter,
    /// Turns that failed.
    pub failed: Counter,
    /// Turns that were cancelled.
    pub cancelled: Counter,
    /// Model calls of Turns that ended.
    pub model_calls: Counter,
    /// Their tokens, read.
    pub input_tokens: Counter,
    /// Of those, from the provider's cache.
    pub cached_tokens: Counter,
    /// Their tokens, written.
    pub output_tokens: Counter,
    /// Of those, reasoning.
    pub reasoning_tokens: Counter,
}

/// Counts what is in the records.
pub struct Census {
    core: Core,
    ended: Ended,
    known: Mutex<Known>,
}

/// Up to where it was counted.
struct Known {
    rung: HashSet<SessionId>,
    /// The last revision that was counted, and when.
    counted: HashMap<SessionId, (u64, u64)>,
    /// Of a Session that is not known, what is older than this is not counted. Unix ms.
    floor_ms: u64,
}

impl Census {
    /// Begins now.
    pub fn begin(core: Core) -> Arc<Census> {
        let floor_ms = core.clock.now_ms();
        Arc::new(Census {
            core,
            ended: Ended::default(),
            known: Mutex::new(Known {
                rung: HashSet::new(),
                counted: HashMap::new(),
                floor_ms,
            }),
        })
    }

    /// Counts until `stop` turns true.
    pub async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut rings = self.core.bell.listen();
        let mut looking = tokio::time::interval(LOOK);
        looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                changed = stop.changed() => if changed.is_err() || *stop.borrow() { return },
                Some(session) = rings.recv() => {
                    let Some(session) = SessionId::parse(&session) else { continue };
                    let waiting = {
                        let mut known = self.known.lock().await;
                        known.rung.insert(session);
                        known.rung.len()
                    };
                    if waiting >= MAX_RUNG {
                        self.look().await;
                    }
                }
                _ = looking.tick() => self.look().await,
            }
        }
    }

    /// What was counted by now, with all that was rung about before.
    pub async fn ended(&self) -> &Ended {
        self.look().await;
        &self.ended
    }

    /// Counts what is new in the Sessions that were rung about.
    async fn look(&self) {
        let mut known = self.known.lock().await;
        for session in std::mem::take(&mut known.rung) {
            let now_ms = self.core.clock.now_ms();
            let last = known.counted.get(&session).map(|(revision, _)| *revision);
            match self.count(&session, last, known.floor_ms).await {
                Ok(Some(revision)) => {
                    known.counted.insert(session, (revision, now_ms));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(%session, %error, "a session could not be counted now");
                    // What is damaged stays so; whatever rings about it next looks again.
                    if !matches!(error, EngineError::Damaged { .. }) {
                        known.rung.insert(session);
                    }
                }
            }
        }
        known.forget();
    }

    /// Counts the Session's journal backwards, down to what was counted before; answers its last revision.
    async fn count(
        &self,
        session: &SessionId,
        last: Option<u64>,
        floor_ms: u64,
    ) -> Result<Option<u64>, EngineError> {
        let partition = keys::session_partition(session);
        let mut range = Range::prefix(partition, "journal/", STEP_ROWS).reversed();
        let mut newest = None;
        let mut turns = Vec::new();
        'pages: loop {
            let page = self.core.store.range(&range).await?;
            for record in &page.records {
                let revision = keys::number(&record.key.sort, "journal/").unwrap_or_default();
                let row: JournalRow = decode(record)?;
                let is_counted = match last {
                    Some(last) => revision <= last,
                    None => row.at_ms < floor_ms,
                };
                if is_counted {
                    break 'pages;
                }
                newest = newest.max(Some(revision));
                turns.extend(row.events.iter().filter_map(ended_turn));
            }
            match page.records.last() {
                Some(lowest) if page.more => range.until = Some(lowest.key.sort.clone()),
                _ => break,
            }
        }
        // Read before anything is counted: what can't be read now is counted whole another time.
        let rows = turns.iter().map(|(number, _)| keys::turn(*number));
        let rows: Vec<TurnRow> = self.core.rows(session, rows).await?;
        for ((_, status), row) in turns.iter().zip(&rows) {
            self.ended.one(*status, row);
        }
        Ok(newest)
    }
}

fn ended_turn(entry: &Entry) -> Option<(u64, TurnStatus)> {
    match entry {
        Entry::Turn { t, s } if s.is_terminal() => Some((*t, *s)),
        _ => None,
    }
}

impl Ended {
    fn one(&self, status: TurnStatus, row: &TurnRow) {
        match status {
            TurnStatus::Completed => self.completed.one(),
            TurnStatus::Failed => self.failed.one(),
            TurnStatus::Cancelled => self.cancelled.one(),
            TurnStatus::Queued | TurnStatus::InProgress | TurnStatus::Waiting => {}
        }
        let usage = row.usage.unwrap_or_default();
        self.model_calls.add(row.model_calls.into());
        self.input_tokens.add(usage.input);
        self.cached_tokens.add(usage.cached_input);
        self.output_tokens.add(usage.output);
        self.reasoning_tokens.add(usage.reasoning);
    }
}

impl Known {
    /// Forgets the Sessions that were silent for longest, where there are too many. What they did before is never counted again.
    fn forget(&mut self) {
        if self.counted.len() <= MAX_KNOWN {
            return;
        }
        let mut times: Vec<u64> = self.counted.values().map(|(_, at_ms)| *at_ms).collect();
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(middle);
        let median = *median;
        self.counted.retain(|_, (_, at_ms)| *at_ms > median);
        self.floor_ms = self.floor_ms.max(median.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ports::Ids;

    /// Another number each time.
    struct Numbers(std::sync::atomic::AtomicU64);

    impl Ids for Numbers {
        fn fill(&self, bytes: &mut [u8]) {
            let n = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            bytes.fill(0);
            bytes[..8].copy_from_slice(&n.to_be_bytes());
        }
    }

    #[test]
    fn the_sessions_that_were_silent_for_longest_are_forgotten_and_never_counted_again() {
        let ids = Numbers(Default::default());
        let counted = (0..=MAX_KNOWN as u64)
            .map(|at_ms| (SessionId::random(&ids), (1, at_ms)))
            .collect();
        let mut known = Known {
            rung: HashSet::new(),
            counted,
            floor_ms: 7,
        };
        known.forget();
        assert_eq!(known.counted.len(), MAX_KNOWN / 2);
        let oldest = known.counted.values().map(|(_, at_ms)| *at_ms).min();
        assert_eq!(oldest, Some(known.floor_ms));
        let few = known.counted.len();
        known.forget();
        assert_eq!(known.counted.len(), few, "there is room");
    }
}
