//! The command that hands something over is killed: under the same key it was accepted once or not at all, and then once.

use std::collections::BTreeSet;
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::dice::{self, Dice};
use super::rat::Rat;
use super::records::Records;
use super::transcript::count;

const ROUNDS: usize = 40;

/// Runs a command and kills it at a random instant of its life.
fn killed(rat: &Rat, args: &[&str], dice: &mut Dice) {
    let mut child = rat.spawn(args);
    std::thread::sleep(Duration::from_micros(dice.below(30_000)));
    // It may have ended by itself: then it was accepted for certain.
    let _ = child.kill();
    child.wait().expect("it was started here");
}

#[test]
fn a_create_that_was_killed_and_is_repeated_makes_one_session() {
    let mut dice = Dice::new(dice::seed());
    let rat = Rat::with("daemon.autostart = false");
    let mut sessions = BTreeSet::new();
    for round in 0..ROUNDS {
        let (key, input) = (format!("create-{round}"), format!("@say number {round}"));
        let args = [
            "sessions",
            "create",
            "--input",
            &input,
            "--idempotency-key",
            &key,
            "-o",
            "id",
        ];
        killed(&rat, &args, &mut dice);
        let session = rat.ok(&args);
        assert_eq!(rat.ok(&args), session);
        sessions.insert(session.trim().to_owned());
    }
    let listed: BTreeSet<String> = rat
        .ok(&["sessions", "list", "--all", "-o", "id"])
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(listed, sessions);
    assert_eq!(sessions.len(), ROUNDS);
    let records = Records::open(&rat);
    rat.ok(&["daemon", "start"]);
    for session in &sessions {
        records.until_idle(session, &rat);
        assert_eq!(rat.items(session).len(), 2);
    }
    rat.stop();
}

#[test]
fn a_send_that_was_killed_and_is_repeated_is_one_input() {
    let mut dice = Dice::new(dice::seed());
    let rat = Rat::with("daemon.autostart = false");
    let session = rat.create("@say begun");
    let mut accepted_by_the_killed = 0;
    for round in 0..ROUNDS {
        let (key, input) = (format!("send-{round}"), format!("@say number {round}"));
        let args = [
            "sessions",
            "send",
            &session,
            "--input",
            &input,
            "--idempotency-key",
            &key,
        ];
        killed(&rat, &args, &mut dice);
        let receipt = rat.json(&args);
        let again = rat.json(&args);
        assert_eq!(
            (&again["id"], &again["repeated"]),
            (&receipt["id"], &true.into())
        );
        accepted_by_the_killed += usize::from(receipt["repeated"] == true);
    }
    let records = Records::open(&rat);
    assert_eq!(
        records.alive(&session).next.input,
        ROUNDS as u64 + 2,
        "{accepted_by_the_killed} were accepted before the kill"
    );
    rat.ok(&["daemon", "start"]);
    records.until_idle(&session, &rat);
    let items = rat.items(&session);
    for round in 0..ROUNDS {
        let text = format!("@say number {round}");
        let is_it = |item: &Value| item["role"] == "user" && item["content"][0]["text"] == *text;
        assert_eq!(count(&items, is_it), 1, "{text}");
    }
    rat.stop();
}

#[test]
fn one_key_used_by_many_at_once_makes_one_session() {
    let rat = Rat::with("daemon.autostart = false");
    let args = [
        "sessions",
        "create",
        "--input",
        "@say one",
        "--idempotency-key",
        "shared",
        "-o",
        "id",
    ];
    let answers: BTreeSet<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| rat.ok(&args))).collect();
        all.into_iter()
            .map(|one| one.join().expect("answered"))
            .collect()
    });
    assert_eq!(answers.len(), 1);
    assert_eq!(
        rat.ok(&["sessions", "list", "--all", "-o", "id"])
            .lines()
            .count(),
        1
    );
}
