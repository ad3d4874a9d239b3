//! What is in an account: the partitions of the table, the blobs of the bucket, and objects with content that no row names any more.
//!
//! The surprise: DynamoDB lists partitions in no order, so that the table is read once as a whole, keys only, when the first of them are asked
//! for. What comes into being later is not listed.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use tokio::sync::Mutex;

use super::blobs::S3Blobs;
use super::calls::{Purpose, for_purpose};
use super::client::AwsClients;
use super::content;
use super::fault::Fault;
use super::item::{self, Item};
use super::store::pause::Pauses;
use super::store::{PATIENCE, Places};
use crate::engine::fsck::{Inventory, Leftover, StoredBlob};
use crate::engine::ports::{BlobError, BlobScope, Blobs, StoreError, StoreFault};

/// The Inventory of the AWS world.
pub struct AwsInventory {
    db: aws_sdk_dynamodb::Client,
    s3: aws_sdk_s3::Client,
    blobs: S3Blobs,
    places: Places,
    partitions: Mutex<BTreeSet<String>>,
}

impl AwsInventory {
    /// Of this table and this bucket. Sends nothing.
    pub fn new(clients: &AwsClients, places: &Places) -> AwsInventory {
        AwsInventory {
            db: clients.dynamodb(),
            s3: clients.s3(),
            blobs: S3Blobs::new(clients, places),
            places: places.clone(),
            partitions: Mutex::default(),
        }
    }

    /// Partitions of every row there is.
    async fn all_partitions(&self) -> Result<BTreeSet<String>, Fault> {
        let page = |start| {
            let scan = { self.db.scan().table_name(&self.places.table) }
                .consistent_read(true)
                .projection_expression("p")
                .set_exclusive_start_key(start);
            async move {
                let page = scan.send().await.map_err(|error| Fault::of(&error))?;
                Ok((page.items, page.last_evaluated_key))
            }
        };
        all_pages(page, item::partition).await
    }

    /// Objects with content that rows of the partition name.
    async fn named(&self, partition: &str) -> Result<BTreeSet<String>, Fault> {
        let page = |start| {
            let query = { self.db.query().table_name(&self.places.table) }
                .consistent_read(true)
                .key_condition_expression("p = :p")
                .projection_expression("o")
                .expression_attribute_values(":p", item::text(item::stored_partition(partition)))
                .set_exclusive_start_key(start);
            async move {
                let page = query.send().await.map_err(|error| Fault::of(&error))?;
                Ok((page.items, page.last_evaluated_key))
            }
        };
        all_pages(page, item::object).await
    }

    /// Objects behind a name, in order.
    async fn objects(&self, prefix: &str, after: &str) -> Result<Vec<Object>, Fault> {
        let answer = self
            .s3
            .list_objects_v2()
            .bucket(&self.places.bucket)
            .prefix(prefix)
            .set_start_after((!after.is_empty()).then(|| after.to_owned()))
            .send()
            .await;
        let page = answer.map_err(|error| Fault::of(&error))?;
        let objects = page.contents().iter().filter_map(|object| {
            let stored_ms = object.last_modified()?.to_millis().ok()?;
            Some(Object {
                key: object.key()?.to_owned(),
                size_bytes: u64::try_from(object.size()?).ok()?,
                stored_ms: u64::try_from(stored_ms).ok()?,
            })
        });
        Ok(objects.collect())
    }

    /// Names of what is directly below a name that ends with a slash.
    async fn below(&self, prefix: &str) -> Result<Vec<String>, Fault> {
        let mut pages = {
            self.s3
                .list_objects_v2()
                .bucket(&self.places.bucket)
                .prefix(prefix)
                .delimiter("/")
        }
        .into_paginator()
        .send();
        let mut found = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| Fault::of(&error))?;
            let names = page.common_prefixes().iter().filter_map(|one| one.prefix());
            let names = names.filter_map(|name| name.strip_prefix(prefix)?.strip_suffix('/'));
            found.extend(names.map(str::to_owned));
        }
        Ok(found)
    }

    async fn some_leftovers(
        &self,
        after: &str,
        before_ms: u64,
    ) -> Result<Option<(Vec<Leftover>, String)>, Fault> {
        let objects = self.objects(content::ALL, after).await?;
        let Some(last) = objects.last().map(|object| object.key.clone()) else {
            return Ok(None);
        };
        let mut by_partition: BTreeMap<String, Vec<Object>> = BTreeMap::new();
        for object in objects {
            let old = object.stored_ms < before_ms;
            if let (true, Some((partition, _))) = (old, content::parse(&object.key)) {
                by_partition.entry(partition).or_default().push(object);
            }
        }
        let mut left = Vec::new();
        for (partition, objects) in by_partition {
            let named = self.named(&partition).await?;
            left.extend(objects.into_iter().filter_map(|object| {
                let (_, digest) = content::parse(&object.key)?;
                (!named.contains(&digest)).then(|| Leftover {
                    partition: partition.clone(),
                    name: object.key,
                    size_bytes: object.size_bytes,
                })
            }));
        }
        Ok(Some((left, last)))
    }
}

