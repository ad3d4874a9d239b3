//! One commit as one transaction.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use aws_smithy_types::error::operation::BuildError;

use super::DynamoStore;
use super::pause::Pauses;
use crate::backend::aws::calls::{Purpose, for_purpose};
use crate::backend::aws::content;
use crate::backend::aws::fault::Fault;
use crate::backend::aws::item::{self, Value};
use crate::backend::local::ids::SystemIds;
use crate::engine::ids::sha256_hex;
use crate::engine::ports::{Change, Commit, CommitId, Committed, Guard, Key, StoreError, Write};

/// Attempts whose answers were lost before the caller is told that the outcome is unknown. Repeating is the caller's business, too.
const LOST: u32 = 3;

/// A failed guard tells the row that was in the way.
const OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

/// What a cancelled transaction means.
#[derive(Debug, PartialEq, Eq)]
enum Cancelled {
    /// Rows carry this commit already.
    Repeated,
    /// This write's guard did not hold.
    Conflict(usize),
    /// Another transaction is at work on a row, or too much is asked of it: that passes.
    Passing(&'static str),
    /// DynamoDB will never take it.
    Refused(String),
}

impl DynamoStore {
    pub(super) async fn apply(&self, commit: Commit) -> Result<Committed, StoreError> {
        // Without a row that could carry its id, a commit that is asked for again is judged again, as by every store.
        let marks = commit.writes.iter().any(is_put);
        if marks && self.knows(commit.id) {
            return self.repeated(&commit).await;
        }
        let token = match marks {
            true => token(&self.table, commit.id),
            false => data_encoding::HEXLOWER.encode(&CommitId::random(&SystemIds).0),
        };
        let mut pauses = Pauses::new(self.patience);
        let values = loop {
            match self.place(&commit.writes).await {
                Ok(values) => break values,
                Err(error) => {
                    let passes =
                        matches!(error, StoreError::Throttled | StoreError::Unavailable(_));
                    if !passes || !pauses.pause().await {
                        return Err(error);
                    }
                }
            }
        };
        let (items, rows) = transaction(&self.table, &commit, &values)
            .map_err(|error| StoreError::Invalid(error.to_string()))?;
        if items.is_empty() {
            return Ok(Committed { repeated: false });
        }
        let mut lost = 0;
        loop {
            let transaction = self
                .db
                .transact_write_items()
                .set_transact_items(Some(items.clone()))
                .client_request_token(&token);
            let Err(error) = for_purpose(Purpose::Commit, transaction.send()).await else {
                self.know(commit.id);
                return Ok(Committed { repeated: false });
            };
            let stopped = match cancelled(&error, commit.id) {
                Some(Cancelled::Repeated) => return Ok(Committed { repeated: true }),
                // The token would have answered for an earlier attempt, so none had its effect.
                Some(Cancelled::Conflict(at)) => {
                    return Err(StoreError::Conflict(commit.writes[rows[at]].key.clone()));
                }
                Some(Cancelled::Refused(why)) => return Err(StoreError::Invalid(why)),
                Some(Cancelled::Passing("throttled")) => StoreError::Throttled,
                Some(Cancelled::Passing(why)) => StoreError::Unavailable(why.to_owned()),
                None => match Fault::of(&error) {
                    // An earlier attempt is still at work.
                    fault if fault.is("TransactionInProgressException") => {
                        StoreError::Unknown(fault.to_string())
                    }
                    fault @ Fault::Uncertain(_) => {
                        lost += 1;
                        StoreError::Unknown(fault.to_string())
                    }
                    fault @ (Fault::Throttled(_) | Fault::Unreachable(_)) => self.refused(fault),
                    fault if lost > 0 => return Err(StoreError::Unknown(fault.to_string())),
                    fault => return Err(self.refused(fault)),
                },
            };
            if lost >= LOST || !pauses.pause().await {
                return Err(match lost {
                    0 => stopped,
                    _ => StoreError::Unknown(stopped.to_string()),
                });
            }
        }
    }

    /// What a commit answers that was applied before: whether a row still carries it.
    async fn repeated(&self, commit: &Commit) -> Result<Committed, StoreError> {
        let puts = commit.writes.iter().filter(|write| is_put(write));
        let keys: Vec<&Key> = puts.map(|write| &write.key).collect();
        let found = self.batch(&keys).await?;
        match keys.first() {
            Some(first) if !found.iter().any(|row| item::is_of(row, commit.id)) => {
                Err(StoreError::Conflict((*first).clone()))
            }
            Some(_) | None => Ok(Committed { repeated: true }),
        }
    }

    /// Stores what is content, one object a partition, and says where each value of the commit is.
    async fn place(&self, writes: &[Write]) -> Result<Vec<Option<Value>>, StoreError> {
        let mut values: Vec<Option<Value>> = Vec::with_capacity(writes.len());
        let mut there: BTreeMap<&str, Vec<(usize, &Vec<u8>)>> = BTreeMap::new();
        for (at, write) in writes.iter().enumerate() {
            values.push(None);
            let Change::Put(value) = &write.change else {
                continue;
            };
            if content::is_content(&write.key, value.len()) {
                let partition = there.entry(&write.key.partition).or_default();
                partition.push((at, value));
            } else {
                values[at] = Some(Value::Here(value.clone()));
            }
        }
        for (partition, rows) in there {
            let bytes: Vec<&Vec<u8>> = rows.iter().map(|(_, value)| *value).collect();
            let places = self.content.put(partition, &bytes).await;
            let places = places.map_err(|error| self.without_content(error))?;
            for ((at, _), place) in rows.into_iter().zip(places) {
                values[at] = Some(Value::There(place));
            }
        }
        Ok(values)
    }

