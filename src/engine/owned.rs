//! What an owner keeps beside Sessions and Agents (files, vaults, …): each thing is one row in the order of creation, and a small
//! row under its id that leads there.
//!
//! Surprising: the row itself is in the list. So a page of a list is one read, and whoever knows an id makes two.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::core::{Core, backoff, decode, encode};
use super::error::EngineError;
use super::ids::{self, Kind};
use super::keys;
use super::ports::{Change, Commit, CommitId, Guard, Key, StoreError, Write};
use super::read::{Cursor, ListQuery};

/// Rows read per step of a list.
const STEP_ROWS: usize = 256;

/// All things of one kind that an owner has, or that one of them has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// What one of them is, for refusals.
    pub what: &'static str,
    /// The kind of their ids.
    pub kind: Kind,
    by_id: String,
    by_time: String,
}

impl Collection {
    /// Under these names in the owner's partition.
    pub fn new(what: &'static str, kind: Kind, by_id: String, by_time: String) -> Collection {
        Collection {
            what,
            kind,
            by_id,
            by_time,
        }
    }

    /// Sort key of the row under an id, whose value is the creation time (Unix ms).
    pub fn id_row(&self, id: &str) -> String {
        format!("{}/{id}", self.by_id)
    }

    /// Sort key of the thing itself.
    pub fn time_row(&self, created_ms: u64, id: &str) -> String {
        format!("{}/{created_ms:015}/{id}", self.by_time)
    }
}

/// One of a collection, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// Of its row.
    pub version: u64,
    /// Unix ms.
    pub created_ms: u64,
    /// The row.
    pub row: T,
}

impl Core {
    /// One of a collection by its id.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if the owner has none of this id.
    pub(super) async fn owned<T: DeserializeOwned>(
        &self,
        owner: &str,
        of: &Collection,
        id: &str,
    ) -> Result<Found<T>, EngineError> {
        let missing = || EngineError::not_found(of.what, id);
        let created_ms = self.owned_since(owner, of, id).await?;
        let partition = keys::owner_partition(owner);
        let key = Key::new(partition, of.time_row(created_ms, id));
        let record = self.store.get(&key).await?.ok_or_else(missing)?;
        Ok(Found {
            version: record.version,
            created_ms,
            row: decode(&record)?,
        })
    }

    /// When one of a collection was created. Unix ms.
    async fn owned_since(
        &self,
        owner: &str,
        of: &Collection,
        id: &str,
    ) -> Result<u64, EngineError> {
        let missing = || EngineError::not_found(of.what, id);
        if !ids::well_formed(of.kind, id) {
            return Err(missing());
        }
        let key = Key::new(keys::owner_partition(owner), of.id_row(id));
        let record = self.store.get(&key).await?.ok_or_else(missing)?;
        decode(&record)
    }

    /// A page of those that are `wanted`, each with its id, and whether more follow.
    pub(super) async fn list_owned<T: DeserializeOwned>(
        &self,
        owner: &str,
        of: &Collection,
        query: &ListQuery,
        wanted: impl Fn(&T) -> bool,
    ) -> Result<(Vec<(String, T)>, bool), EngineError> {
        let after = match &query.after {
            None => None,
            Some(id) => Some(of.time_row(self.owned_since(owner, of, id).await?, id)),
        };
        let prefix = format!("{}/", of.by_time);
        let mut cursor = Cursor::new(keys::owner_partition(owner), &prefix, after, query);
        let mut found = Vec::new();
        loop {
            let step = (query.limit + 1 - found.len()).min(STEP_ROWS);
            let (records, more) = cursor.next(self, step).await?;
            for record in &records {
                let row: T = decode(record)?;
                let id = record.key.sort.rsplit('/').next().unwrap_or_default();
                if wanted(&row) {
                    found.push((id.to_owned(), row));
                }
            }
            if found.len() > query.limit || !more {
                break;
            }
        }
        let has_more = found.len() > query.limit;
        found.truncate(query.limit);
        Ok((found, has_more))
    }

    /// The writes that add one to a collection.
    pub(super) fn add_owned<T: Serialize>(
        &self,
        owner: &str,
        of: &Collection,
        (id, created_ms): (&str, u64),
        row: &T,
    ) -> [Write; 2] {
        let by_id = Change::Put(encode(&created_ms));
        let by_time = Change::Put(encode(row));
        [
            self.owner_write(owner, of.id_row(id), Guard::Absent, by_id),
            self.owner_write(owner, of.time_row(created_ms, id), Guard::Absent, by_time),
        ]
    }

    /// The writes that remove one, if it is still as it was found.
    pub(super) fn drop_owned<T>(
        &self,
        owner: &str,
        of: &Collection,
        id: &str,
        found: &Found<T>,
    ) -> [Write; 2] {
        let as_found = Guard::Version(found.version);
        let by_time = of.time_row(found.created_ms, id);
        [
            self.owner_write(owner, of.id_row(id), Guard::Any, Change::Delete),
            self.owner_write(owner, by_time, as_found, Change::Delete),
        ]
    }

    /// The write that changes one, if it is still as it was found.
    pub(super) fn put_owned<T: Serialize>(
        &self,
        owner: &str,
        of: &Collection,
        id: &str,
        found: &Found<T>,
    ) -> Write {
        let by_time = of.time_row(found.created_ms, id);
        let change = Change::Put(encode(&found.row));
        self.owner_write(owner, by_time, Guard::Version(found.version), change)
    }

    /// Commits what `decide` makes of one as it is now, decided anew as often as others are quicker; what it answered.
    pub(super) async fn change_owned<T: DeserializeOwned, A>(
        &self,
        owner: &str,
        of: &Collection,
        id: &str,
        mut decide: impl FnMut(Found<T>) -> Result<(Vec<Write>, A), EngineError>,
    ) -> Result<A, EngineError> {
        for attempt in self.decisions() {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
            }
            let found = self.owned(owner, of, id).await?;
            let (writes, answer) = decide(found)?;
            match self.commit_writes(writes).await {
                Ok(()) => return Ok(answer),
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Busy {
            attempts: self.decisions().end,
        })
    }

    /// Commits these writes under an id of their own.
    pub(super) async fn commit_writes(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        let id = CommitId::random(&*self.ids);
        self.commit_once(Commit {
            id,
            writes: writes.into(),
        })
        .await
    }
}
