//! A commit that is repeated under its id.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use rat_things::engine::ports::{
    Change, Commit, Committed, Guard, Key, Page, Range, Record, Store, StoreError,
};

use super::{APPLIED, REPEATED, commit, conflict, put, row, write};

/// An accept: a receipt that is written once and a head that moves.
fn accept(n: u128, head: Guard) -> Commit {
    let receipt = format!("receipt/{n}");
    let writes = vec![
        put("head", head, format!("head {n}")),
        put(&receipt, Guard::Absent, format!("receipt {n}")),
        write("checked", Guard::Absent, Change::Check),
    ];
    commit(n, writes)
}

pub async fn a_repeat_is_a_no_op(store: Arc<dyn Store>) {
    assert_eq!(store.commit(accept(1, Guard::Absent)).await, APPLIED);
    for _ in 0..3 {
        assert_eq!(store.commit(accept(1, Guard::Absent)).await, REPEATED);
    }
    assert_eq!(row(&*store, "head").await, Some((1, b"head 1".to_vec())));
    assert_eq!(
        row(&*store, "receipt/1").await,
        Some((1, b"receipt 1".to_vec()))
    );
}

pub async fn a_repeat_is_known_after_the_head_moved_on(store: Arc<dyn Store>) {
    assert_eq!(store.commit(accept(1, Guard::Absent)).await, APPLIED);
    assert_eq!(store.commit(accept(2, Guard::Version(1))).await, APPLIED);
    assert_eq!(store.commit(accept(3, Guard::Version(2))).await, APPLIED);
    assert_eq!(store.commit(accept(1, Guard::Absent)).await, REPEATED);
    assert_eq!(store.commit(accept(2, Guard::Version(1))).await, REPEATED);
    assert_eq!(row(&*store, "head").await, Some((3, b"head 3".to_vec())));
}

pub async fn a_repeat_of_unguarded_puts_is_a_no_op(store: Arc<dyn Store>) {
    let unguarded = commit(1, vec![put("a", Guard::Any, "x")]);
    assert_eq!(store.commit(unguarded.clone()).await, APPLIED);
    assert_eq!(store.commit(unguarded).await, REPEATED);
    assert_eq!(row(&*store, "a").await, Some((1, b"x".to_vec())));
}

pub async fn another_commit_with_the_same_writes_is_no_repeat(store: Arc<dyn Store>) {
    let mut again = accept(1, Guard::Absent);
    assert_eq!(store.commit(again.clone()).await, APPLIED);
    again.id = super::id(2);
    assert_eq!(store.commit(again).await, conflict("head"));
}

pub async fn a_commit_without_any_row_left_is_a_conflict(store: Arc<dyn Store>) {
    let first = commit(1, vec![put("a", Guard::Absent, "1")]);
    assert_eq!(store.commit(first.clone()).await, APPLIED);
    let over = commit(2, vec![put("a", Guard::Version(1), "2")]);
    assert_eq!(store.commit(over).await, APPLIED);
    assert_eq!(store.commit(first).await, conflict("a"));
}

/// A store whose every other answer to a commit is lost on the way, after the commit was applied.
struct LosesAnswers {
    inner: Arc<dyn Store>,
    calls: AtomicU64,
}

#[async_trait]
impl Store for LosesAnswers {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.inner.get(key).await
    }
    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.inner.get_many(keys).await
    }
    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        self.inner.range(range).await
    }
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let answer = self.inner.commit(commit).await;
        if self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            return Err(StoreError::Unknown("lost".to_owned()));
        }
        answer
    }
}

pub async fn an_unknown_answer_followed_by_a_repeat_applies_once(store: Arc<dyn Store>) {
    let losing = LosesAnswers {
        inner: Arc::clone(&store),
        calls: AtomicU64::new(0),
    };
    for n in 0..20 {
        let head = if n == 0 {
            Guard::Absent
        } else {
            Guard::Version(n)
        };
        let one = accept(u128::from(n), head);
        let lost = losing.commit(one.clone()).await;
        assert!(matches!(lost, Err(StoreError::Unknown(_))), "{lost:?}");
        assert_eq!(losing.commit(one).await, REPEATED);
    }
    assert_eq!(row(&*store, "head").await, Some((20, b"head 19".to_vec())));
}