    fn knows(&self, id: CommitId) -> bool {
        let applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        applied.contains(id)
    }

    fn know(&self, id: CommitId) {
        let mut applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        applied.add(id);
    }
}

/// The commit's name among all transactions of an account, in which the table counts: two deployments never meet.
fn token(table: &str, id: CommitId) -> String {
    let id = data_encoding::HEXLOWER.encode(&id.0);
    sha256_hex(format!("rat-things/commit/1\0{table}\0{id}").as_bytes())[..32].to_owned()
}

fn is_put(write: &Write) -> bool {
    matches!(write.change, Change::Put(_))
}

/// The items of a commit, and which write each is of: a check of nothing has none.
fn transaction(
    table: &str,
    commit: &Commit,
    values: &[Option<Value>],
) -> Result<(Vec<TransactWriteItem>, Vec<usize>), BuildError> {
    let (mut items, mut rows) = (Vec::new(), Vec::new());
    for (at, (write, value)) in commit.writes.iter().zip(values).enumerate() {
        let item = match (&write.change, value, write.guard) {
            (Change::Check, _, Guard::Any) => continue,
            (Change::Check, ..) => TransactWriteItem::builder()
                .condition_check(check(table, write)?)
                .build(),
            (Change::Delete, ..) => TransactWriteItem::builder()
                .delete(delete(table, write)?)
                .build(),
            (Change::Put(_), Some(value), Guard::Any) => TransactWriteItem::builder()
                .update(update(table, write, value, commit.id)?)
                .build(),
            (Change::Put(_), Some(value), Guard::Absent | Guard::Version(_)) => {
                TransactWriteItem::builder()
                    .put(put(table, write, value, commit.id)?)
                    .build()
            }
            // Every put was placed.
            (Change::Put(_), None, _) => continue,
        };
        items.push(item);
        rows.push(at);
    }
    Ok((items, rows))
}

/// What must hold of the row, and the version it speaks of.
fn condition(guard: Guard) -> (&'static str, Option<u64>) {
    match guard {
        Guard::Absent => ("attribute_not_exists(p)", None),
        Guard::Version(version) => ("v = :was", Some(version)),
        Guard::Any => ("", None),
    }
}

fn check(table: &str, write: &Write) -> Result<ConditionCheck, BuildError> {
    let (holds, version) = condition(write.guard);
    let mut check = ConditionCheck::builder()
        .table_name(table)
        .set_key(Some(item::key(&write.key)))
        .condition_expression(holds)
        .return_values_on_condition_check_failure(OLD);
    if let Some(version) = version {
        check = check.expression_attribute_values(":was", item::number(version));
    }
    check.build()
}

fn delete(table: &str, write: &Write) -> Result<Delete, BuildError> {
    let (holds, version) = condition(write.guard);
    let mut delete = Delete::builder()
        .table_name(table)
        .set_key(Some(item::key(&write.key)))
        .return_values_on_condition_check_failure(OLD);
    if !holds.is_empty() {
        delete = delete.condition_expression(holds);
    }
    if let Some(version) = version {
        delete = delete.expression_attribute_values(":was", item::number(version));
    }
    delete.build()
}

/// A row whose next version the guard tells.
fn put(table: &str, write: &Write, value: &Value, id: CommitId) -> Result<Put, BuildError> {
    let (holds, version) = condition(write.guard);
    let mut row = item::key(&write.key);
    row.insert("v".to_owned(), item::number(version.unwrap_or(0) + 1));
    row.insert("c".to_owned(), item::bytes(id.0));
    let named = item::attributes(value).into_iter();
    row.extend(named.map(|(name, value)| (name.to_owned(), value)));
    let mut put = Put::builder()
        .table_name(table)
        .set_item(Some(row))
        .condition_expression(holds)
        .return_values_on_condition_check_failure(OLD);
    if let Some(version) = version {
        put = put.expression_attribute_values(":was", item::number(version));
    }
    put.build()
}

/// A row whose next version only the table knows. A repeat is stopped by the id in it.
fn update(table: &str, write: &Write, value: &Value, id: CommitId) -> Result<Update, BuildError> {
    let (set, rest) = match value {
        Value::Here(_) => ("b = :b", "o, f, n"),
        Value::There(_) => ("o = :o, f = :f, n = :n", "b"),
    };
    let mut update = Update::builder()
        .table_name(table)
        .set_key(Some(item::key(&write.key)))
        .condition_expression("attribute_not_exists(c) OR c <> :c")
        .update_expression(format!(
            "SET v = if_not_exists(v, :zero) + :one, c = :c, {set} REMOVE {rest}"
        ))
        .expression_attribute_values(":zero", item::number(0))
        .expression_attribute_values(":one", item::number(1))
        .expression_attribute_values(":c", item::bytes(id.0))
        .return_values_on_condition_check_failure(OLD);
    for (name, value) in item::attributes(value) {
        update = update.expression_attribute_values(format!(":{name}"), value);
    }
    update.build()
}

/// What a cancelled transaction means; nothing, if it is another error.
fn cancelled<R>(error: &SdkError<TransactWriteItemsError, R>, id: CommitId) -> Option<Cancelled> {
    match error.as_service_error()? {
        TransactWriteItemsError::TransactionCanceledException(why) => {
            Some(reasons(why.cancellation_reasons(), id))
        }
        _ => None,
    }
}

/// What the reasons of a cancelled transaction mean together; each stands for an item, in order. A row that carries the commit outweighs
/// everything, and a guard that did not hold outweighs what passes: repeating would find the same.
fn reasons(reasons: &[CancellationReason], id: CommitId) -> Cancelled {
    let ours = |reason: &CancellationReason| reason.item().is_some_and(|row| item::is_of(row, id));
    if reasons.iter().any(ours) {
        return Cancelled::Repeated;
    }
    let with = |code: &str| {
        reasons
            .iter()
            .position(|reason| reason.code() == Some(code))
    };
    if let Some(at) = with("ConditionalCheckFailed") {
        return Cancelled::Conflict(at);
    }
    let refused = |reason: &&CancellationReason| {
        !matches!(
            reason.code(),
            None | Some(
                "None"
                    | "TransactionConflict"
                    | "ThrottlingError"
                    | "ProvisionedThroughputExceeded"
            )
        )
    };
    if let Some(reason) = reasons.iter().find(refused) {
        return Cancelled::Refused(format!(
            "{}: {}",
            reason.code().unwrap_or_default(),
            reason.message().unwrap_or_default()
        ));
    }
    match with("TransactionConflict") {
        Some(_) => Cancelled::Passing("other transactions keep changing the same records"),
        None => Cancelled::Passing("throttled"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: CommitId = CommitId([3; 16]);

    fn reason(code: &str) -> CancellationReason {
        CancellationReason::builder().code(code).build()
    }

    fn told(codes: &[&str]) -> Cancelled {
        let all: Vec<_> = codes.iter().map(|code| reason(code)).collect();
        reasons(&all, ID)
    }

    #[test]
    fn every_reason_and_mixture_of_a_cancelled_transaction_has_one_meaning() {
        assert_eq!(
            told(&["None", "ConditionalCheckFailed"]),
            Cancelled::Conflict(1)
        );
        assert_eq!(
            told(&[
                "TransactionConflict",
                "ConditionalCheckFailed",
                "ThrottlingError"
            ]),
            Cancelled::Conflict(1)
        );
        assert!(
            matches!(told(&["None", "TransactionConflict"]), Cancelled::Passing(why) if why != "throttled")
        );
        for code in ["ThrottlingError", "ProvisionedThroughputExceeded"] {
            assert_eq!(told(&["None", code]), Cancelled::Passing("throttled"));
        }
        for code in [
            "ValidationError",
            "ItemCollectionSizeLimitExceeded",
            "DuplicateItem",
            "New",
        ] {
            let meaning = told(&["TransactionConflict", code]);
            assert!(matches!(meaning, Cancelled::Refused(_)), "{code}");
        }
        // Nothing that is known stands against it.
        assert_eq!(told(&[]), Cancelled::Passing("throttled"));
    }

    #[test]
    fn a_row_that_carries_the_commit_outweighs_every_other_reason() {
        let row = std::collections::HashMap::from([("c".to_owned(), item::bytes(ID.0))]);
        let ours = CancellationReason::builder()
            .code("ConditionalCheckFailed")
            .set_item(Some(row))
            .build();
        let all = [
            reason("ValidationError"),
            reason("ConditionalCheckFailed"),
            ours,
        ];
        assert_eq!(reasons(&all, ID), Cancelled::Repeated);
        assert_eq!(reasons(&all, CommitId([4; 16])), Cancelled::Conflict(1));
    }

    #[test]
    fn a_check_of_nothing_is_left_out_and_the_others_keep_their_rows() {
        let write = |sort: &str, guard, change| Write {
            key: Key::new("p", sort),
            guard,
            change,
        };
        let commit = Commit {
            id: ID,
            writes: vec![
                write("a", Guard::Any, Change::Check),
                write("b", Guard::Absent, Change::Check),
                write("c", Guard::Any, Change::Delete),
                write("d", Guard::Version(3), Change::Put(vec![1])),
            ]
            .into(),
        };
        let values = [None, None, None, Some(Value::Here(vec![1]))];
        let (items, rows) = transaction("t", &commit, &values).expect("a transaction");
        assert_eq!((items.len(), rows), (3, vec![1, 2, 3]));
        let put = items[2].put().expect("a put");
        assert_eq!(put.item().get("v"), Some(&item::number(4)));
        assert_eq!(put.condition_expression(), Some("v = :was"));
    }
}
