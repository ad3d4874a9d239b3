//! Everything is killed while very many Turns are in flight; afterwards all are owned again and no effect is repeated.

use std::io::Write;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use rat_things::api::{TurnStatus, parse_session_create};
use rat_things::backend::local::process::ProcessIdentity;
use rat_things::engine::keys;
use rat_things::engine::ports::Liveness;
use rat_things::engine::turn::TurnRow;
use serde_json::json;

use super::dice::{self, Dice};
use super::processes::{Process, Role};
use super::rat::{Rat, until};
use super::records::{Records, owes_nothing};
use super::transcript::{commands, count};

/// Creates Sessions with this message, as one client that hands over many.
fn create(records: &Records, sessions: usize, environment: &str, input: &str) -> Vec<String> {
    let request =
        json!({"agent": {"model": "demo"}, "environment": {"type": environment}, "input": input});
    let params = parse_session_create(request.to_string().as_bytes()).expect("a request");
    let core = &records.local.core;
    let creates = (0..sessions).map(|_| core.create_session(&records.local.owner, None, &params));
    let created = records
        .runtime
        .block_on(futures_util::future::join_all(creates));
    let ids = created.into_iter().map(|created| {
        created
            .unwrap_or_else(|e| panic!("{e}"))
            .session
            .to_string()
    });
    ids.collect()
}

/// Waits until every Session is owned by a living execution of at least this generation; with `commands`, until each has a command
/// in flight. Answers how long that took.
fn until_owned(
    rat: &Rat,
    records: &Records,
    sessions: &[String],
    generation: u64,
    commands: bool,
) -> Duration {
    let started = Instant::now();
    let mut left: Vec<&String> = sessions.iter().collect();
    until(
        || {
            format!(
                "{} sessions are owned{}",
                left_in_words(records, sessions, generation),
                rat.logs()
            )
        },
        || {
            left.retain(|session| !is_owned(records, session, generation, commands));
            left.is_empty().then(|| started.elapsed())
        },
    )
}

fn left_in_words(records: &Records, sessions: &[String], generation: u64) -> usize {
    sessions
        .iter()
        .filter(|session| !is_owned(records, session, generation, false))
        .count()
}

fn is_owned(records: &Records, session: &str, generation: u64, command: bool) -> bool {
    let head = records.alive(session);
    if head.turn.is_none() && head.fence.generation >= generation.max(2) {
        // It was owned again, and is done since.
        return true;
    }
    let running = head
        .turn
        .as_ref()
        .is_some_and(|turn| !command || !turn.running.is_empty());
    let lives = |execution: &str| {
        ProcessIdentity::parse(execution).is_some_and(|p| p.inspect() == Liveness::Running)
    };
    running
        && head.fence.generation >= generation
        && head
            .fence
            .lease
            .is_some_and(|lease| lives(&lease.execution.0))
}

/// Workspaces in which a command has appended something.
fn logs_in_workspaces(rat: &Rat) -> usize {
    let environments = std::fs::read_dir(rat.data().join("environments"));
    let logs = environments
        .into_iter()
        .flatten()
        .flatten()
        .map(|environment| environment.path().join("workspace/log.txt"));
    logs.filter(|log| std::fs::metadata(log).is_ok_and(|meta| meta.len() > 0))
        .count()
}

fn until_all_idle(rat: &Rat, records: &Records, sessions: &[String]) {
    let mut left: Vec<&String> = sessions.iter().collect();
    until(
        || format!("all become idle{}", rat.logs()),
        || {
            left.retain(|session| !owes_nothing(&records.alive(session)));
            left.is_empty().then_some(())
        },
    );
}

fn report(what: &str, before: Duration, after: Duration) {
    let _ = writeln!(
        std::io::stderr(),
        "{what}: all in flight after {:.1} s, killed, all owned again {:.1} s after the restart began",
        before.as_secs_f64(),
        after.as_secs_f64()
    );
}

