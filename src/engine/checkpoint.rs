//! Checkpoint: the harness's own state, kept beside the journal and given to the Turn that comes next.
//!
//! It is a cache. One row of a Session names its bytes, which are stored before it; the commit that replaces it is fenced like every other. What
//! it stands for is told in Items, so that whoever goes on knows what has to be added. Whatever is wrong with it, there is none, and
//! no Turn fails for it. Bytes that the row in its place does not name go a day later (`superseded`).

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::core::{Core, backoff, encode};
use super::draft::Draft;
use super::error::EngineError;
use super::history::Retold;
use super::ids::SessionId;
use super::keys;
use super::ports::{BlobScope, BlobSource, Checkpoint, SavedCheckpoint, TakenCheckpoint};
use super::run::{Stop, patiently};
use super::session::Head;
use super::superseded;

/// A larger row is not kept: it would be carried with every Turn.
const ROW_MAX_BYTES: usize = 64 << 10;
/// Attempts at storing bytes; the Turn's end waits for it.
const ATTEMPTS: u32 = 3;
/// Bytes that are stored at the same time.
const STORED_AT_ONCE: usize = 8;

/// The row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointRow {
    /// Whose Run kept it.
    pub generation: u64,
    /// What it stands for.
    #[serde(flatten)]
    pub position: Position,
    /// When it was kept. Unix ms.
    pub at_ms: u64,
    /// What was kept.
    #[serde(flatten)]
    pub checkpoint: Checkpoint,
}

/// Which Items a checkpoint holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The first Item behind it.
    pub item: u64,
    /// Items before that one that it does not hold: messages that waited to be handed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<u64>,
}

impl Position {
    /// Everything that is recorded now, but for messages that wait.
    fn now(head: &Head) -> Position {
        Position {
            item: head.next.item,
            waiting: head.pending.iter().filter_map(|one| one.item).collect(),
        }
    }

    /// Whether the records of this head reach so far.
    pub fn is_within(&self, head: &Head) -> bool {
        self.item <= head.next.item && self.waiting.iter().all(|item| *item < self.item)
    }

    /// Places in a past of the entries that are not in it; `None`: the past does not reach back so far, so some may be missing.
    pub fn later(&self, told: &Retold) -> Option<Vec<usize>> {
        let first = self.waiting.iter().copied().fold(self.item, u64::min);
        let is_later = |item: &u64| *item >= self.item || self.waiting.contains(item);
        let places = told.items.iter().enumerate();
        let later = places.filter(|(_, item)| is_later(item));
        (told.from <= first).then(|| later.map(|(at, _)| at).collect())
    }
}

/// A checkpoint whose bytes are stored, and what it takes the place of.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// What is kept.
    pub checkpoint: Checkpoint,
    /// Digests of bytes that were stored for earlier ones, and that this one does not name.
    pub superseded: BTreeSet<String>,
}

/// Keeps a checkpoint, for the Run of `generation`.
pub fn keep(draft: &mut Draft, kept: &Kept, generation: u64) {
    superseded::note(draft, &kept.superseded);
    let row = CheckpointRow {
        generation,
        position: Position::now(&draft.head),
        at_ms: draft.now_ms,
        checkpoint: kept.checkpoint.clone(),
    };
    draft.put(keys::CHECKPOINT.to_owned(), &row);
}

/// What was kept of a Session.
#[derive(Default)]
pub(super) struct Found {
    /// As far as it can be used.
    pub(super) saved: Option<SavedCheckpoint>,
    /// Why it can't, if it can't.
    pub(super) unusable: Option<String>,
    /// Digests of all bytes of it.
    pub(super) stored: HashSet<String>,
}

/// What was kept of a Session, to be used with this past.
pub(super) async fn load(
    core: &Core,
    session: &SessionId,
    head: &Head,
    told: &Retold,
) -> Result<Found, Stop> {
    let read = || core.row::<CheckpointRow>(session, keys::CHECKPOINT.to_owned());
    let row = match patiently(read).await {
        Ok(Some(row)) => row,
        Ok(None) => return Ok(Found::default()),
        Err(Stop::Broken(EngineError::Damaged { key, why })) => {
            tracing::warn!(%session, key, why, "a checkpoint can't be read, and is not used");
            let unusable = Some(format!("its row can't be read: {why}"));
            return Ok(Found {
                unusable,
                ..Found::default()
            });
        }
        Err(stop) => return Err(stop),
    };
    let blobs = row.checkpoint.blobs.iter();
    let stored = blobs.map(|blob| blob.sha256.clone()).collect();
    let (saved, unusable) = match places(&row, head, told) {
        Ok(later) => {
            let saved = SavedCheckpoint {
                later,
                checkpoint: row.checkpoint,
                scope: core.scope(&head.owner, session),
                bytes: core.blobs.clone(),
            };
            (Some(saved), None)
        }
        Err(why) => (None, Some(why.to_owned())),
    };
    Ok(Found {
        saved,
        unusable,
        stored,
    })
}

