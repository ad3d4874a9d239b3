//! What must hold after a round, whatever was killed and when.

use std::time::Duration;

use pretty_assertions::assert_eq;
use rat_things::engine::input::{EndRow, InputState};
use rat_things::engine::keys;
use rat_things::engine::view::turn_id;
use serde_json::Value;

use super::instant::{COMMANDS, Hit, Outcome, Plan, QUEUED, STEER, Target, line};
use super::processes::Role;
use super::rat::Rat;
use super::records::{Records, id, owes_nothing};
use super::transcript::{Ran, commands, lines_agree_with_commands};

/// Checks a Session that was stopped after everything it was sent.
pub fn check(plan: &Plan, rat: &Rat, records: &Records, session: &str, hit: &Hit) -> Outcome {
    let turn = &turn_id(&id(session), 1);
    let items = rat.items(session);
    let turns = rat.turns(session);
    assert_eq!(turns[0]["id"], **turn, "another turn went on");
    for turn in &turns {
        assert_eq!(turn["status"], "completed", "{turn}\n{}", rat.logs());
    }
    each_input_is_there_once(plan, records, session, &items);
    let ran = commands(&items);
    let log = rat.lines(session, "log.txt");
    each_command_was_called_once(&ran);
    let missing = lines_agree_with_commands(&ran, &log);
    let unknown = ran.iter().filter(|ran| ran.unknown).count();
    unknown_only_in_flight(plan, records, session, hit, unknown);
    artifact_is_right(plan, rat, records, session, turn, &ran);
    let head = records.alive(session);
    assert!(owes_nothing(&head), "{head:#?}");
    assert_eq!(records.agenda(), []);
    Outcome {
        target: plan.target,
        moment: hit.moment,
        hits: hit.processes.len(),
        unknown,
        missing,
        turns: turns.len(),
        went_on: Duration::ZERO,
    }
}

/// Every accepted input is one message of the transcript, is recorded as delivered, and was answered once.
fn each_input_is_there_once(plan: &Plan, records: &Records, session: &str, items: &[Value]) {
    let said = |role: &str| {
        let mut said: Vec<String> = items
            .iter()
            .filter(|item| item["type"] == "message" && item["role"] == role)
            .map(|item| {
                item["content"][0]["text"]
                    .as_str()
                    .expect("text")
                    .to_owned()
            })
            .collect();
        said.sort();
        said
    };
    let mut sent = vec![plan.script(), STEER.to_owned(), QUEUED.to_owned()];
    sent.sort();
    assert_eq!(said("user"), sent);
    let answers = ["finished", "heard the queued message", "heard the steer"];
    assert_eq!(said("assistant"), answers);
    assert_eq!(records.alive(session).next.input, 4);
    for input in 1..4 {
        let end: Option<EndRow> = records.row(session, keys::input_end(input));
        let delivered = matches!(
            &end,
            Some(EndRow {
                state: InputState::Delivered { .. },
                ..
            })
        );
        assert!(delivered, "input {input}: {end:?}");
    }
}

/// Each command was called once, those of the Turn in their order.
fn each_command_was_called_once(ran: &[Ran]) {
    let mut words: Vec<&str> = ran.iter().map(|ran| ran.word.as_str()).collect();
    let of_turn: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| word.starts_with("line-"))
        .collect();
    let mut expected: Vec<String> = (1..=COMMANDS).map(line).collect();
    assert_eq!(of_turn, expected);
    expected.extend(["queued".to_owned(), "steered".to_owned()]);
    words.sort_unstable();
    assert_eq!(words, expected);
}

/// A command's outcome is unknown only if its worker was killed while it was in flight; and then it is.
fn unknown_only_in_flight(
    plan: &Plan,
    records: &Records,
    session: &str,
    hit: &Hit,
    unknown: usize,
) {
    let of_killed = |name: &str| {
        let workers = hit.processes.iter().filter(|p| p.role == Role::Worker);
        workers
            .into_iter()
            .any(|worker| worker.identity.to_string() == name)
    };
    let worker_hit = hit.processes.iter().any(|p| p.role == Role::Worker);
    let lease = hit.after.fence.lease.as_ref();
    if plan.target == Target::Daemon {
        assert_eq!(unknown, 0, "a worker outlives its daemon");
    } else if !worker_hit {
        assert_eq!(unknown, 0, "no worker was hit");
    } else if lease.is_some_and(|lease| of_killed(&lease.execution.0)) {
        // Nobody has taken over yet: what the dead worker had in flight is what is unknown in the end.
        let in_flight = hit.after.turn.as_ref().map_or(0, |turn| turn.running.len());
        assert_eq!(unknown, in_flight);
    } else {
        assert!(unknown <= 1, "{unknown} unknown");
    }
    let counted: u32 = (1..records.alive(session).next.turn)
        .filter_map(|turn| records.row(session, keys::turn(turn)))
        .map(|turn: rat_things::engine::turn::TurnRow| turn.unknown_calls)
        .sum();
    assert_eq!(counted as usize, unknown, "as the turns themselves count");
}

/// The output file is an Artifact of the Turn that made it, byte for byte; unless the command that makes it was cut short.
fn artifact_is_right(
    plan: &Plan,
    rat: &Rat,
    records: &Records,
    session: &str,
    turn: &str,
    ran: &[Ran],
) {
    let file = rat.workspace(session).join("outputs/made.txt");
    let content = std::fs::read_to_string(file).ok();
    let writer = ran
        .iter()
        .find(|ran| ran.word == line(plan.writer))
        .expect("it ran");
    if !writer.unknown {
        assert_eq!(content.as_deref(), Some("made\n"));
    }
    let artifacts = rat.artifacts(session);
    let of_first = artifacts
        .iter()
        .filter(|artifact| artifact["turn_id"] == turn);
    let found: Vec<_> = of_first
        .map(|a| (a["path"].as_str(), a["size_bytes"].as_u64()))
        .collect();
    let expected: Vec<_> = content
        .iter()
        .map(|content| {
            (
                Some("/workspace/outputs/made.txt"),
                Some(content.len() as u64),
            )
        })
        .collect();
    assert_eq!(found, expected);
    for artifact in &artifacts {
        assert_eq!(Some(records.artifact(session, artifact)), content);
    }
}