#[test]
fn a_hundred_turns_in_sandboxes_are_owned_again_and_no_command_is_repeated() {
    let rat = Rat::with("daemon.runs_per_worker = 25");
    let records = Records::open(&rat);
    let script = "@exec echo begun >> /workspace/log.txt; sleep 600\n@exec echo after >> /workspace/log.txt; sleep 1\n@say finished";
    let sessions = create(&records, 100, "openai_hosted", script);
    rat.ok(&["daemon", "start"]);
    let begun = Instant::now();
    until_owned(&rat, &records, &sessions, 1, true);
    until(
        || format!("every first command has its effect{}", rat.logs()),
        || (logs_in_workspaces(&rat) == sessions.len()).then_some(()),
    );
    let before = begun.elapsed();
    assert!(rat.kill_everything() >= 5, "a daemon and four workers");
    let restarted = Instant::now();
    rat.ok(&["daemon", "start"]);
    until_owned(&rat, &records, &sessions, 2, false);
    report("100 turns in sandboxes", before, restarted.elapsed());
    until_all_idle(&rat, &records, &sessions);
    for session in &sessions {
        let ran = commands(&rat.items(session));
        let unknown: Vec<bool> = ran.iter().map(|ran| ran.unknown).collect();
        assert_eq!(unknown, [true, false], "{session}");
        assert_eq!(rat.lines(session, "log.txt"), ["begun", "after"]);
        assert_eq!(rat.turns(session)[0]["status"], "completed");
    }
    rat.stop();
}

#[test]
fn daemons_that_die_while_they_claim_interrupt_nothing() {
    const SESSIONS: usize = 48;
    let mut dice = Dice::new(dice::seed());
    let rat = Rat::new();
    let records = Records::open(&rat);
    let script = "@exec sleep 3; echo done >> /workspace/log.txt\n@say finished";
    let sessions = create(&records, SESSIONS, "openai_hosted", script);
    for _ in 0..6 {
        rat.ok(&["daemon", "start"]);
        std::thread::sleep(Duration::from_micros(dice.below(60_000)));
        let daemons = rat.program(Role::Daemon);
        daemons.iter().for_each(|daemon| _ = daemon.kill());
        daemons.iter().for_each(Process::wait_gone);
    }
    rat.ok(&["daemon", "start"]);
    until_all_idle(&rat, &records, &sessions);
    for session in &sessions {
        let row: TurnRow = records.row(session, keys::turn(1)).expect("a turn");
        assert_eq!(
            (row.status, row.unknown_calls),
            (TurnStatus::Completed, 0),
            "{session}{}",
            rat.logs()
        );
        assert_eq!(rat.lines(session, "log.txt"), ["done"]);
    }
    rat.stop();
}

#[test]
fn a_thousand_turns_are_owned_again_and_none_answers_twice() {
    let rat = Rat::with("daemon.runs_per_worker = 250");
    let records = Records::open(&rat);
    let sessions = create(&records, 1_000, "none", "@sleep 10000\n@say finished");
    rat.ok(&["daemon", "start"]);
    let before = until_owned(&rat, &records, &sessions, 1, false);
    assert!(rat.kill_everything() >= 5, "a daemon and four workers");
    let restarted = Instant::now();
    rat.ok(&["daemon", "start"]);
    until_owned(&rat, &records, &sessions, 2, false);
    report("1000 turns", before, restarted.elapsed());
    until_all_idle(&rat, &records, &sessions);
    for session in &sessions {
        let head = records.alive(session);
        // One Turn, one input, and two Items: what was asked and what was answered, once.
        assert_eq!((head.next.turn, head.next.input, head.next.item), (2, 2, 3));
    }
    for session in sessions.iter().step_by(100) {
        let items = rat.items(session);
        assert_eq!(
            count(&items, |item| item["content"][0]["text"] == "finished"),
            1
        );
    }
    rat.stop();
}
