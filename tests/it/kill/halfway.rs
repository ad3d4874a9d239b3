//! States that only a kill leaves behind, made by hand, so that each is met every time.

use pretty_assertions::assert_eq;

use rat_things::engine::claim::claim;
use rat_things::engine::draft::Draft;
use rat_things::engine::keys;
use rat_things::engine::turn::TurnRow;
use rustix::process::Signal;

use super::processes::{Process, Role};
use super::rat::{Rat, until};
use super::records::{Records, id};

#[test]
fn a_workspace_that_was_half_prepared_is_finished() {
    let rat = Rat::with("daemon.autostart = false");
    let session = rat.create("@exec echo made > /workspace/outputs/made.txt");
    let workspace = rat.workspace(&session);
    // A worker died between making this and giving it to whom commands run as.
    std::fs::create_dir_all(workspace.join("outputs")).expect("made");
    let records = Records::open(&rat);
    rat.ok(&["daemon", "start"]);
    records.until_idle(&session, &rat);
    let artifacts = rat.artifacts(&session);
    let paths: Vec<_> = artifacts
        .iter()
        .map(|artifact| artifact["path"].as_str())
        .collect();
    assert_eq!(paths, [Some("/workspace/outputs/made.txt")]);
    rat.stop();
}

#[test]
fn a_claim_that_never_reached_its_worker_is_given_back_and_interrupts_nobody() {
    let rat = Rat::with("limits.lease_ms = 2000");
    let records = Records::open(&rat);
    let busy = rat.create("@exec sleep 5; echo done >> /workspace/log.txt");
    let worker = until(
        || format!("it runs{}", rat.logs()),
        || {
            let head = records.alive(&busy);
            head.turn.filter(|turn| !turn.running.is_empty())?;
            head.fence.lease.map(|lease| lease.execution)
        },
    );
    // A daemon claims a Session for the worker, and dies before it says so to the worker.
    let daemons = rat.program(Role::Daemon);
    daemons
        .iter()
        .for_each(|daemon| _ = daemon.signal(Signal::STOP));
    let other = rat.create("@exec echo other >> /workspace/log.txt");
    let core = &records.local.core;
    records.runtime.block_on(async {
        let loaded = core.load(&id(&other)).await.expect("read").expect("there");
        let turn = loaded.head.turn.as_ref().expect("queued");
        let attending = core.attending(&id(&other), turn).await.expect("read");
        let mut draft = Draft::of(&id(&other), &loaded, core.clock.now_ms());
        claim(
            &mut draft,
            &attending,
            worker.clone(),
            core.settings.lease_ms,
        )
        .expect("free");
        let (commit, _) = draft.seal(&*core.ids);
        core.store.commit(commit).await.expect("committed");
    });
    daemons.iter().for_each(|daemon| _ = daemon.kill());
    daemons.iter().for_each(Process::wait_gone);
    rat.ok(&["daemon", "start"]);
    records.until_idle(&other, &rat);
    records.until_idle(&busy, &rat);
    for (session, runs, line) in [(&busy, (1, 1), "done"), (&other, (1, 2), "other")] {
        let row: TurnRow = records.row(session, keys::turn(1)).expect("a turn");
        assert_eq!(
            (row.runs, row.unknown_calls),
            (Some(runs), 0),
            "{}",
            rat.logs()
        );
        assert_eq!(rat.lines(session, "log.txt"), [line]);
    }
    rat.stop();
}
