//! The Store port in memory: a map behind a lock, the same on every run, with faults on request.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::engine::ports::{
    Change, Commit, CommitId, Committed, Guard, Key, Page, Range, Record, Store, StoreError, Write,
};

/// What goes wrong with one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// It is not applied, and this is the answer.
    FailBefore(StoreError),
    /// It is applied, or refused, as usual; the answer is lost on the way and reads [`StoreError::Unknown`].
    ApplyThenUnknown,
    /// It is not applied: the store says that it is saturated.
    Throttle,
}

/// Chooses the fault of each commit, in the order in which they arrive.
pub type Faults = Box<dyn Fn(&Commit) -> Fault + Send + Sync>;

/// Rows by partition and sort key.
type Rows = BTreeMap<String, BTreeMap<String, Row>>;

/// The Store port in memory.
#[derive(Default)]
pub struct MemoryStore {
    rows: Mutex<Rows>,
    faults: Option<Faults>,
}

#[derive(Clone)]
struct Row {
    version: u64,
    value: Vec<u8>,
    /// The commit that put it.
    by: CommitId,
}

impl MemoryStore {
    /// An empty store that works.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// An empty store whose commits fail as `faults` says.
    pub fn with_faults(faults: Faults) -> MemoryStore {
        MemoryStore {
            rows: Mutex::default(),
            faults: Some(faults),
        }
    }

    /// Every row there is, in order: for tests that check what is stored.
    pub fn records(&self) -> Vec<Record> {
        let rows = self.lock();
        let all = rows.iter().flat_map(|(partition, rows)| {
            rows.iter()
                .map(move |(sort, row)| row.record(Key::new(partition.clone(), sort.clone())))
        });
        all.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        // A panic halfway through a commit is a defect of this file, and tests see it anyway.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        Ok(find(&self.lock(), key).map(|row| row.record(key.clone())))
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        let rows = self.lock();
        Ok(keys
            .iter()
            .map(|key| find(&rows, key).map(|row| row.record(key.clone())))
            .collect())
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        range.check_rules()?;
        let rows = self.lock();
        let mut page = Page {
            records: Vec::new(),
            more: false,
        };
        let Some(partition) = rows.get(&range.partition) else {
            return Ok(page);
        };
        let until = match &range.until {
            // A map refuses a range that ends before it begins; a store finds no rows in it.
            Some(until) if *until <= range.from => return Ok(page),
            Some(until) => Bound::Excluded(until.as_str()),
            None => Bound::Unbounded,
        };
        let rows = partition.range::<str, _>((Bound::Included(range.from.as_str()), until));
        let mut rows: Box<dyn Iterator<Item = (&String, &Row)>> = match range.reverse {
            false => Box::new(rows),
            true => Box::new(rows.rev()),
        };
        page.records = (&mut rows)
            .take(range.limit)
            .map(|(sort, row)| row.record(Key::new(range.partition.clone(), sort.clone())))
            .collect();
        page.more = rows.next().is_some();
        Ok(page)
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        commit.check_rules()?;
        let mut rows = self.lock();
        match self.faults.as_ref().map(|faults| faults(&commit)) {
            None | Some(Fault::None) => apply(&mut rows, commit),
            Some(Fault::FailBefore(error)) => Err(error),
            Some(Fault::Throttle) => Err(StoreError::Throttled),
            Some(Fault::ApplyThenUnknown) => {
                // Whether it was applied is what nobody learns.
                let _ = apply(&mut rows, commit);
                Err(StoreError::Unknown("the answer was lost".to_owned()))
            }
        }
    }
}

impl Row {
    fn record(&self, key: Key) -> Record {
        Record {
            key,
            version: self.version,
            value: self.value.clone(),
        }
    }
}

fn find<'r>(rows: &'r Rows, key: &Key) -> Option<&'r Row> {
    rows.get(&key.partition)?.get(&key.sort)
}

fn apply(rows: &mut Rows, commit: Commit) -> Result<Committed, StoreError> {
    let ours = |w: &Write| find(rows, &w.key).is_some_and(|row| row.by == commit.id);
    if commit.writes.iter().any(ours) {
        return Ok(Committed { repeated: true });
    }
    let fails = |w: &&Write| !holds(w.guard, find(rows, &w.key));
    if let Some(write) = commit.writes.iter().find(fails) {
        return Err(StoreError::Conflict(write.key.clone()));
    }
    for write in Arc::unwrap_or_clone(commit.writes) {
        let partition = rows.entry(write.key.partition).or_default();
        match write.change {
            Change::Put(value) => {
                let version = partition.get(&write.key.sort).map_or(0, |row| row.version) + 1;
                let by = commit.id;
                partition.insert(write.key.sort, Row { version, value, by });
            }
            Change::Delete => {
                partition.remove(&write.key.sort);
            }
            Change::Check => {}
        }
    }
    Ok(Committed { repeated: false })
}

fn holds(guard: Guard, row: Option<&Row>) -> bool {
    match guard {
        Guard::Any => true,
        Guard::Absent => row.is_none(),
        Guard::Version(wanted) => row.is_some_and(|row| row.version == wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(n: u8) -> Commit {
        Commit {
            id: CommitId([n; 16]),
            writes: vec![Write {
                key: Key::new("p", n.to_string()),
                guard: Guard::Absent,
                change: Change::Put(vec![n]),
            }]
            .into(),
        }
    }

    #[tokio::test]
    async fn each_fault_answers_and_applies_as_it_says() {
        let away = StoreError::Unavailable("away".to_owned());
        let fault = away.clone();
        let store = MemoryStore::with_faults(Box::new(move |commit| match commit.id.0[0] {
            1 => Fault::FailBefore(fault.clone()),
            2 => Fault::Throttle,
            3 => Fault::ApplyThenUnknown,
            _ => Fault::None,
        }));
        let lost = StoreError::Unknown("the answer was lost".to_owned());
        for (n, answer, applied) in [
            (1, Err(away), false),
            (2, Err(StoreError::Throttled), false),
            (3, Err(lost), true),
            (4, Ok(Committed { repeated: false }), true),
        ] {
            assert_eq!(store.commit(commit(n)).await, answer);
            let found = store.get(&Key::new("p", n.to_string())).await;
            assert_eq!(found.map(|row| row.is_some()), Ok(applied), "{n}");
        }
    }

    #[tokio::test]
    async fn a_lost_answer_is_settled_by_a_repeat() {
        let calls = std::sync::atomic::AtomicU32::new(0);
        let store = MemoryStore::with_faults(Box::new(move |_| {
            match calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 => Fault::ApplyThenUnknown,
                _ => Fault::None,
            }
        }));
        let lost = store.commit(commit(1)).await;
        assert!(matches!(lost, Err(StoreError::Unknown(_))), "{lost:?}");
        let settled = store.commit(commit(1)).await;
        assert_eq!(settled, Ok(Committed { repeated: true }));
    }
}
