//! A Session that is deleted in the middle of its work leaves nothing behind, whatever is killed while it is erased.

use std::path::Path;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::dice::{self, Dice};
use super::processes::{self, Role};
use super::rat::{Rat, until};
use super::records::Records;
use super::transcript::script;

/// A Session with a blob (its message is too large for a row), a workspace, and a Turn that is worked on.
fn busy_session(rat: &Rat) -> String {
    let padding = "x".repeat(80 << 10);
    let work = script(20, 30);
    rat.create(&format!(
        "@exec echo made > /workspace/outputs/made.txt; (sleep 600 &)\n{work}\n{padding}"
    ))
}

/// Regular files below a directory, other than what crashed writes left in places that are swept.
fn files(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with(".tmp") {
                todo.push(path);
            } else if path.is_file() {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// Waits until nothing of the Session is left: rows, agenda, blobs, workspace, processes.
fn until_nothing_is_left(rat: &Rat, records: &Records, session: &str, why: &str) {
    let left = || {
        let mut left: Vec<String> = records
            .partition(format!("S/{session}"))
            .into_iter()
            .chain(records.agenda())
            .map(|record| record.key.to_string())
            .collect();
        let owned = records.partition(format!("O/{}", records.local.owner));
        left.extend(
            owned
                .iter()
                .map(|r| r.key.to_string())
                .filter(|key| key.contains(session)),
        );
        left.extend(files(&rat.data().join("blobs")));
        let environments = std::fs::read_dir(rat.data().join("environments"));
        left.extend(
            environments
                .into_iter()
                .flatten()
                .flatten()
                .map(|e| e.path().display().to_string()),
        );
        let processes: Vec<_> = rat
            .processes()
            .into_iter()
            .filter(|p| p.role == Role::Sandbox)
            .collect();
        if !processes.is_empty() {
            left.push(processes::shown(&processes));
        }
        left
    };
    until(
        || format!("{why}: left over: {}{}", left().join("\n"), rat.logs()),
        || left().is_empty().then_some(()),
    );
}

fn until_running(rat: &Rat, records: &Records, session: &str, commands: u64) {
    until(
        || format!("{commands} commands begin{}", rat.logs()),
        || {
            records
                .alive(session)
                .turn
                .filter(|turn| turn.outputs >= commands)
        },
    );
}

#[test]
fn nothing_is_left_of_a_session_deleted_while_it_runs() {
    let rat = Rat::new();
    let session = busy_session(&rat);
    let records = Records::open(&rat);
    until_running(&rat, &records, &session, 3);
    rat.ok(&["sessions", "delete", &session, "--yes"]);
    assert_eq!(
        rat.output(&["sessions", "get", &session]).status.code(),
        Some(3)
    );
    until_nothing_is_left(&rat, &records, &session, "deleted while it ran");
    // Its worker is not harmed.
    assert_eq!(rat.program(Role::Worker).len(), 1);
    rat.stop();
}

#[test]
fn nothing_is_left_of_an_idle_session_whose_environment_was_open() {
    let rat = Rat::new();
    let session = rat.create("@exec echo made > /workspace/outputs/made.txt; (sleep 600 &)");
    let records = Records::open(&rat);
    records.until_idle(&session, &rat);
    assert!(
        rat.processes()
            .iter()
            .any(|process| process.role == Role::Sandbox),
        "it lives between turns"
    );
    rat.ok(&["sessions", "delete", &session, "--yes"]);
    until_nothing_is_left(&rat, &records, &session, "deleted while idle");
    rat.stop();
}

#[test]
fn nothing_is_left_of_a_deleted_session_after_kills_at_any_instant() {
    const ROUNDS: u64 = 24;
    let seed = dice::seed();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || {
                for round in (worker..ROUNDS).step_by(4) {
                    delete_and_kill(seed, round);
                }
            });
        }
    });
}

fn delete_and_kill(seed: u64, round: u64) {
    let mut dice = Dice::of_round(seed, round);
    let rat = Rat::new();
    let session = busy_session(&rat);
    let records = Records::open(&rat);
    until_running(&rat, &records, &session, dice.below(5));
    rat.ok(&["sessions", "delete", &session, "--yes"]);
    for _ in 0..1 + dice.below(3) {
        std::thread::sleep(Duration::from_micros(dice.below(30_000)));
        rat.kill_everything();
        rat.ok(&["daemon", "start"]);
    }
    until_nothing_is_left(
        &rat,
        &records,
        &session,
        &format!("seed {seed}, round {round}"),
    );
    rat.stop();
}
