//! What every stage of the journey stands on: the ports, the settings, and how records are read and committed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::EngineError;
use super::ids::SessionId;
use super::input::Body;
use super::keys::{self, AGENDA_SHARDS, Group};
use super::ports::{
    Bell, BlobScope, BlobSource, Blobs, Clock, Commit, Ids, Isolation, Key, Network, Range, Record,
    Secrets, Store, StoreError,
};
use super::session::Head;
use super::tools::ServedTools;
use super::weight::most_json_bytes;

/// What happens to a Turn whose worker was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// The same Turn goes on.
    #[default]
    Continue,
    /// The Turn fails; the Session goes on.
    Fail,
}

/// Numbers an operator may change.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A Run that does not commit for this long is asked about.
    pub lease_ms: u64,
    /// Observations wait at most this long for company in one commit.
    pub batch_ms: u64,
    /// The end of a tool call waits at most this long: a worker that is lost meanwhile leaves a call of which nobody knows how it ended.
    /// Long enough for a model that answers at once, whose next call takes the end along.
    pub end_batch_ms: u64,
    /// Larger bodies become blobs.
    pub inline_bytes: usize,
    /// Workers that may be lost, without progress, before the Turn fails.
    pub turn_attempts: u32,
    /// What happens to a Turn whose worker was lost.
    pub recovery: Recovery,
    /// How commands of new Sessions are isolated.
    pub isolation: Isolation,
    /// What they may reach, when the request does not say.
    pub network: Network,
    /// The harness of Agents that name none can work with subagents.
    pub subagents: bool,
    /// What beside functions an Agent's tools may be.
    pub tools: ServedTools,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            lease_ms: 30_000,
            batch_ms: 250,
            end_batch_ms: 50,
            inline_bytes: 64 << 10,
            turn_attempts: 5,
            recovery: Recovery::Continue,
            isolation: Isolation::Sandbox,
            network: Network::Disabled,
            subagents: false,
            tools: ServedTools::default(),
        }
    }
}

/// Times a change is decided again when others were quicker.
const DECISIONS: u32 = 64;
/// Agenda rows read at once when all of it is looked at.
const AGENDA_PAGE_ROWS: usize = 256;
/// Times one commit is repeated while its outcome is unknown.
const REPEATS: u32 = 8;

/// The engine's ports and settings.
#[derive(Clone)]
pub struct Core {
    /// Records.
    pub store: Arc<dyn Store>,
    /// Bytes.
    pub blobs: Arc<dyn Blobs>,
    /// Values that nobody may see.
    pub secrets: Arc<dyn Secrets>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub ids: Arc<dyn Ids>,
    /// Wake-ups, and words for who follows.
    pub bell: Arc<dyn Bell>,
    /// Numbers.
    pub settings: Settings,
}

/// A head as it was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The record.
    pub head: Head,
    /// Its version in the store.
    pub version: u64,
}

impl Core {
    /// A Session's head; `None` if there is none (or no more).
    pub async fn load(&self, session: &SessionId) -> Result<Option<Loaded>, EngineError> {
        let key = Key::new(keys::session_partition(session), keys::HEAD);
        let Some(record) = self.store.get(&key).await? else {
            return Ok(None);
        };
        Ok(Some(Loaded {
            head: decode(&record)?,
            version: record.version,
        }))
    }

    /// All Sessions of a shard that are on the agenda of the group `execute`: whatever is queued, leased, in quarantine or being
    /// erased. For the rare moments in which everything is looked at.
    pub async fn on_agenda(&self, shard: u32) -> Result<Vec<(SessionId, Loaded)>, EngineError> {
        let mut found = Vec::new();
        let mut from = String::new();
        loop {
            let range = Range {
                partition: keys::agenda_partition(Group::Execute, shard),
                from,
                until: None,
                reverse: false,
                limit: AGENDA_PAGE_ROWS,
            };
            let page = self.store.range(&range).await?;
            let rows = page.records.iter();
            let sessions: Vec<SessionId> = rows
                .filter_map(|record| Some(keys::parse_agenda(&record.key.sort)?.1))
                .collect();
            let heads: Vec<Key> = sessions
                .iter()
                .map(|session| Key::new(keys::session_partition(session), keys::HEAD))
                .collect();
            for (session, record) in sessions.into_iter().zip(self.store.get_many(&heads).await?) {
                let Some(record) = record else { continue };
                let head = decode(&record)?;
                let version = record.version;
                found.push((session, Loaded { head, version }));
            }
            match page.records.last() {
                Some(last) if page.more => from = format!("{}\0", last.key.sort),
                _ => return Ok(found),
            }
        }
    }

    /// Executions that hold a lease now, each once.
    pub async fn leaseholders(&self) -> Result<BTreeSet<String>, EngineError> {
        let mut holders = BTreeSet::new();
        for shard in 0..AGENDA_SHARDS {
            let leased = self.on_agenda(shard).await?;
            let leases = leased
                .into_iter()
                .filter_map(|(_, loaded)| loaded.head.fence.lease);
            holders.extend(leases.map(|lease| lease.execution.0));
        }
        Ok(holders)
    }

