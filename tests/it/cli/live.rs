//! What a follower sees while it is being written: as events for programs, as a few moving lines for people.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::ChildStdout;

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::env::TestEnv;
use super::terminal::Terminal;
use super::tty::what_stays;

/// Whether somebody overhears this Session.
fn is_overheard(env: &TestEnv, session: &str) -> bool {
    let prefix = format!("live-{session}-");
    let sockets = std::fs::read_dir(env.data().join("run")).expect("lists");
    sockets
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .any(|name| name.starts_with(&prefix))
}

fn events(stdout: ChildStdout) -> Vec<Value> {
    let lines = BufReader::new(stdout).lines();
    lines
        .map(|line| serde_json::from_str(&line.expect("reads")).expect("an event"))
        .collect()
}

fn of<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["type"] == kind)
}

#[test]
fn events_that_are_followed_tell_text_between_the_beginning_and_the_end_of_its_item() {
    let env = TestEnv::new();
    let input = "'@reason hm\n@slow 300 one two three four'";
    let create = format!(
        "sessions create --environment none --no-autostart --no-wait --input {input} -o id"
    );
    let session = env.ok(&create);
    let mut follower = env
        .command(["sessions", "events", &session, "--follow", "-o", "jsonl"])
        .spawn()
        .expect("starts");
    env.until("somebody listens", || is_overheard(&env, &session));
    env.ok("daemon start");
    let events = events(follower.stdout.take().expect("is piped"));
    assert!(follower.wait().expect("ends").success());
    assert!(!is_overheard(&env, &session), "it took its socket along");

    let delta = "agent.session.turn.output_text.delta";
    let told: String = of(&events, delta)
        .filter_map(|event| event["delta"].as_str())
        .collect();
    assert!(
        !told.is_empty() && "one two three four".starts_with(&told),
        "{told:?}"
    );
    let first = of(&events, delta).next().expect("some text");
    let done = of(&events, "agent.session.turn.item.done")
        .find(|event| event["item"]["id"] == first["item_id"])
        .expect("its item is complete in the end");
    assert_eq!(done["output_index"], first["output_index"]);
    assert_eq!(done["turn_id"], first["turn_id"]);
    assert_eq!(done["session_id"], session.as_str());
    let place = |event: &Value| events.iter().position(|other| other == event);
    assert!(of(&events, delta).all(|event| place(event) < place(done)));
    let ids: BTreeSet<&str> = events
        .iter()
        .filter_map(|event| event["event_id"].as_str())
        .collect();
    assert_eq!(ids.len(), events.len());

    // It is in no journal: nobody is told it later. Behind it comes the rest of its Item.
    let later = env.ok(&format!("sessions events {session} --all -o json"));
    assert!(!later.contains(delta), "{later}");
    let id = first["event_id"].as_str().expect("a text");
    let rest = env.json(&format!("sessions events {session} --after {id} --all"));
    let rest = rest["data"].as_array().expect("a list");
    assert!(
        rest.iter()
            .any(|event| event["event_id"] == done["event_id"])
    );
}

#[test]
fn a_person_sees_output_while_the_command_runs_and_once_when_it_is_over() {
    let env = TestEnv::new();
    let input =
        r#"@exec echo $((40+2))x; printf "\033[2J\033[3"; sleep 2; printf "1mred\033[0m\n""#;
    let line = format!("sessions create --input '{input}' --color never");
    let terminal = Terminal::start(&env, 80, &line);
    terminal.wait_for("42x");
    let session = env.ok("sessions list -o id");
    let now = env.json(&format!("sessions get {session}"));
    assert_eq!(now["status"], "in_progress");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("\x1b[2J"), "{seen:?}");
    assert!(!seen.contains("␛[3\n"), "{seen:?}");
    let stays = what_stays(&seen);
    assert_eq!(stays.matches("42x").count(), 1, "{stays}");
    assert!(stays.contains("␛[2Jred\n"), "{stays}");
}

#[test]
fn a_message_appears_as_it_is_written_and_stays_once() {
    let env = TestEnv::new();
    let line =
        "sessions create --environment none --input '@slow 400 first second third' --color never";
    let terminal = Terminal::start(&env, 80, line);
    terminal.wait_for("agent     first");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    let stays = what_stays(&seen);
    assert_eq!(
        stays.matches("agent     first second third\n").count(),
        1,
        "{stays}"
    );
    // The user's message has them too.
    assert_eq!(stays.matches("first").count(), 2, "{stays}");
}

#[test]
fn where_nothing_may_move_only_what_is_complete_is_printed() {
    for (name, value) in [("CI", "1"), ("TERM", "dumb"), ("ACCESSIBLE", "1")] {
        let env = TestEnv::new().with(name, value);
        let line = "sessions create --environment none --input '@slow 100 first second third' --color never";
        let (seen, code) = Terminal::start(&env, 80, line).end();
        assert_eq!(code, 0, "{seen}");
        assert!(!seen.contains('\x1b'), "{name}: {seen:?}");
        let lines = seen.lines().filter(|line| line.starts_with("agent"));
        assert_eq!(lines.count(), 1, "{name}: {seen}");
    }
}
