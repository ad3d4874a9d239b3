//! Any history of commits and reads, compared with the simplest possible store.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use rat_things::engine::ports::{
    Change, Commit, CommitId, Committed, Guard, Key, Range, Store, StoreError, Write,
};

/// What a row is in the model: version, value, and the commit that put it.
type Model = BTreeMap<(String, String), (u64, Vec<u8>, CommitId)>;

#[derive(Clone, Debug)]
enum Step {
    /// A commit under a fresh id.
    Commit(Vec<Write>),
    /// An earlier commit again, counted from the last.
    Repeat(usize),
    Get(Key),
    Range(Range),
}

const PARTITIONS: [&str; 2] = ["S/1", "S/2"];
const SORTS: [&str; 6] = ["head", "input/1", "input/2", "item/1", "é", ""];

fn key() -> impl Strategy<Value = Key> {
    (
        prop::sample::select(&PARTITIONS[..]),
        prop::sample::select(&SORTS[..]),
    )
        .prop_map(|(p, s)| Key::new(p, s))
}

fn guard() -> impl Strategy<Value = Guard> {
    prop_oneof![
        2 => Just(Guard::Any),
        2 => Just(Guard::Absent),
        3 => (1u64..5).prop_map(Guard::Version),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let size = prop::sample::select(&[0usize, 1, 100, 101, 900, 1000, 1500, 9000][..]);
    prop_oneof![
        5 => (size, any::<u8>()).prop_map(|(size, fill)| Change::Put(vec![fill; size])),
        2 => Just(Change::Delete),
        1 => Just(Change::Check),
    ]
}

fn range() -> impl Strategy<Value = Range> {
    let until = prop::option::of(prop::sample::select(&SORTS[..]));
    (key(), until, any::<bool>(), 1usize..8).prop_map(|(from, until, reverse, limit)| Range {
        partition: from.partition,
        from: from.sort,
        until: until.map(str::to_owned),
        reverse,
        limit,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let write =
        (key(), guard(), change()).prop_map(|(key, guard, change)| Write { key, guard, change });
    prop_oneof![
        6 => prop::collection::vec(write, 1..5).prop_map(Step::Commit),
        2 => (0usize..4).prop_map(Step::Repeat),
        2 => key().prop_map(Step::Get),
        2 => range().prop_map(Step::Range),
    ]
}

fn apply(model: &mut Model, commit: &Commit) -> Result<Committed, StoreError> {
    commit.check_rules()?;
    let place = |key: &Key| (key.partition.clone(), key.sort.clone());
    let rows = commit.writes.iter().map(|w| model.get(&place(&w.key)));
    if rows.flatten().any(|row| row.2 == commit.id) {
        return Ok(Committed { repeated: true });
    }
    for write in commit.writes.iter() {
        let version = model.get(&place(&write.key)).map(|row| row.0);
        let holds = match write.guard {
            Guard::Any => true,
            Guard::Absent => version.is_none(),
            Guard::Version(v) => version == Some(v),
        };
        if !holds {
            return Err(StoreError::Conflict(write.key.clone()));
        }
    }
    for write in commit.writes.iter() {
        let place = place(&write.key);
        match &write.change {
            Change::Put(value) => {
                let version = model.get(&place).map_or(1, |row| row.0 + 1);
                model.insert(place, (version, value.clone(), commit.id));
            }
            Change::Delete => {
                model.remove(&place);
            }
            Change::Check => {}
        }
    }
    Ok(Committed { repeated: false })
}

fn expected(model: &Model, range: &Range) -> (Vec<(String, u64)>, bool) {
    let mut rows: Vec<_> = model
        .iter()
        .filter(|((p, s), _)| {
            *p == range.partition
                && *s >= range.from
                && range.until.as_ref().is_none_or(|until| s < until)
        })
        .map(|((_, s), row)| (s.clone(), row.0))
        .collect();
    if range.reverse {
        rows.reverse();
    }
    let more = rows.len() > range.limit;
    rows.truncate(range.limit);
    (rows, more)
}

async fn check(store: &dyn Store, steps: Vec<Step>, round: u128) {
    let prefix = |key: &Key| Key::new(format!("{round}/{}", key.partition), key.sort.clone());
    let mut model = Model::new();
    let mut commits: Vec<Commit> = Vec::new();
    for step in steps {
        match step {
            Step::Commit(writes) => {
                let id = CommitId((round << 32 | commits.len() as u128).to_be_bytes());
                commits.push(Commit {
                    id,
                    writes: writes.into(),
                });
                agree(store, &mut model, commits.last().expect("pushed"), round).await;
            }
            Step::Repeat(back) => {
                if let Some(earlier) = commits.iter().rev().nth(back) {
                    agree(store, &mut model, earlier, round).await;
                }
            }
            Step::Get(key) => {
                let found = store.get(&prefix(&key)).await.expect("reads work");
                let known = model.get(&(key.partition, key.sort));
                assert_eq!(
                    found.map(|r| (r.version, r.value)),
                    known.map(|row| (row.0, row.1.clone()))
                );
            }
            Step::Range(range) => {
                let mut asked = range.clone();
                asked.partition = format!("{round}/{}", range.partition);
                let page = store.range(&asked).await.expect("reads work");
                let rows = page.records.into_iter().map(|r| (r.key.sort, r.version));
                assert_eq!((rows.collect(), page.more), expected(&model, &range));
            }
        }
    }
}

async fn agree(store: &dyn Store, model: &mut Model, commit: &Commit, round: u128) {
    let prefix = |key: &Key| Key::new(format!("{round}/{}", key.partition), key.sort.clone());
    let mut real = commit.clone();
    for write in Arc::make_mut(&mut real.writes) {
        write.key = prefix(&write.key);
    }
    let known = match apply(model, commit) {
        Err(StoreError::Conflict(key)) => Err(StoreError::Conflict(prefix(&key))),
        other => other,
    };
    match (store.commit(real).await, known) {
        (Err(StoreError::Invalid(_)), Err(StoreError::Invalid(_))) => {}
        (real, known) => assert_eq!(real, known, "{commit:?}"),
    }
}

pub async fn any_history_matches_the_model(store: Arc<dyn Store>) {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let histories = prop::collection::vec(step(), 1..40);
    for round in 0..60 {
        let history = histories
            .new_tree(&mut runner)
            .expect("a history")
            .current();
        check(&*store, history, round).await;
    }
}
