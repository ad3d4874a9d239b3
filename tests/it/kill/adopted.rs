//! A worker outlives its daemon, and the next daemon takes over where the last one was.

use pretty_assertions::assert_eq;
use rat_things::engine::keys;
use rat_things::engine::turn::TurnRow;

use super::processes::{Process, Role};
use super::rat::{Rat, until};
use super::records::Records;
use super::transcript::{commands, lines_agree_with_commands, script};

/// Kills all daemons, and waits until they are gone.
fn kill_daemon(rat: &Rat) {
    let daemons = rat.program(Role::Daemon);
    assert_eq!(daemons.len(), 1);
    daemons.iter().for_each(|daemon| _ = daemon.kill());
    daemons.iter().for_each(Process::wait_gone);
}

/// Waits until so many commands of the active Turn were claimed.
fn until_claimed(records: &Records, rat: &Rat, session: &str, commands: u64) {
    until(
        || format!("{commands} commands begin{}", rat.logs()),
        || {
            let turn = records.alive(session).turn?;
            (turn.outputs >= commands && !turn.running.is_empty()).then_some(())
        },
    );
}

#[test]
fn a_running_turn_is_adopted_by_the_next_daemon_without_being_interrupted() {
    let rat = Rat::new();
    let session = rat.create(&script(10, 100));
    let records = Records::open(&rat);
    let mut owner = None;
    for at in [1, 4, 7] {
        until_claimed(&records, &rat, &session, at);
        let now = records.owner(&session);
        assert!(
            now.is_some() && owner.as_ref().is_none_or(|owner| *owner == now),
            "{now:?}"
        );
        owner = Some(now);
        kill_daemon(&rat);
        rat.ok(&["daemon", "start"]);
    }
    // What is sent now reaches the worker that no daemon of these started.
    rat.send(&session, "@exec echo steered >> /workspace/log.txt", false);
    records.until_idle(&session, &rat);
    let row: TurnRow = records.row(&session, keys::turn(1)).expect("a turn");
    assert_eq!(row.runs, Some((1, 1)));
    assert_eq!(records.alive(&session).fence.generation, 1);
    let ran = commands(&rat.items(&session));
    assert_eq!(ran.iter().filter(|ran| ran.unknown).count(), 0);
    assert_eq!(ran.len(), 11);
    assert_eq!(
        lines_agree_with_commands(&ran, &rat.lines(&session, "log.txt")),
        0
    );
    rat.stop();
}

#[test]
fn a_cancel_reaches_a_worker_that_outlived_its_daemon() {
    let rat = Rat::new();
    let session = rat.create(&script(5, 60_000));
    let records = Records::open(&rat);
    until_claimed(&records, &rat, &session, 1);
    kill_daemon(&rat);
    rat.ok(&["sessions", "cancel", &session]);
    records.until_idle(&session, &rat);
    assert_eq!(rat.turns(&session)[0]["status"], "cancelled");
    assert_eq!(records.alive(&session).fence.generation, 1);
    rat.stop();
}

#[test]
fn the_death_of_an_adopted_worker_is_noticed_and_its_turn_goes_on() {
    let rat = Rat::new();
    let session = rat.create(&script(6, 100));
    let records = Records::open(&rat);
    until_claimed(&records, &rat, &session, 2);
    kill_daemon(&rat);
    rat.ok(&["daemon", "start"]);
    let workers = rat.program(Role::Worker);
    assert_eq!(workers.len(), 1);
    workers.iter().for_each(|worker| _ = worker.kill());
    records.until_idle(&session, &rat);
    let row: TurnRow = records.row(&session, keys::turn(1)).expect("a turn");
    assert_eq!((row.runs, row.unknown_calls), (Some((1, 2)), 1));
    let ran = commands(&rat.items(&session));
    assert_eq!(ran.len(), 6);
    lines_agree_with_commands(&ran, &rat.lines(&session, "log.txt"));
    rat.stop();
}

#[test]
fn a_stop_reaches_workers_that_outlived_their_daemon() {
    let rat = Rat::with("daemon.grace_ms = 300");
    let session = rat.create(&script(2, 600_000));
    let records = Records::open(&rat);
    until_claimed(&records, &rat, &session, 1);
    kill_daemon(&rat);
    rat.ok(&["daemon", "start"]);
    assert_eq!(rat.program(Role::Worker).len(), 1, "of the daemon before");
    rat.ok(&["daemon", "stop"]);
    assert_eq!(rat.program(Role::Worker).len(), 0, "{}", rat.logs());
    let head = records.alive(&session);
    assert_eq!((head.fence.lease, head.fence.quarantine), (None, None));
    assert!(head.turn.is_some(), "it goes on with the next daemon");
    rat.stop();
}

#[test]
fn a_session_goes_on_elsewhere_while_its_old_worker_is_busy_with_another() {
    let rat = Rat::new();
    let records = Records::open(&rat);
    let quick = rat.create("@exec echo one >> /workspace/log.txt");
    records.until_idle(&quick, &rat);
    let slow = rat.create(&script(2, 4_000));
    until_claimed(&records, &rat, &slow, 1);
    let first = rat.program(Role::Worker);
    assert_eq!(first.len(), 1, "both were in one worker");
    kill_daemon(&rat);
    rat.send(&quick, "@exec echo two >> /workspace/log.txt", false);
    records.until_idle(&quick, &rat);
    // The old worker still works for the other Session: it kept nothing that this one needs.
    let owner = records.owner(&slow).map(|owner| owner.0);
    assert_eq!(owner, Some(first[0].identity.to_string()));
    assert_eq!(rat.lines(&quick, "log.txt"), ["one", "two"]);
    assert!(commands(&rat.items(&quick)).iter().all(|ran| !ran.unknown));
    rat.ok(&["sessions", "cancel", &slow]);
    records.until_idle(&slow, &rat);
    rat.stop();
}
