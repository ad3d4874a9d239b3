//! Ordered reads of one partition.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pretty_assertions::assert_eq;
use rat_things::engine::ports::{Change, Guard, Page, Range, Store, StoreError};

use super::{APPLIED, commit, put, write};

fn all(limit: usize) -> Range {
    Range {
        partition: "p".to_owned(),
        from: String::new(),
        until: None,
        reverse: false,
        limit,
    }
}

async fn seed(store: &dyn Store, sorts: &[&str]) {
    for (n, sort) in sorts.iter().enumerate() {
        let one = commit(1000 + n as u128, vec![put(sort, Guard::Absent, *sort)]);
        assert_eq!(store.commit(one).await, APPLIED);
    }
}

async fn read(store: &dyn Store, range: &Range) -> (Vec<String>, bool) {
    let page: Page = store.range(range).await.expect("reads work");
    for record in &page.records {
        assert_eq!(record.key.partition, range.partition);
        assert_eq!(
            (record.version, record.key.sort.as_bytes()),
            (1, record.value.as_slice())
        );
    }
    let sorts = page.records.into_iter().map(|r| r.key.sort).collect();
    (sorts, page.more)
}

pub async fn rows_come_in_bytewise_order(store: Arc<dyn Store>) {
    let ordered = [
        "", "B", "Z", "a", "a/10", "a/9", "a\u{0}", "b", "é", "日", "😀",
    ];
    let mut bytewise = ordered.to_vec();
    bytewise.sort_unstable();
    let shuffled: Vec<&str> = ordered.iter().rev().copied().collect();
    seed(&*store, &shuffled).await;
    let (mut forward, more) = read(&*store, &all(100)).await;
    assert_eq!(
        (&forward, more),
        (&bytewise.iter().map(|s| (*s).to_owned()).collect(), false)
    );
    let (backward, more) = read(&*store, &all(100).reversed()).await;
    forward.reverse();
    assert_eq!((backward, more), (forward, false));
}

pub async fn bounds_are_from_inclusive_until_exclusive(store: Arc<dyn Store>) {
    seed(&*store, &["a", "b", "c", "d", "e"]).await;
    for (from, until, expected) in [
        ("b", Some("d"), "bc"),
        ("b", None, "bcde"),
        ("bb", Some("dd"), "cd"),
        ("", Some("c"), "ab"),
        ("c", Some("c"), ""),
        ("d", Some("b"), ""),
        ("f", None, ""),
    ] {
        let mut range = all(100);
        range.from = from.to_owned();
        range.until = until.map(str::to_owned);
        assert_eq!(read(&*store, &range).await.0.concat(), expected);
        let backward: String = expected.chars().rev().collect();
        assert_eq!(read(&*store, &range.reversed()).await.0.concat(), backward);
    }
}

pub async fn pages_join_without_gap_or_overlap(store: Arc<dyn Store>) {
    let sorts: Vec<String> = (0..23).map(|n| format!("row/{n:04}")).collect();
    seed(
        &*store,
        &sorts.iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .await;
    for limit in [1, 2, 7, 22, 23, 24] {
        let mut range = all(limit);
        let mut seen = Vec::new();
        loop {
            let (page, more) = read(&*store, &range).await;
            assert!(page.len() == limit || !more);
            seen.extend(page);
            if !more {
                break;
            }
            range.from = format!(
                "{}\u{0}",
                seen.last().expect("a page that goes on has rows")
            );
        }
        assert_eq!(seen, sorts, "forward, {limit} at a time");

        let mut range = all(limit).reversed();
        let mut seen = Vec::new();
        loop {
            let (page, more) = read(&*store, &range).await;
            seen.extend(page);
            if !more {
                break;
            }
            range.until = seen.last().cloned();
        }
        seen.reverse();
        assert_eq!(seen, sorts, "backward, {limit} at a time");
    }
}

pub async fn a_prefix_selects_its_rows(store: Arc<dyn Store>) {
    seed(
        &*store,
        &["item", "item/1", "item/2", "item0", "items/1", "turn/1"],
    )
    .await;
    let range = Range::prefix("p", "item/", 10);
    assert_eq!(read(&*store, &range).await.0, ["item/1", "item/2"]);
    assert_eq!(
        read(&*store, &range.reversed()).await.0,
        ["item/2", "item/1"]
    );
}

pub async fn partitions_are_apart(store: Arc<dyn Store>) {
    let partitions = ["p", "p/", "P", "q", ""];
    for (n, partition) in partitions.into_iter().enumerate() {
        let mut one = put("a", Guard::Absent, "a");
        one.key.partition = partition.to_owned();
        assert_eq!(store.commit(commit(n as u128, vec![one])).await, APPLIED);
    }
    for partition in partitions {
        let mut range = all(10);
        range.partition = partition.to_owned();
        assert_eq!(read(&*store, &range).await, (vec!["a".to_owned()], false));
    }
    let mut range = all(10);
    range.partition = "nobody".to_owned();
    assert_eq!(read(&*store, &range).await, (vec![], false));
}

pub async fn a_range_of_no_rows_is_invalid(store: Arc<dyn Store>) {
    let answer = store.range(&all(0)).await;
    assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
}

/// A writer appends and removes rows while a reader pages through them: rows that are there all the time are seen exactly once, in
/// order, and no page is out of order.
pub async fn pages_are_in_order_under_concurrent_writes(store: Arc<dyn Store>) {
    let lasting: Vec<String> = (0..60).map(|n| format!("row/{:04}", n * 10)).collect();
    seed(
        &*store,
        &lasting.iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .await;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        async move {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                let sort = format!("row/{:04}", (n * 7 % 60) * 10 + 5);
                let add = commit(
                    10_000 + 2 * n as u128,
                    vec![put(&sort, Guard::Absent, &*sort)],
                );
                assert_eq!(store.commit(add).await, APPLIED);
                let remove = vec![write(&sort, Guard::Version(1), Change::Delete)];
                assert_eq!(
                    store.commit(commit(10_001 + 2 * n as u128, remove)).await,
                    APPLIED
                );
                n += 1;
            }
        }
    });
    for round in 0..30 {
        let mut range = all(1 + round % 9);
        let mut seen: Vec<String> = Vec::new();
        loop {
            let (page, more) = read(&*store, &range).await;
            seen.extend(page);
            if !more {
                break;
            }
            range.from = format!(
                "{}\u{0}",
                seen.last().expect("a page that goes on has rows")
            );
        }
        assert!(seen.is_sorted_by(|a, b| a < b), "in order, each once");
        seen.retain(|sort| sort.ends_with('0'));
        assert_eq!(seen, lasting);
    }
    stop.store(true, Ordering::Relaxed);
    writer.await.expect("the writer saw what it expected");
}
