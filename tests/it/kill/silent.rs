//! A worker that is stopped past its lease: it is fenced and ended, another goes on, and waking up it writes nothing.

use pretty_assertions::assert_eq;
use rat_things::engine::keys;
use rat_things::engine::turn::TurnRow;
use rustix::process::Signal;

use super::processes::{Process, Role};
use super::rat::{Rat, until};
use super::records::Records;
use super::transcript::{commands, lines_agree_with_commands, script};

const SHORT_LEASE: &str = "limits.lease_ms = 1000";

/// A Session whose second command runs in a worker that was stopped meanwhile.
fn with_a_stopped_worker() -> (Rat, Records, String, Process) {
    let rat = Rat::with(SHORT_LEASE);
    let session = rat.create(&script(6, 200));
    let records = Records::open(&rat);
    until(
        || format!("the second command begins{}", rat.logs()),
        || {
            let turn = records.alive(&session).turn?;
            (turn.outputs == 2 && !turn.running.is_empty()).then_some(())
        },
    );
    let workers = rat.program(Role::Worker);
    assert_eq!(workers.len(), 1);
    let worker = workers[0].clone();
    assert!(worker.signal(Signal::STOP));
    (rat, records, session, worker)
}

/// The Turn went on in another worker, after exactly one command whose outcome nobody could record.
fn another_went_on(rat: &Rat, records: &Records, session: &str) {
    records.until_idle(session, rat);
    let row: TurnRow = records.row(session, keys::turn(1)).expect("a turn");
    assert_eq!(rat.turns(session)[0]["status"], "completed");
    // One generation was raised by the claim, one by the fence, one by the next claim.
    assert_eq!((row.runs, row.unknown_calls), (Some((1, 3)), 1));
    let ran = commands(&rat.items(session));
    assert_eq!(ran.len(), 6);
    assert_eq!(ran.iter().filter(|ran| ran.unknown).count(), 1);
    lines_agree_with_commands(&ran, &rat.lines(session, "log.txt"));
    rat.stop();
}

#[test]
fn a_worker_that_is_silent_past_its_lease_is_ended_and_another_goes_on() {
    let (rat, records, session, worker) = with_a_stopped_worker();
    until(
        || format!("{} is ended{}", worker.identity, rat.logs()),
        || (worker.identity.inspect() == rat_things::engine::ports::Liveness::Gone).then_some(()),
    );
    another_went_on(&rat, &records, &session);
}

#[test]
fn a_fenced_worker_that_wakes_up_writes_nothing() {
    let (rat, records, session, worker) = with_a_stopped_worker();
    until(
        || format!("the worker is fenced{}", rat.logs()),
        || records.alive(&session).fence.quarantine,
    );
    // The command that ran when it was stopped has ended since: it wakes up with something to record.
    assert!(worker.signal(Signal::CONT));
    another_went_on(&rat, &records, &session);
}