/// An object as it is listed.
struct Object {
    key: String,
    size_bytes: u64,
    stored_ms: u64,
}

/// What the rows of all pages hold. `page` asks for the one behind a row; what passes is waited for anew for each.
async fn all_pages<P>(
    page: impl Fn(Option<Item>) -> P,
    held: impl Fn(&mut Item) -> Option<String>,
) -> Result<BTreeSet<String>, Fault>
where
    P: Future<Output = Result<(Option<Vec<Item>>, Option<Item>), Fault>>,
{
    let (mut found, mut start) = (BTreeSet::new(), None);
    let mut pauses = Pauses::new(PATIENCE);
    loop {
        let (rows, last) = match page(start.clone()).await {
            Ok(page) => page,
            Err(fault) if passes(&fault) && pauses.pause().await => continue,
            Err(fault) => return Err(fault),
        };
        pauses = Pauses::new(PATIENCE);
        let rows = rows.unwrap_or_default().into_iter();
        found.extend(rows.filter_map(|mut row| held(&mut row)));
        start = last;
        if start.is_none() {
            return Ok(found);
        }
    }
}

fn passes(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Throttled(_) | Fault::Uncertain(_) | Fault::Unreachable(_)
    )
}

/// What a read that was not answered means.
fn unread(fault: Fault) -> StoreError {
    let broken = |kind, message| StoreError::Broken {
        fault: kind,
        message,
    };
    if let Some(what) = fault.not_set_up() {
        return broken(StoreFault::NotSetUp, what);
    }
    let message = fault.to_string();
    match fault {
        Fault::Throttled(_) => StoreError::Throttled,
        Fault::Unreachable(_) | Fault::Uncertain(_) => StoreError::Unavailable(message),
        Fault::Credentials(_) => broken(StoreFault::Credentials, message),
        Fault::Denied(_) => broken(StoreFault::Denied, message),
        Fault::Refused { .. } => StoreError::Invalid(message),
    }
}

#[async_trait]
impl Inventory for AwsInventory {
    async fn partitions(&self, after: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        use std::ops::Bound::{Excluded, Unbounded};
        let mut known = self.partitions.lock().await;
        if after.is_empty() {
            let all = for_purpose(Purpose::Care, self.all_partitions()).await;
            *known = all.map_err(unread)?;
        }
        let behind = known.range::<str, _>((Excluded(after), Unbounded));
        Ok(behind.take(limit).cloned().collect())
    }

    async fn scopes(&self) -> Result<Vec<BlobScope>, BlobError> {
        for_purpose(Purpose::Care, async {
            let mut scopes = Vec::new();
            for owner in self.below("blobs/").await.map_err(super::blobs::sort)? {
                let sessions = self.below(&format!("blobs/{owner}/")).await;
                let sessions = sessions.map_err(super::blobs::sort)?.into_iter();
                scopes.extend(sessions.map(|session| BlobScope {
                    owner: owner.clone(),
                    session,
                }));
            }
            Ok(scopes)
        })
        .await
    }

    async fn blobs(&self, scope: &BlobScope) -> Result<Vec<StoredBlob>, BlobError> {
        let prefix = super::blobs::prefix(scope)?;
        for_purpose(Purpose::Care, async {
            let (mut found, mut after) = (Vec::new(), String::new());
            loop {
                let page = self.objects(&prefix, &after).await;
                let page = page.map_err(super::blobs::sort)?;
                let Some(last) = page.last() else {
                    return Ok(found);
                };
                after = last.key.clone();
                found.extend(page.into_iter().filter_map(|object| {
                    Some(StoredBlob {
                        sha256: object.key.strip_prefix(&prefix)?.to_owned(),
                        size_bytes: object.size_bytes,
                        written_ms: object.stored_ms,
                    })
                }));
            }
        })
        .await
    }

    async fn remove_blob(
        &self,
        scope: &BlobScope,
        sha256: &str,
        before_ms: u64,
    ) -> Result<bool, BlobError> {
        self.blobs.remove(scope, sha256, before_ms).await
    }

    async fn leftovers(
        &self,
        after: &str,
        before_ms: u64,
    ) -> Result<Option<(Vec<Leftover>, String)>, StoreError> {
        let some = for_purpose(Purpose::Care, self.some_leftovers(after, before_ms)).await;
        some.map_err(unread)
    }

    async fn remove_leftover(
        &self,
        leftover: &Leftover,
        before_ms: u64,
    ) -> Result<bool, BlobError> {
        let removed = self.blobs.remove_old(&leftover.name, before_ms);
        for_purpose(Purpose::Care, removed).await
    }
}
