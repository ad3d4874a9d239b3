//! Losing workers again and again: progress earns new attempts, and without progress there is an end.

use pretty_assertions::assert_eq;
use rat_things::engine::keys;
use rat_things::engine::turn::TurnRow;

use super::dice::{self, Dice};
use super::processes::{Process, Role};
use super::rat::{Rat, until};
use super::records::Records;
use super::transcript::{commands, lines_agree_with_commands, script};

/// More than a Turn's attempts without progress.
const KILLS: u64 = 8;

#[test]
fn a_turn_that_gets_something_done_each_time_may_lose_any_number_of_workers() {
    let seed = dice::seed();
    let mut dice = Dice::new(seed);
    let rat = Rat::new();
    let session = rat.create(&script(40, 50));
    let records = Records::open(&rat);
    let turn = rat.turns(&session)[0]["id"].clone();
    let mut done = 0;
    for _ in 0..KILLS {
        done = until(
            || format!("seed {seed}: more than {done} commands end{}", rat.logs()),
            || Some(finished_commands(&records, &session)).filter(|now| *now > done),
        );
        std::thread::sleep(std::time::Duration::from_micros(dice.below(40_000)));
        let mut doomed = rat.program(Role::Worker);
        if dice.below(2) == 0 {
            doomed.extend(rat.program(Role::Daemon));
        }
        doomed.iter().for_each(|process| _ = process.kill());
        doomed.iter().for_each(Process::wait_gone);
        rat.ok(&["daemon", "start"]);
    }
    records.until_idle(&session, &rat);
    rat.stop();
    let turns = rat.turns(&session);
    assert_eq!(
        (&turns[0]["id"], &turns[0]["status"]),
        (&turn, &"completed".into())
    );
    assert_eq!(turns.len(), 1);
    let ran = commands(&rat.items(&session));
    assert_eq!(ran.len(), 40);
    lines_agree_with_commands(&ran, &rat.lines(&session, "log.txt"));
    let row: TurnRow = records.row(&session, keys::turn(1)).expect("a turn");
    let unknown = ran.iter().filter(|ran| ran.unknown).count();
    assert_eq!(row.unknown_calls as usize, unknown);
    assert!(unknown as u64 <= KILLS, "seed {seed}");
    let (_, last) = row.runs.expect("it ran");
    assert!(
        last > 5,
        "seed {seed}: {last} runs, which no turn gets without progress"
    );
}

/// Commands that ended and were recorded so.
fn finished_commands(records: &Records, session: &str) -> u64 {
    let turn = records.alive(session).turn.expect("it runs");
    let row: TurnRow = records.row(session, keys::turn(1)).expect("a turn");
    // The row may be newer than the head: a call is then counted as running and as unknown.
    turn.outputs
        .saturating_sub(turn.running.len() as u64 + u64::from(row.unknown_calls))
}

#[test]
fn a_turn_whose_workers_all_die_at_once_fails_and_the_session_goes_on() {
    let rat = Rat::with("limits.turn_attempts = 3");
    // Nothing gets done in the time that a worker lives.
    let session = rat.create("@sleep 600000\n@say never");
    let records = Records::open(&rat);
    let failed = until(
        || format!("the turn fails{}", rat.logs()),
        || {
            rat.program(Role::Worker)
                .iter()
                .for_each(|worker| _ = worker.kill());
            let row: TurnRow = records.row(&session, keys::turn(1)).expect("a turn");
            row.status.is_terminal().then_some(row)
        },
    );
    let failure = failed.error.expect("it failed");
    assert_eq!(failure.code, "internal_error");
    assert!(
        failure.message.contains("3 attempts"),
        "{}",
        failure.message
    );
    let (_, last) = failed.runs.expect("it ran");
    assert!(last <= 6, "{last} runs");
    let next = "@exec echo next >> /workspace/log.txt";
    rat.send(&session, next, false);
    records.until_idle(&session, &rat);
    let turns = rat.turns(&session);
    let states: Vec<_> = turns
        .iter()
        .map(|turn| turn["status"].as_str().expect("a status"))
        .collect();
    assert_eq!(states, ["failed", "completed"]);
    assert_eq!(turns[0]["error"]["code"], "internal_error");
    assert_eq!(rat.lines(&session, "log.txt"), ["next"]);
    rat.stop();
}
