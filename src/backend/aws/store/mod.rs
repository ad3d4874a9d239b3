//! The Store port on one DynamoDB table, with the content of rows in S3.
//!
//! A commit is one transaction whose token is the commit's id, after at most one object per partition. Conflicts with other transactions
//! and throttling are repeated within a deadline and never surface as long as they pass (I12). The surprise is how a repeated commit is
//! recognised: DynamoDB knows its token for ten minutes and then answers as it did before; behind that, and for what the rows say themselves, each row
//! has the id of the commit that put it.

mod commit;
pub(in crate::backend::aws) mod pause;
mod read;
mod repeated;

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;

use self::repeated::Applied;
use super::client::AwsClients;
use super::content::{Content, ContentError};
use super::fault::Fault;
use crate::engine::ports::{
    Commit, Committed, Key, Page, Range, Record, Store, StoreError, StoreFault,
};

/// What passes by itself is waited for so long.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// Where the records are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The table.
    pub table: String,
    /// The bucket.
    pub bucket: String,
    /// The key that objects are encrypted with; `None`: the bucket's own default.
    pub kms_key: Option<String>,
}

/// Rows in DynamoDB, their content in S3.
pub struct DynamoStore {
    db: aws_sdk_dynamodb::Client,
    table: String,
    content: Content,
    applied: Mutex<Applied>,
    patience: Duration,
}

impl DynamoStore {
    /// A store in these places, which must exist. Sends nothing.
    pub fn new(clients: &AwsClients, places: &Places) -> DynamoStore {
        DynamoStore {
            db: clients.dynamodb(),
            table: places.table.clone(),
            content: Content::new(clients.s3(), &places.bucket, places.kms_key.as_deref()),
            applied: Mutex::default(),
            patience: PATIENCE,
        }
    }

    /// The same, with another patience; for tests.
    pub fn patient_for(mut self, patience: Duration) -> DynamoStore {
        self.patience = patience;
        self
    }

    /// What a request that surely had no effect means to the engine.
    fn refused(&self, fault: Fault) -> StoreError {
        if let Some(what) = fault.not_set_up() {
            return StoreError::Broken {
                fault: StoreFault::NotSetUp,
                message: format!("{what} (the records are to be in table {:?})", self.table),
            };
        }
        match fault {
            Fault::Throttled(_) => StoreError::Throttled,
            Fault::Unreachable(_) | Fault::Uncertain(_) => {
                StoreError::Unavailable(fault.to_string())
            }
            Fault::Credentials(_) => StoreError::Broken {
                fault: StoreFault::Credentials,
                message: fault.to_string(),
            },
            Fault::Denied(_) => StoreError::Broken {
                fault: StoreFault::Denied,
                message: fault.to_string(),
            },
            Fault::Refused { .. } => StoreError::Invalid(fault.to_string()),
        }
    }

    /// What content that is not stored, or can't be read, means to the engine. Nothing was committed.
    fn without_content(&self, error: ContentError) -> StoreError {
        match error {
            ContentError::Fault(fault) => self.refused(fault),
            ContentError::Missing(_) | ContentError::Corrupt(_) => StoreError::Broken {
                fault: StoreFault::Corrupt,
                message: error.to_string(),
            },
        }
    }
}

#[async_trait]
impl Store for DynamoStore {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.read_one(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        match keys {
            [] => Ok(Vec::new()),
            [key] => Ok(vec![self.read_one(key).await?]),
            keys => self.read_many(keys).await,
        }
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        range.check_rules()?;
        self.read_range(range).await
    }

    async fn keys(&self, range: &Range) -> Result<(Vec<Key>, bool), StoreError> {
        range.check_rules()?;
        let (rows, more) = self.read_rows(range).await?;
        Ok((rows.into_iter().map(|row| row.key).collect(), more))
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        commit.check_rules()?;
        self.apply(commit).await
    }
}