/// Places of what is not in it, if it can be used.
fn places(row: &CheckpointRow, head: &Head, told: &Retold) -> Result<Vec<usize>, &'static str> {
    if row.generation > head.fence.generation || !row.position.is_within(head) {
        return Err("it is ahead of the records");
    }
    let later = row.position.later(told);
    later.ok_or("the history that fits does not reach back to it")
}

/// Stores the bytes of a checkpoint that are not in `stored` yet. What can be kept then, of which the digests are what is in `stored` from then
/// on; nothing, if something is wrong with it.
pub(super) async fn store(
    core: &Core,
    scope: &BlobScope,
    taken: TakenCheckpoint,
    stored: &mut HashSet<String>,
) -> Option<Kept> {
    let TakenCheckpoint {
        checkpoint, new, ..
    } = taken;
    let refused = |why: &str| {
        let session = &scope.session;
        tracing::warn!(session, why, "a checkpoint is not kept");
        None
    };
    if encode(&checkpoint).len() > ROW_MAX_BYTES {
        return refused("it names more than a row may hold");
    }
    for some in new.chunks(STORED_AT_ONCE) {
        let puts = some.iter().map(|bytes| put(core, scope, bytes.clone()));
        match futures_util::future::try_join_all(puts).await {
            Ok(digests) => stored.extend(digests),
            Err(error) => return refused(&error.to_string()),
        }
    }
    // A row never points at bytes that are not stored.
    let blobs = checkpoint.blobs.iter();
    let named: HashSet<String> = blobs.map(|blob| blob.sha256.clone()).collect();
    if !named.is_subset(stored) {
        return refused("it names bytes that nobody stored");
    }
    let superseded = stored.difference(&named).cloned().collect();
    // What is superseded is stored anew before it is named again: until then it may go at any time.
    *stored = named;
    Some(Kept {
        checkpoint,
        superseded,
    })
}

async fn put(core: &Core, scope: &BlobScope, bytes: bytes::Bytes) -> Result<String, EngineError> {
    let mut attempt = 1;
    loop {
        match core
            .blobs
            .put(scope, BlobSource::Bytes(bytes.clone()))
            .await
        {
            Ok(blob) => return Ok(blob.sha256),
            Err(error) if attempt >= ATTEMPTS => return Err(error.into()),
            Err(_) => tokio::time::sleep(backoff(attempt)).await,
        }
        attempt += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pretty_assertions::assert_eq;

    use super::super::session::Pending;
    use super::*;

    fn told(from: u64, items: &[u64]) -> Retold {
        Retold {
            past: Arc::default(),
            items: Arc::new(items.to_vec()),
            from,
        }
    }

    #[test]
    fn what_came_later_and_what_waited_is_not_in_it() {
        let mut head = Head::new("o".into(), 1);
        head.next.item = 7;
        for (input, item) in [(3, Some(5)), (4, None)] {
            head.pending.push(Pending {
                input,
                turn: 1,
                claimed: 1,
                item,
            });
        }
        let position = Position::now(&head);
        assert!(position.is_within(&head));
        assert_eq!(position.later(&told(1, &[1, 2, 3, 4, 6])), Some(vec![]));
        // The message was handed over since.
        let all = told(1, &[1, 2, 3, 4, 5, 6, 7, 9]);
        assert_eq!(position.later(&all), Some(vec![4, 6, 7]));
    }

    #[test]
    fn a_past_that_does_not_reach_back_is_not_enough() {
        let position = Position {
            item: 7,
            waiting: vec![5],
        };
        assert_eq!(position.later(&told(5, &[5, 6, 7])), Some(vec![0, 2]));
        assert_eq!(position.later(&told(6, &[6, 7])), None);
        let position = Position {
            item: 7,
            waiting: vec![],
        };
        assert_eq!(position.later(&told(7, &[7])), Some(vec![0]));
        assert_eq!(position.later(&told(8, &[8])), None);
    }

    #[test]
    fn a_position_that_nobody_reached_is_none() {
        let mut head = Head::new("o".into(), 1);
        head.next.item = 7;
        let at = |item, waiting| Position { item, waiting };
        assert!(at(7, vec![6]).is_within(&head));
        assert!(!at(8, vec![]).is_within(&head));
        assert!(!at(7, vec![7]).is_within(&head));
    }
}