    /// A Session's head, as its owner may see it: somebody else's, and a deleted one, are not found.
    pub async fn load_owned(
        &self,
        owner: &str,
        session: &SessionId,
    ) -> Result<Loaded, EngineError> {
        match self.load(session).await? {
            Some(loaded) if loaded.head.owner == owner && loaded.head.deleted_ms.is_none() => {
                Ok(loaded)
            }
            _ => Err(EngineError::not_found("session", session.as_str())),
        }
    }

    /// One row of a Session.
    pub async fn row<T: DeserializeOwned>(
        &self,
        session: &SessionId,
        sort: String,
    ) -> Result<Option<T>, EngineError> {
        let key = Key::new(keys::session_partition(session), sort);
        self.store
            .get(&key)
            .await?
            .map(|record| decode(&record))
            .transpose()
    }

    /// Several rows of a Session that must exist.
    pub async fn rows<T: DeserializeOwned>(
        &self,
        session: &SessionId,
        sorts: impl IntoIterator<Item = String>,
    ) -> Result<Vec<T>, EngineError> {
        let keys: Vec<Key> = sorts
            .into_iter()
            .map(|sort| Key::new(keys::session_partition(session), sort))
            .collect();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let records = self.store.get_many(&keys).await?;
        keys.iter()
            .zip(records)
            .map(|(key, record)| match record {
                Some(record) => decode(&record),
                None => Err(EngineError::damaged(key, "it is missing")),
            })
            .collect()
    }

    /// Commits once; while the outcome is unknown, the same commit is repeated under its id.
    pub async fn commit_once(&self, commit: Commit) -> Result<(), StoreError> {
        let mut last = None;
        for repeat in 0..REPEATS {
            if repeat > 0 {
                tokio::time::sleep(backoff(repeat)).await;
            }
            match self.store.commit(commit.clone()).await {
                Ok(_) => return Ok(()),
                // Once an outcome is unknown, "it did not happen now" says nothing about the first attempt.
                Err(StoreError::Unknown(why)) => last = Some(why),
                Err(error @ StoreError::Conflict(_)) => return Err(error),
                Err(error) if last.is_some() => last = Some(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Unknown(last.unwrap_or_default()))
    }

    /// Where a Session's bytes are.
    pub fn scope(&self, owner: &str, session: &SessionId) -> BlobScope {
        BlobScope {
            owner: owner.to_owned(),
            session: session.to_string(),
        }
    }

    /// Keeps a value inline, or stores it as a blob first when it is large.
    pub async fn keep(
        &self,
        scope: &BlobScope,
        value: serde_json::Value,
    ) -> Result<Body, EngineError> {
        if most_json_bytes(&value) <= self.settings.inline_bytes {
            return Ok(Body::Inline(value));
        }
        let text = serde_json::to_vec(&value).map_err(|e| EngineError::Damaged {
            key: "body".into(),
            why: e.to_string(),
        })?;
        if text.len() <= self.settings.inline_bytes {
            return Ok(Body::Inline(value));
        }
        let blob = self
            .blobs
            .put(scope, BlobSource::Bytes(Bytes::from(text)))
            .await?;
        Ok(Body::Blob(blob))
    }

    /// The value of a body.
    pub async fn fetch(
        &self,
        scope: &BlobScope,
        body: &Body,
    ) -> Result<serde_json::Value, EngineError> {
        match body {
            Body::Inline(value) => Ok(value.clone()),
            Body::Blob(blob) => {
                let bytes = self.blobs.get(scope, blob).await?;
                serde_json::from_slice(&bytes).map_err(|e| EngineError::Damaged {
                    key: format!("blob {}", blob.sha256),
                    why: e.to_string(),
                })
            }
        }
    }

    /// Attempts at one decision against a moving head.
    pub fn decisions(&self) -> std::ops::Range<u32> {
        0..DECISIONS
    }
}

/// The pause before attempt `n` (from 1): short, growing, bounded.
pub fn backoff(n: u32) -> Duration {
    Duration::from_millis((5u64 << n.min(9)).min(2_000))
}

/// Reads a row.
pub fn decode<T: DeserializeOwned>(record: &Record) -> Result<T, EngineError> {
    serde_json::from_slice(&record.value).map_err(|e| EngineError::damaged(&record.key, e))
}

/// Writes a row. Our records always serialise: string keys, finite numbers.
pub fn encode<T: Serialize>(row: &T) -> Vec<u8> {
    // Of a row that grows as it is written the beginning would be copied several times.
    const SPACE_BYTES: usize = 4 << 10;
    thread_local! {
        static SPACE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let mut space = SPACE.take();
    space.clear();
    space.reserve(SPACE_BYTES);
    let written = serde_json::to_writer(&mut space, row);
    if space.capacity() > 16 * SPACE_BYTES {
        // A wide one is not copied, and the space for it is not kept.
        return written.map(|()| space).unwrap_or_default();
    }
    let row = written.map(|()| space.as_slice().into());
    SPACE.set(space);
    row.unwrap_or_default()
}
