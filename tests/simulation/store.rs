//! The store as one program has it: slow, away, forgetful of answers; and every commit that happens is checked at once.

use std::sync::Arc;

use async_trait::async_trait;
use rat_things::backend::memory::{Fault as CommitFault, MemoryStore};
use rat_things::engine::keys;
use rat_things::engine::ports::{
    Clock, Commit, CommitId, Committed, Key, Page, Range, Record, Store, StoreError,
};

use super::life::{Life, Role};
use super::sabotage::{Sabotage, Trick};
use super::watch::Watch;

/// See the module.
pub struct SimStore {
    /// Whose.
    pub life: Arc<Life>,
    /// Everybody's.
    pub store: Arc<MemoryStore>,
    /// Checks what happens.
    pub watch: Arc<Watch>,
    /// What is wrong with the engine of this world on purpose.
    pub sabotage: Sabotage,
}

impl SimStore {
    async fn read(&self, place: &str) -> Result<(), StoreError> {
        self.life.instant(place).await;
        match self.life.shared.read_fails() {
            true => Err(StoreError::Unavailable("by chance".into())),
            false => Ok(()),
        }
    }

    /// The commit reaches the store.
    async fn apply(&self, commit: Commit) -> Result<Committed, StoreError> {
        let before = self.watch.before(&commit);
        let answer = self.store.commit(commit.clone()).await;
        let shared = &self.life.shared;
        match &answer {
            Ok(Committed { repeated: false }) => {
                self.watch
                    .committed(&self.life, &commit, &before, &self.store);
            }
            Ok(Committed { repeated: true }) => shared.count("commits repeated under their id"),
            Err(StoreError::Conflict(_)) => {
                shared.count("conflicts");
                if self.life.role == Role::Worker && self.watch.is_fenced(&self.life, &commit) {
                    shared.count("zombie writes refused");
                }
            }
            Err(_) => {}
        }
        answer
    }
}

/// What a commit is about, for the trace.
fn words(commit: &Commit) -> String {
    let mut sorts: Vec<&str> = commit.writes.iter().map(|w| w.key.sort.as_str()).collect();
    sorts.truncate(8);
    let session = commit.writes.iter().find_map(|w| {
        let id = w.key.partition.strip_prefix("S/")?;
        id.get(..9)
    });
    format!("{} {}", session.unwrap_or("-"), sorts.join(" "))
}

#[async_trait]
impl Store for SimStore {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.read("get").await?;
        self.store.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.read("get_many").await?;
        self.store.get_many(keys).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        self.read("range").await?;
        let mut page = self.store.range(range).await?;
        if self.sabotage == Sabotage::SkipEvents && range.from.starts_with("journal/") {
            page.records.retain(|r| !r.key.sort.ends_with('5'));
        }
        if self.sabotage == Sabotage::WaitForClock && self.life.role == Role::Daemon {
            let now_ms = self.life.now_ms();
            page.records.retain(|record| {
                let entry = keys::parse_agenda(&record.key.sort);
                entry.is_none_or(|(due_ms, _)| due_ms <= now_ms)
            });
        }
        Ok(page)
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.life.instant("commit").await;
        let shared = Arc::clone(&self.life.shared);
        let (fault, then_killed) = shared.commit_fate();
        let tricks = self.sabotage.on_commit(&self.life, commit);
        let mut answer = Ok(Committed { repeated: false });
        for trick in tricks {
            match trick {
                Trick::Now(mut commit) => {
                    if self.sabotage == Sabotage::ForgetCommitId {
                        commit.id = CommitId::random(&shared.chance);
                    }
                    let what = words(&commit);
                    answer = match &fault {
                        CommitFault::None => self.apply(commit).await,
                        CommitFault::FailBefore(error) => Err(error.clone()),
                        CommitFault::Throttle => Err(StoreError::Throttled),
                        CommitFault::ApplyThenUnknown => {
                            let _ = self.apply(commit).await;
                            Err(StoreError::Unknown("by chance".into()))
                        }
                    };
                    let said = match &answer {
                        Ok(committed) => format!("ok {}", committed.repeated),
                        Err(error) => error.to_string(),
                    };
                    shared.note(format_args!("{} commits {what}: {said}", self.life.name));
                }
                Trick::Later(commit) => {
                    let (store, life, watch) = (
                        Arc::clone(&self.store),
                        Arc::clone(&self.life),
                        Arc::clone(&self.watch),
                    );
                    let later = SimStore {
                        life,
                        store,
                        watch,
                        sabotage: Sabotage::None,
                    };
                    tokio::spawn(async move {
                        tokio::time::sleep(std::time::Duration::from_millis(400)).await;
                        let _ = later.apply(commit).await;
                    });
                }
            }
        }
        if then_killed {
            self.life.die();
        }
        self.life.instant("committed").await;
        answer
    }
}
