//! A Turn that waits for its client's answer keeps nothing alive, and goes on in the same Turn after everything was killed.

use pretty_assertions::assert_eq;
use rat_things::api::{SessionStatus, TurnStatus};
use serde_json::json;

use super::rat::{Rat, until};
use super::records::Records;
use super::transcript::{commands, count};

#[test]
fn a_function_call_waits_through_restarts_and_its_turn_goes_on() {
    let rat = Rat::new();
    let request = json!({
        "agent": {"model": "demo", "tools": [{"type": "function", "name": "ask", "description": "Asks somebody.", "parameters": {"type": "object", "properties": {}}}]},
        "environment": {"type": "openai_hosted"},
        "input": "@exec echo before >> /workspace/log.txt\n@call ask {\"what\": \"colour\"}\n@exec echo after >> /workspace/log.txt\n@say finished",
    });
    let file = rat.path().join("request.json");
    std::fs::write(&file, request.to_string()).expect("written");
    let args = [
        "sessions",
        "create",
        "-f",
        file.to_str().expect("a plain path"),
        "-o",
        "id",
    ];
    let session = rat.ok(&args).trim().to_owned();
    let records = Records::open(&rat);
    let turn = rat.turns(&session)[0]["id"].clone();
    for _ in 0..2 {
        let head = until(
            || format!("the turn waits{}", rat.logs()),
            || {
                Some(records.alive(&session)).filter(|head| {
                    head.status() == SessionStatus::RequiresAction && head.fence.lease.is_none()
                })
            },
        );
        assert_eq!(head.turn.map(|turn| turn.status), Some(TurnStatus::Waiting));
        // Nobody owes it anything until the answer comes.
        assert_eq!(records.agenda(), []);
        rat.kill_everything();
        rat.ok(&["daemon", "start"]);
    }
    let action = rat.json(&["sessions", "get", &session])["required_actions"][0].clone();
    assert_eq!(
        (&action["name"], &action["turn_id"]),
        (&"ask".into(), &turn)
    );
    rat.kill_everything();
    let answer = [
        "sessions",
        "answer",
        &session,
        "--result",
        "blue",
        "--idempotency-key",
        "blue",
    ];
    let receipt = rat.json(&answer);
    rat.kill_everything();
    assert_eq!(rat.json(&answer)["id"], receipt["id"]);
    records.until_idle(&session, &rat);
    let turns = rat.turns(&session);
    assert_eq!(
        (turns.len(), &turns[0]["id"], &turns[0]["status"]),
        (1, &turn, &"completed".into())
    );
    let items = rat.items(&session);
    assert_eq!(count(&items, |item| item["type"] == "function_call"), 1);
    assert_eq!(
        count(&items, |item| item["type"] == "function_call_output"
            && item["output"] == "blue"),
        1
    );
    let ran = commands(&items);
    let log = rat.lines(&session, "log.txt");
    // The first command ended before the call; the second may have been hit by the kill after the answer.
    assert!(!ran[0].unknown && ran.len() == 2, "{ran:?}");
    super::transcript::lines_agree_with_commands(&ran, &log);
    rat.stop();
}
