//! Several tasks at once.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use rat_things::engine::ports::{Guard, Key, Store, StoreError};

use super::{APPLIED, commit, put, row};

pub async fn one_of_two_writers_wins_each_version(store: Arc<dyn Store>) {
    let seed = commit(0, vec![put("a", Guard::Absent, "seed")]);
    assert_eq!(store.commit(seed).await, APPLIED);
    for version in 1..=1000u64 {
        let rival = |who: u64| {
            let store = Arc::clone(&store);
            let value = format!("{who}");
            let one = commit(
                u128::from(version * 2 + who),
                vec![put("a", Guard::Version(version), value)],
            );
            tokio::spawn(async move { store.commit(one).await })
        };
        let (left, right) = tokio::join!(rival(0), rival(1));
        let answers = [left.expect("no panic"), right.expect("no panic")];
        let won: Vec<_> = (0..2).filter(|who| answers[*who] == APPLIED).collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        let lost = &answers[1 - won[0]];
        assert_eq!(*lost, Err(StoreError::Conflict(Key::new("p", "a"))));
        let winner = won[0].to_string().into_bytes();
        assert_eq!(row(&*store, "a").await, Some((version + 1, winner)));
    }
}

/// Many tasks count up one row, each by reading, adding and trying again after a conflict.
pub async fn counters_lose_no_increment(store: Arc<dyn Store>) {
    const TASKS: u64 = 16;
    const EACH: u64 = 20;
    let seed = commit(0, vec![put("a", Guard::Absent, "0")]);
    assert_eq!(store.commit(seed).await, APPLIED);
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut n = 0;
                let mut done = 0;
                while done < EACH {
                    n += 1;
                    let (version, value) = row(&*store, "a").await.expect("the row");
                    let count: u64 = String::from_utf8(value)
                        .ok()
                        .and_then(|text| text.parse().ok())
                        .expect("a number");
                    let id = u128::from(task) << 64 | n;
                    let next = put("a", Guard::Version(version), (count + 1).to_string());
                    match store.commit(commit(id + 1, vec![next])).await {
                        Ok(committed) => {
                            assert!(!committed.repeated);
                            done += 1;
                        }
                        Err(StoreError::Conflict(_)) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    let total = (TASKS * EACH).to_string().into_bytes();
    assert_eq!(row(&*store, "a").await, Some((TASKS * EACH + 1, total)));
}

/// Two rows always change together: whoever reads both at once sees the same in both.
pub async fn readers_never_see_half_a_commit(store: Arc<dyn Store>) {
    let both = |n: u64| {
        // One narrow value and one wide one.
        let wide = n.to_string().repeat(500);
        commit(
            u128::from(n),
            vec![
                put("a", Guard::Any, n.to_string()),
                put("b", Guard::Any, wide),
            ],
        )
    };
    assert_eq!(store.commit(both(0)).await, APPLIED);
    let writer = tokio::spawn({
        let store = Arc::clone(&store);
        async move {
            for n in 1..=200 {
                assert_eq!(store.commit(both(n)).await, APPLIED);
            }
        }
    });
    let keys = ["a", "b"].map(|sort| Key::new("p", sort));
    while !writer.is_finished() {
        let found = store.get_many(&keys).await.expect("reads work");
        let [Some(a), Some(b)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(a.version, b.version);
        assert!(b.value == a.value.repeat(500));
        tokio::task::yield_now().await;
    }
    writer.await.expect("no panic");
}
