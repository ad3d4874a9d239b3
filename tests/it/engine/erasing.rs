//! Erasing that comes late: whoever erases a Session that others have erased meanwhile, and somebody has imported again, leaves it
//! alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use rat_things::backend::memory::MemoryStore;
use rat_things::backend::memory::compute::ScriptedCompute;
use rat_things::backend::memory::environments::{Files, Scripted, ScriptedEnvironments};
use rat_things::engine::core::Core;
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::ports::{
    Change, Commit, CommitId, Committed, ExecSpec, Guard, Key, Page, Range, Record, Store,
    StoreError, Write,
};
use tokio::sync::watch;

use super::archives::{IMPORTER, Target, busy_life, import};
use super::world::eventually;

type Hook = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// A store in which something happens before the rows of a Session are listed for the first time.
struct Interposed {
    store: Arc<MemoryStore>,
    hook: Mutex<Option<Hook>>,
}

#[async_trait]
impl Store for Interposed {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.store.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.store.get_many(keys).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        if range.partition.starts_with("S/") {
            let hook = self.hook.lock().expect("no test panics with it").take();
            if let Some(hook) = hook {
                hook().await;
            }
        }
        self.store.range(range).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.store.commit(commit).await
    }
}

/// Removes every row of every partition but those of the lists.
async fn erase_all(core: &Core, store: &MemoryStore) {
    for record in store.records() {
        if record.key.partition.starts_with("O/") {
            continue;
        }
        let commit = Commit {
            id: CommitId::random(&*core.ids),
            writes: vec![Write {
                key: record.key,
                guard: Guard::Any,
                change: Change::Delete,
            }],
        };
        store.commit(commit).await.expect("stored");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_imported_again_is_not_erased_by_whoever_comes_late() {
    let (_, session, entries) = busy_life().await;
    let here = Target::new();
    here.import(&entries).await.expect("imports");
    let deleted = here.core.delete_session(IMPORTER, &session).await;
    deleted.expect("deleted");
    let (core, store, archive) = (here.core.clone(), here.store.clone(), entries.clone());
    let (done, mut is_done) = watch::channel(false);
    let hook: Hook = Box::new(move || {
        Box::pin(async move {
            erase_all(&core, &store).await;
            import(&core, IMPORTER, &archive).await.expect("imports");
            done.send_replace(true);
        })
    });
    let late = Core {
        store: Arc::new(Interposed {
            store: here.store.clone(),
            hook: Mutex::new(Some(hook)),
        }),
        ..here.core.clone()
    };
    let nothing = |_: &ExecSpec, _: &mut Files| Scripted::ok("");
    let environments = Arc::new(ScriptedEnvironments::new(nothing));
    let dispatcher = Dispatcher::new(late, Arc::new(ScriptedCompute::new()), environments);
    let stop = watch::Sender::new(false);
    let running = tokio::spawn(dispatcher.run(stop.subscribe()));
    is_done.changed().await.expect("it happened");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(eventually(async || here.sees(&session).await).await);
    here.assert_sound();
    stop.send_replace(true);
    running.await.expect("stops");
}
