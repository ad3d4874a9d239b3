//! Kill -9 and lost syncs.

use std::path::Path;
use std::process::Command;

use rat_things::backend::local::store::Durability;
use rat_things::engine::ports::{Store, StoreError};

use super::{APPLIED, REPEATED, has, one, open, place};
use crate::store_child::{Job, noted, prove, until};

#[tokio::test]
async fn kill_9_under_load_loses_nothing_acknowledged() {
    let (dir, path) = place();
    let job = Job {
        database: path.clone(),
        acks: dir.path().join("acks"),
        tasks: 8,
        process: 0,
        steps: 0,
        durability: Durability::Full,
    };
    let mut before = 0;
    for round in 0..10 {
        let child = job.start();
        // Each round is killed at another depth, some while the database is being created or recovered.
        let more = [0, 1, 40, 7, 200, 90, 3, 120, 15, 60][round];
        until("the child has written", || {
            noted(&job.acks) >= before + more
        });
        drop(child);
        before = noted(&job.acks);
        let store = open(&path).expect("it opens after a crash");
        let proof = prove(&store, &job.acks).await;
        assert_eq!((proof.lost, proof.damaged), (0, 0), "round {round}");
        let health = store.check().await.expect("it can be read");
        assert_eq!(health.problems, Vec::<String>::new());
    }
    assert!(before >= 500, "{before} steps");
}

/// What the child of the next test does: see there.
#[tokio::test]
async fn lost_sync_role() {
    let Ok(database) = std::env::var("RAT_THINGS_TEST_LOST_SYNC") else {
        return;
    };
    let fail = std::env::var("SYNC_SHIM_FAIL_FILE").expect("the shim's switch");
    let store = open(Path::new(&database)).expect("it opens");
    assert_eq!(store.commit(one(1, 700)).await, APPLIED);
    std::fs::write(&fail, "").expect("the switch is on");
    let lost = store.commit(one(2, 700)).await;
    assert!(matches!(lost, Err(StoreError::Unknown(_))), "{lost:?}");
    let (third, fourth) = tokio::join!(store.commit(one(3, 700)), store.commit(one(4, 700)));
    for lost in [third, fourth] {
        assert!(matches!(lost, Err(StoreError::Unknown(_))), "{lost:?}");
    }
    std::fs::remove_file(&fail).expect("the switch is off");
    for n in 2..=4 {
        // Whether it had been applied or not: after the repeat it is, once.
        let settled = store.commit(one(n, 700)).await;
        assert!(settled == APPLIED || settled == REPEATED, "{settled:?}");
        assert_eq!(store.commit(one(n, 700)).await, REPEATED);
    }
    for n in 1..=4 {
        assert!(has(&store, n, 700).await);
    }
}

// The shim is preloaded as Linux does it.
#[cfg(target_os = "linux")]
#[test]
fn a_commit_whose_sync_failed_is_unknown_and_a_repeat_settles_it() {
    let (dir, path) = place();
    let shim = crate::shim::build(dir.path());
    let status = Command::new(std::env::current_exe().expect("this test binary"))
        .args(["contract::sqlite::crash::lost_sync_role", "--exact"])
        .env("LD_PRELOAD", &shim)
        .env("SYNC_SHIM_FAIL_FILE", dir.path().join("fail"))
        .env("RAT_THINGS_TEST_LOST_SYNC", &path)
        .status()
        .expect("the child runs");
    assert!(status.success(), "{status}");
}
