//! Erasing that comes late: whoever erases a Session that others have erased meanwhile, and somebody has imported again, leaves it
//! alone.

use std::sync::Arc;
use std::time::Duration;

use rat_things::backend::memory::compute::ScriptedCompute;
use rat_things::backend::memory::environments::{Files, Scripted, ScriptedEnvironments};
use rat_things::engine::core::Core;
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::ports::{Change, Commit, CommitId, ExecSpec, Guard, Write};
use tokio::sync::watch;

use super::archives::{IMPORTER, Target, busy_life, import};
use super::ground::Rows;
use super::interposed::{Hook, Interposed};
use super::world::eventually;

/// Removes every row of every partition but those of the lists.
async fn erase_all(core: &Core, store: &dyn Rows) {
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
            }]
            .into(),
        };
        store.commit(commit).await.expect("stored");
    }
}

#[tokio::test(start_paused = true)]
pub async fn a_session_that_was_imported_again_is_not_erased_by_whoever_comes_late() {
    let (_, session, entries) = busy_life().await;
    let here = Target::new();
    here.import(&entries).await.expect("imports");
    let deleted = here.core.delete_session(IMPORTER, &session).await;
    deleted.expect("deleted");
    let (core, store, archive) = (here.core.clone(), here.store.clone(), entries.clone());
    let (done, mut is_done) = watch::channel(false);
    let hook: Hook = Box::new(move || {
        Box::pin(async move {
            erase_all(&core, &*store).await;
            import(&core, IMPORTER, &archive).await.expect("imports");
            done.send_replace(true);
        })
    });
    let late = Core {
        store: Arc::new(Interposed::new(here.store.clone(), &session, hook)),
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
