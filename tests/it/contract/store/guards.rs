//! What a guard admits, and that a commit happens whole or not at all.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use rat_things::engine::ports::{Change, Guard, MAX_COMMIT_ROWS, Store, StoreError, Write};

use super::{APPLIED, commit, conflict, put, row, write};

pub async fn an_absent_row_is_put_once(store: Arc<dyn Store>) {
    let first = commit(1, vec![put("a", Guard::Absent, "one")]);
    let second = commit(2, vec![put("a", Guard::Absent, "two")]);
    assert_eq!(row(&*store, "a").await, None);
    assert_eq!(store.commit(first).await, APPLIED);
    assert_eq!(store.commit(second).await, conflict("a"));
    assert_eq!(row(&*store, "a").await, Some((1, b"one".to_vec())));
}

pub async fn a_version_guard_admits_only_that_version(store: Arc<dyn Store>) {
    let at = |n, version, value: &str| commit(n, vec![put("a", Guard::Version(version), value)]);
    assert_eq!(store.commit(at(1, 1, "x")).await, conflict("a"));
    assert_eq!(store.commit(at(2, 0, "x")).await, conflict("a"));
    let first = commit(3, vec![put("a", Guard::Absent, "one")]);
    assert_eq!(store.commit(first).await, APPLIED);
    assert_eq!(store.commit(at(4, 2, "x")).await, conflict("a"));
    assert_eq!(store.commit(at(5, 1, "two")).await, APPLIED);
    assert_eq!(store.commit(at(6, 1, "x")).await, conflict("a"));
    assert_eq!(row(&*store, "a").await, Some((2, b"two".to_vec())));
}

pub async fn any_admits_present_and_absent_rows(store: Arc<dyn Store>) {
    for n in 1..=3 {
        let next = commit(n, vec![put("a", Guard::Any, n.to_string())]);
        assert_eq!(store.commit(next).await, APPLIED);
    }
    assert_eq!(row(&*store, "a").await, Some((3, b"3".to_vec())));
}

pub async fn a_check_changes_nothing(store: Arc<dyn Store>) {
    let first = commit(1, vec![put("a", Guard::Absent, "one")]);
    assert_eq!(store.commit(first).await, APPLIED);
    for (n, sort, guard, answer) in [
        (2, "a", Guard::Version(1), APPLIED),
        (3, "a", Guard::Any, APPLIED),
        (4, "b", Guard::Any, APPLIED),
        (5, "b", Guard::Absent, APPLIED),
        (6, "a", Guard::Absent, conflict("a")),
        (7, "b", Guard::Version(1), conflict("b")),
    ] {
        let check = commit(n, vec![write(sort, guard, Change::Check)]);
        assert_eq!(store.commit(check).await, answer, "{sort} {guard:?}");
    }
    assert_eq!(row(&*store, "a").await, Some((1, b"one".to_vec())));
    assert_eq!(row(&*store, "b").await, None);
}

pub async fn a_deleted_row_is_absent_and_starts_again_at_one(store: Arc<dyn Store>) {
    for (n, value) in [(1, vec![1; 10]), (3, vec![1; 5000])] {
        let first = commit(n * 10, vec![put("a", Guard::Absent, value.clone())]);
        let second = commit(n * 10 + 1, vec![put("a", Guard::Version(1), value)]);
        assert_eq!(store.commit(first).await, APPLIED);
        assert_eq!(store.commit(second).await, APPLIED);
        let stale = vec![write("a", Guard::Version(1), Change::Delete)];
        assert_eq!(store.commit(commit(n * 10 + 2, stale)).await, conflict("a"));
        let delete = vec![write("a", Guard::Version(2), Change::Delete)];
        assert_eq!(store.commit(commit(n * 10 + 3, delete)).await, APPLIED);
        assert_eq!(row(&*store, "a").await, None);
    }
    let again = commit(99, vec![put("a", Guard::Absent, "again")]);
    assert_eq!(store.commit(again).await, APPLIED);
    assert_eq!(row(&*store, "a").await, Some((1, b"again".to_vec())));
}

pub async fn deleting_an_absent_row_is_no_error(store: Arc<dyn Store>) {
    for (n, guard, answer) in [
        (1, Guard::Any, APPLIED),
        (2, Guard::Absent, APPLIED),
        (3, Guard::Version(1), conflict("a")),
    ] {
        let delete = commit(n, vec![write("a", guard, Change::Delete)]);
        assert_eq!(store.commit(delete).await, answer, "{guard:?}");
    }
}

pub async fn a_failing_guard_in_any_position_stops_the_whole_commit(store: Arc<dyn Store>) {
    let rows = ["a", "b", "c", "d", "e"];
    let seed = rows.map(|sort| put(sort, Guard::Absent, "old")).to_vec();
    assert_eq!(store.commit(commit(1, seed)).await, APPLIED);
    for (bad, sort) in rows.into_iter().enumerate() {
        for (n, guard) in [Guard::Absent, Guard::Version(7)].into_iter().enumerate() {
            let mut writes: Vec<Write> = rows
                .map(|sort| put(sort, Guard::Version(1), "new"))
                .to_vec();
            writes[(bad + 1) % rows.len()].change = Change::Delete;
            writes[bad].guard = guard;
            writes.push(put("extra", Guard::Absent, "new"));
            let answer = store
                .commit(commit(100 + (bad * 2 + n) as u128, writes))
                .await;
            assert_eq!(answer, conflict(sort));
        }
    }
    for sort in rows {
        assert_eq!(row(&*store, sort).await, Some((1, b"old".to_vec())));
    }
    assert_eq!(row(&*store, "extra").await, None);
}

pub async fn the_first_failing_row_is_named(store: Arc<dyn Store>) {
    let writes = vec![
        put("a", Guard::Absent, "1"),
        put("b", Guard::Version(1), "1"),
        put("c", Guard::Version(1), "1"),
    ];
    assert_eq!(store.commit(commit(1, writes)).await, conflict("b"));
}

pub async fn a_row_named_twice_is_invalid(store: Arc<dyn Store>) {
    let writes = vec![
        put("a", Guard::Absent, "1"),
        put("b", Guard::Absent, "1"),
        put("a", Guard::Any, "2"),
    ];
    let answer = store.commit(commit(1, writes)).await;
    assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    assert_eq!(row(&*store, "a").await, None);
}

pub async fn too_many_rows_and_none_are_invalid(store: Arc<dyn Store>) {
    for count in [0, MAX_COMMIT_ROWS + 1] {
        let writes = rows(count);
        let answer = store.commit(commit(1, writes)).await;
        assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    }
    assert_eq!(row(&*store, "row/0").await, None);
}

pub async fn as_many_rows_as_allowed_are_committed(store: Arc<dyn Store>) {
    assert_eq!(
        store.commit(commit(1, rows(MAX_COMMIT_ROWS))).await,
        APPLIED
    );
    for n in 0..MAX_COMMIT_ROWS {
        let found = row(&*store, &format!("row/{n}")).await;
        assert_eq!(found, Some((1, n.to_string().into_bytes())));
    }
}

fn rows(count: usize) -> Vec<Write> {
    (0..count)
        .map(|n| put(&format!("row/{n}"), Guard::Absent, n.to_string()))
        .collect()
}
