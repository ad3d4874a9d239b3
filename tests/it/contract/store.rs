//! The Store port's promises, each a function over any store, run against every implementation.
//!
//! A store that joins later adds one line at the end. Tests share nothing: each gets a fresh store, or at least a partition that no
//! other test names.

use std::any::Any;
use std::sync::Arc;

use rat_things::backend::aws::store::DynamoStore;
use rat_things::backend::local::store::{SqliteStore, StoreOptions};
use rat_things::backend::memory::MemoryStore;
use rat_things::engine::ports::{
    Change, Commit, CommitId, Committed, Guard, Key, Store, StoreError, Write,
};

use crate::aws::place;

mod guards;
mod model;
mod races;
mod ranges;
mod repeats;
mod values;

/// A store to test, and what must live as long as it.
struct Fixture {
    store: Arc<dyn Store>,
    _keep: Box<dyn Any>,
}

fn memory() -> Fixture {
    Fixture {
        store: Arc::new(MemoryStore::new()),
        _keep: Box::new(()),
    }
}

fn sqlite() -> Fixture {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = SqliteStore::open(&dir.path().join("store.db"), StoreOptions::default())
        .expect("a new database opens");
    Fixture {
        store: Arc::new(store),
        _keep: Box::new(dir),
    }
}

fn dynamo() -> Fixture {
    let place = place();
    Fixture {
        store: Arc::new(DynamoStore::new(&place.clients, &place.places)),
        _keep: Box::new(place),
    }
}

/// A commit id made of a number.
fn id(n: u128) -> CommitId {
    CommitId(n.to_be_bytes())
}

/// One write to partition `p`.
fn write(sort: &str, guard: Guard, change: Change) -> Write {
    Write {
        key: Key::new("p", sort),
        guard,
        change,
    }
}

fn put(sort: &str, guard: Guard, value: impl Into<Vec<u8>>) -> Write {
    write(sort, guard, Change::Put(value.into()))
}

fn commit(n: u128, writes: Vec<Write>) -> Commit {
    Commit {
        id: id(n),
        writes: writes.into(),
    }
}

/// What a commit answers that was applied now.
const APPLIED: Result<Committed, StoreError> = Ok(Committed { repeated: false });
/// What a commit answers that had been applied before.
const REPEATED: Result<Committed, StoreError> = Ok(Committed { repeated: true });

fn conflict(sort: &str) -> Result<Committed, StoreError> {
    Err(StoreError::Conflict(Key::new("p", sort)))
}

/// Version and value of a row of partition `p`.
async fn row(store: &dyn Store, sort: &str) -> Option<(u64, Vec<u8>)> {
    let record = store.get(&Key::new("p", sort)).await.expect("reads work")?;
    assert_eq!(record.key, Key::new("p", sort));
    Some((record.version, record.value))
}

/// Every test of the suite, for one implementation.
macro_rules! suite {
    ($fresh:ident: $($module:ident::$test:ident,)*) => {
        mod $fresh {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$module::$test(super::$fresh().store).await;
                }
            )*
        }
    };
}

macro_rules! every_store {
    ($($fresh:ident)*) => {
        $(suite! { $fresh:
            guards::an_absent_row_is_put_once,
            guards::a_version_guard_admits_only_that_version,
            guards::any_admits_present_and_absent_rows,
            guards::a_check_changes_nothing,
            guards::a_deleted_row_is_absent_and_starts_again_at_one,
            guards::deleting_an_absent_row_is_no_error,
            guards::a_failing_guard_in_any_position_stops_the_whole_commit,
            guards::the_first_failing_row_is_named,
            guards::a_row_named_twice_is_invalid,
            guards::too_many_rows_and_none_are_invalid,
            guards::as_many_rows_as_allowed_are_committed,
            values::every_size_comes_back_as_it_was,
            values::a_value_may_grow_and_shrink,
            values::keys_of_any_text_work,
            values::many_rows_come_in_the_order_asked_for,
            ranges::rows_come_in_bytewise_order,
            ranges::bounds_are_from_inclusive_until_exclusive,
            ranges::pages_join_without_gap_or_overlap,
            ranges::a_prefix_selects_its_rows,
            ranges::partitions_are_apart,
            ranges::a_range_of_no_rows_is_invalid,
            ranges::pages_are_in_order_under_concurrent_writes,
            repeats::a_repeat_is_a_no_op,
            repeats::a_repeat_is_known_after_the_head_moved_on,
            repeats::a_repeat_of_unguarded_puts_is_a_no_op,
            repeats::another_commit_with_the_same_writes_is_no_repeat,
            repeats::a_commit_without_any_row_left_is_a_conflict,
            repeats::an_unknown_answer_followed_by_a_repeat_applies_once,
            races::one_of_two_writers_wins_each_version,
            races::counters_lose_no_increment,
            races::readers_never_see_half_a_commit,
            model::any_history_matches_the_model,
        })*
    };
}

every_store! { memory sqlite dynamo }
