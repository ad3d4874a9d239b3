//! Reads: strongly consistent, repeated while what stands against them passes, with their content.

use std::collections::HashMap;
use std::future::Future;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::KeysAndAttributes;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::DynamoStore;
use super::pause::Pauses;
use crate::backend::aws::calls::{Purpose, for_purpose};
use crate::backend::aws::fault::Fault;
use crate::backend::aws::item::{self, Item, Row, Value};
use crate::engine::ports::{Key, Page, Range, Record, StoreError, StoreFault};

/// Items that one request reads.
const BATCH: usize = 100;

impl DynamoStore {
    pub(super) async fn read_one(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        let answer = self.patiently(Purpose::Read, || {
            let get = self.db.get_item().table_name(&self.table);
            get.set_key(Some(item::key(key)))
                .consistent_read(true)
                .send()
        });
        let Some(found) = answer.await?.item else {
            return Ok(None);
        };
        let records = self.whole(vec![read(found)?]).await?;
        Ok(records.into_iter().next())
    }

    pub(super) async fn read_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        let mut wanted: Vec<&Key> = keys.iter().collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut rows = Vec::new();
        for some in wanted.chunks(BATCH) {
            for found in self.batch(some).await? {
                rows.push(read(found)?);
            }
        }
        let records = self.whole(rows).await?.into_iter();
        let found: HashMap<Key, Record> = records.map(|r| (r.key.clone(), r)).collect();
        Ok(keys.iter().map(|key| found.get(key).cloned()).collect())
    }

    /// So many items that one request can ask for them. What DynamoDB leaves for another request is asked for again.
    pub(super) async fn batch(&self, keys: &[&Key]) -> Result<Vec<Item>, StoreError> {
        let mut left: Vec<Item> = keys.iter().map(|key| item::key(key)).collect();
        let mut found = Vec::new();
        let mut pauses = Pauses::new(self.patience);
        while !left.is_empty() {
            let asked = KeysAndAttributes::builder()
                .set_keys(Some(left.clone()))
                .consistent_read(true)
                .build()
                .map_err(|error| StoreError::Invalid(error.to_string()))?;
            let answer = self.patiently(Purpose::Read, || {
                let get = self.db.batch_get_item();
                get.request_items(&self.table, asked.clone()).send()
            });
            let answer = answer.await?;
            let items = answer.responses.unwrap_or_default().remove(&self.table);
            let before = found.len();
            found.extend(items.unwrap_or_default());
            let rest = answer.unprocessed_keys.unwrap_or_default();
            left = rest
                .get(&self.table)
                .map_or_else(Vec::new, |rest| rest.keys().to_vec());
            if !left.is_empty() && found.len() == before && !pauses.pause().await {
                return Err(StoreError::Throttled);
            }
        }
        Ok(found)
    }

    pub(super) async fn read_range(&self, range: &Range) -> Result<Page, StoreError> {
        let (rows, more) = self.read_rows(range).await?;
        let records = self.whole(rows).await?;
        Ok(Page { records, more })
    }

    /// Rows without values that are elsewhere, and whether there are more.
    pub(super) async fn read_rows(&self, range: &Range) -> Result<(Vec<Row>, bool), StoreError> {
        if range
            .until
            .as_ref()
            .is_some_and(|until| *until <= range.from)
        {
            return Ok((Vec::new(), false));
        }
        let purpose = match range.partition.starts_with("A/") {
            true => Purpose::Agenda,
            false => Purpose::Range,
        };
        let mut rows: Vec<Row> = Vec::new();
        let mut start: Option<Item> = None;
        loop {
            // One more than asked for tells whether there are more; another one may be the end, which a request can't leave out.
            let most = (range.limit + 2 - rows.len()).min(10_000);
            let answer = self.patiently(purpose, || self.query(range, &start, most).send());
            let answer = answer.await?;
            for found in answer.items.unwrap_or_default() {
                let row = read(found)?;
                if range.until.as_ref() != Some(&row.key.sort) {
                    rows.push(row);
                }
            }
            start = answer.last_evaluated_key;
            if start.is_none() || rows.len() > range.limit {
                break;
            }
        }
        let more = rows.len() > range.limit;
        rows.truncate(range.limit);
        Ok((rows, more))
    }

    fn query(
        &self,
        range: &Range,
        start: &Option<Item>,
        most: usize,
    ) -> aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder {
        let query = self
            .db
            .query()
            .table_name(&self.table)
            .consistent_read(true)
            .scan_index_forward(!range.reverse)
            .limit(i32::try_from(most).unwrap_or(i32::MAX))
            .set_exclusive_start_key(start.clone())
            .expression_attribute_values(":p", item::text(item::stored_partition(&range.partition)))
            .expression_attribute_values(":from", item::text(item::stored_sort(&range.from)));
        match &range.until {
            Some(until) => query
                .key_condition_expression("p = :p AND s BETWEEN :from AND :until")
                .expression_attribute_values(":until", item::text(item::stored_sort(until))),
            None => query.key_condition_expression("p = :p AND s >= :from"),
        }
    }

    /// Rows with their values.
    async fn whole(&self, rows: Vec<Row>) -> Result<Vec<Record>, StoreError> {
        let places: Vec<_> = rows
            .iter()
            .filter_map(|row| match &row.value {
                Value::There(place) => Some((row.key.partition.as_str(), place)),
                Value::Here(_) => None,
            })
            .collect();
        let values = self.content.get(&places).await;
        let mut values = values
            .map_err(|error| self.without_content(error))?
            .into_iter();
        let mut records = Vec::with_capacity(rows.len());
        for row in rows {
            let value = match row.value {
                Value::Here(value) => value,
                Value::There(_) => values.next().unwrap_or_default(),
            };
            records.push(Record {
                key: row.key,
                version: row.version,
                value,
            });
        }
        Ok(records)
    }

    /// A request that changes nothing, repeated until it is answered, or its time is over.
    async fn patiently<T, E, F>(
        &self,
        purpose: Purpose,
        request: impl Fn() -> F,
    ) -> Result<T, StoreError>
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        let mut pauses = Pauses::new(self.patience);
        loop {
            let fault = match for_purpose(purpose, request()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => Fault::of(&error),
            };
            let passes = matches!(
                fault,
                Fault::Throttled(_) | Fault::Uncertain(_) | Fault::Unreachable(_)
            );
            if !passes || !pauses.pause().await {
                return Err(self.refused(fault));
            }
        }
    }
}

fn read(found: Item) -> Result<Row, StoreError> {
    item::row(found).ok_or_else(|| StoreError::Broken {
        fault: StoreFault::Corrupt,
        message: "the table has an item that is none of this program".to_owned(),
    })
}
