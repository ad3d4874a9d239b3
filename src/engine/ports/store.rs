//! The Store port: rows with versions, and commits that happen whole or not at all.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::surroundings::Ids;

/// Where a record is: rows of one partition are ordered by `sort` (bytewise) and can be read in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// `S/<session id>`, `O/<owner>` or `A/<group>/<shard>`.
    pub partition: String,
    /// Unique in its partition.
    pub sort: String,
}

impl Key {
    /// A key from its two parts.
    pub fn new(partition: impl Into<String>, sort: impl Into<String>) -> Key {
        Key {
            partition: partition.into(),
            sort: sort.into(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.partition, self.sort)
    }
}

/// A stored row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it is.
    pub key: Key,
    /// 1 when first put; one more with every put since. A row that was deleted and put again starts at 1.
    pub version: u64,
    /// Opaque to the store.
    pub value: Vec<u8>,
}

/// What must hold for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// There is no such row.
    Absent,
    /// The row exists with exactly this version.
    Version(u64),
    /// Anything: the row may or may not exist.
    Any,
}

/// What a write does once its guard holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Store these bytes; the version becomes 1, or one more than it was.
    Put(Vec<u8>),
    /// Remove the row. Removing an absent row is no error (unless guarded).
    Delete,
    /// Only check the guard.
    Check,
}

/// One row of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Which row. A commit names each row at most once.
    pub key: Key,
    /// What must hold.
    pub guard: Guard,
    /// What happens then.
    pub change: Change,
}

/// 128 random bits that name one commit. Repeating a commit under its id is how a lost acknowledgement is settled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(pub [u8; 16]);

impl CommitId {
    /// A new random id.
    pub fn random(ids: &dyn Ids) -> CommitId {
        let mut bytes = [0; 16];
        ids.fill(&mut bytes);
        CommitId(bytes)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommitId({})", data_encoding::HEXLOWER.encode(&self.0))
    }
}

/// Rows one commit may write. DynamoDB would take 100; a smaller bound keeps commits small everywhere.
pub const MAX_COMMIT_ROWS: usize = 25;

/// An atomic, conditional change of up to [`MAX_COMMIT_ROWS`] rows: all of it, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Names this commit; see [`Store::commit`].
    pub id: CommitId,
    /// The rows, each named once. Shared, because whoever commits keeps them until the outcome is known.
    pub writes: Arc<Vec<Write>>,
}

impl Commit {
    /// Whether the commit keeps the port's rules: 1 to [`MAX_COMMIT_ROWS`] rows, each named once. Every store asks this first.
    pub fn check_rules(&self) -> Result<(), StoreError> {
        let rows = self.writes.len();
        if rows == 0 || rows > MAX_COMMIT_ROWS {
            return Err(StoreError::Invalid(format!(
                "{rows} rows, where 1 to {MAX_COMMIT_ROWS} are allowed"
            )));
        }
        for (i, write) in self.writes.iter().enumerate() {
            if self.writes[..i].iter().any(|w| w.key == write.key) {
                return Err(StoreError::Invalid(format!("{} is named twice", write.key)));
            }
        }
        Ok(())
    }
}

/// The answer to a commit that is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// This id had been applied before; nothing was written now.
    pub repeated: bool,
}

/// An ordered read of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The partition to read.
    pub partition: String,
    /// First sort key that may be returned (inclusive).
    pub from: String,
    /// First sort key that may not be returned any more (exclusive); `None` reads to the partition's end.
    pub until: Option<String>,
    /// Highest first instead of lowest first.
    pub reverse: bool,
    /// Rows at most; at least 1.
    pub limit: usize,
}

impl Range {
    /// All rows whose sort key starts with `prefix`, lowest first. `prefix` must be ASCII and not empty.
    pub fn prefix(partition: impl Into<String>, prefix: &str, limit: usize) -> Range {
        let mut until = prefix.as_bytes().to_vec();
        if let Some(last) = until.last_mut() {
            *last += 1;
        }
        Range {
            partition: partition.into(),
            from: prefix.to_owned(),
            until: String::from_utf8(until).ok(),
            reverse: false,
            limit,
        }
    }

    /// Whether the range keeps the port's rules. Every store asks this first.
    pub fn check_rules(&self) -> Result<(), StoreError> {
        if self.limit == 0 {
            return Err(StoreError::Invalid("a range of no rows".to_owned()));
        }
        Ok(())
    }

    /// The same rows, highest first.
    pub fn reversed(mut self) -> Range {
        self.reverse = true;
        self
    }
}

/// The rows of a range read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// In the order asked for.
    pub records: Vec<Record>,
    /// Whether rows remain behind the last one.
    pub more: bool,
}

/// Why a store call did not answer as asked. Only [`StoreError::Unknown`] may have happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A guard did not hold, for this row among others. Nothing was written. Read again and decide again.
    #[error("the record changed meanwhile: {0}")]
    Conflict(Key),
    /// The store is saturated. Nothing was written. Try again later.
    #[error("the store is saturated")]
    Throttled,
    /// The store can't be reached or is busy beyond its patience. Nothing was written. Try again later.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The commit may or may not have been applied. Repeat the same commit under the same id to find out.
    #[error("it is unknown whether the commit was applied: {0}")]
    Unknown(String),
    /// An operator must act before this can work. Nothing was written.
    #[error("{message}")]
    Broken {
        /// What is wrong.
        fault: StoreFault,
        /// In words, with the path and the way out.
        message: String,
    },
    /// The request breaks the port's rules (too many rows, a row named twice): our fault. Nothing was written.
    #[error("the request breaks the store's rules: {0}")]
    Invalid(String),
}

/// What an operator must mend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// No space left.
    DiskFull,
    /// The file, directory or mount can't be written, or permission is missing.
    ReadOnly,
    /// Not a database, or damaged.
    Corrupt,
    /// Written by a newer version of this program.
    NewerSchema,
    /// The files under an open store were removed or replaced.
    Replaced,
    /// What the store stands on was never set up.
    NotSetUp,
    /// The caller has no valid credentials: log in first.
    Credentials,
    /// The caller lacks a permission.
    Denied,
}

/// Rows with versions, and commits that happen whole or not at all.
///
/// Promises: reads are strongly consistent with every acknowledged commit of any process; a commit that was acknowledged
/// survives power loss; a commit repeated under its id is a no-op that answers `repeated: true`, as long as at least one row it
/// put still carries that commit (insert-only rows such as receipts and journal rows always do); no call keeps a thread of the
/// async runtime waiting for another process, for a sync or for a queue (a short read may touch the disk).
#[async_trait]
pub trait Store: Send + Sync {
    /// One row.
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError>;

    /// Several rows, in the order of `keys`.
    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError>;

    /// Rows of one partition, in order.
    async fn range(&self, range: &Range) -> Result<Page, StoreError>;

    /// Keys of rows of one partition, in order, and whether rows remain behind the last one. For who needs no values: a store that keeps
    /// them elsewhere does not read them.
    async fn keys(&self, range: &Range) -> Result<(Vec<Key>, bool), StoreError> {
        let page = self.range(range).await?;
        let keys = page.records.into_iter().map(|record| record.key);
        Ok((keys.collect(), page.more))
    }

    /// Applies all writes or none.
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError>;
}
