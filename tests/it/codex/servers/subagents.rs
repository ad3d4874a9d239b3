//! Calls of agents that the agent started: each is theirs, recorded before it happens and before its model is told, and made once.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::http::{Manner, Server};
use super::over_http::{knowing, tool};
use super::script::server;
use super::{asks, calls, mcp, said};
use crate::codex::losses::{kill_codex, kill_workers, one_turn_completed};
use crate::codex::stub::{Answer, Asked, Gate, Stub};
use crate::codex::subagents::{data, delegates, is_root, started_by, subagents, was_told};
use crate::codex::world::{last_turn, rat, settled, stop, stop_killed};
use crate::kill::rat::{Rat, until};

/// The agent starts one that calls `note` of this server; after that it says `answer`.
fn starts_one(asked: &Asked, label: &str, answer: Answer) -> Answer {
    if !is_root(asked) {
        return match was_told(asked, "call_1") {
            false => asks(
                Answer::new(),
                "call_1",
                label,
                "note",
                &json!({"text": "x"}),
            ),
            true => answer,
        };
    }
    match started_by(asked, "spawn") {
        None => delegates("spawn", "spawn_agent", &json!({"message": "note it"})),
        Some(_) if was_told(asked, "wait") => Answer::new().says("done"),
        Some(agent) => delegates("wait", "wait_agent", &json!({"targets": [agent]})),
    }
}

/// A Session whose Agent may start others and has this tool; its id.
fn create(rat: &Rat, tool: &Value, environment: &str) -> String {
    let request = json!({
        "agent": {"model": "stub-model", "multi_agent": {"enabled": true}, "tools": [tool]},
        "environment": {"type": environment},
        "input": "go",
    });
    let file = rat.path().join("request.json");
    std::fs::write(&file, request.to_string()).expect("written");
    let file = file.to_str().expect("a plain path");
    let args = ["sessions", "create", "-f", file, "--no-wait", "-o", "id"];
    rat.ok(&args).trim().to_owned()
}

/// The calls of the one subagent.
fn own_calls(rat: &Rat, session: &str) -> Vec<Value> {
    let all = subagents(rat, session);
    assert_eq!(all.len(), 1, "{all:#?}");
    let id = all[0]["id"].as_str().expect("an id");
    let items = data(&rat.json(&["sessions", "subagents", session, id, "--all"]));
    let calls = items.into_iter().filter(|item| item["type"] == "mcp_call");
    calls.collect()
}

/// A server that works on a call until a file is there.
fn held() -> Value {
    let wait = "until [ -e /workspace/go-on ]; do sleep 0.05; done; text='after all'";
    mcp("calc", server(wait), json!({}))
}

fn go_on(rat: &Rat, session: &str) {
    std::fs::write(rat.workspace(session).join("go-on"), "").expect("written");
}

/// Waits until the server works on a call, which is the subagent's and recorded by then. The root agent has none.
fn until_reached(rat: &Rat, session: &str) {
    until(
        || format!("the server is called{}", rat.logs()),
        || (!rat.lines(session, "calls").is_empty()).then_some(()),
    );
    let own = own_calls(rat, session);
    assert_eq!(
        (
            own.len(),
            &own[0]["status"],
            &own[0]["server_label"],
            &own[0]["name"]
        ),
        (1, &json!("in_progress"), &json!("calc"), &json!("note"))
    );
    assert_eq!(own[0]["arguments"], json!({"text": "x"}));
    assert_eq!(calls(rat, session), [Value::Null; 0]);
}

/// One Turn completed, the server was called once, and the subagent's one call ended so.
fn happened_once(rat: &Rat, session: &str, turn: &Value, status: &str) -> Value {
    one_turn_completed(rat, session, turn);
    assert_eq!(rat.lines(session, "calls").len(), 1);
    let mut own = own_calls(rat, session);
    assert_eq!(
        (own.len(), &own[0]["status"]),
        (1, &json!(status)),
        "{own:#?}"
    );
    assert_eq!(subagents(rat, session)[0]["status"], "closed");
    own.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subagents_call_is_recorded_before_it_happens_and_its_end_before_its_model_is_told() {
    let gate = Gate::new();
    let at = gate.clone();
    let stub = Stub::playing(move |asked| {
        starts_one(asked, "calc", Answer::new().until(&at).says("it is noted"))
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, &held(), "openai_hosted");
    until_reached(&rat, &session);
    let turn = rat.turns(&session)[0]["id"].clone();
    go_on(&rat, &session);
    gate.reached().await;
    // Whoever would still have to record it is gone.
    kill_workers(&rat);
    let own = own_calls(&rat, &session);
    assert_eq!(
        (&own[0]["status"], said(&own[0])),
        (&json!("completed"), "after all")
    );
    gate.open();
    settled(&rat, &session);
    happened_once(&rat, &session, &turn, "completed");
    stop_killed(&rat);
}

/// Something is killed while a subagent's call is held: that call's outcome is unknown, and it is made once.
async fn lost_during_a_call(lose: impl Fn(&Rat, &str)) {
    let stub =
        Stub::playing(|asked| starts_one(asked, "calc", Answer::new().says("it is noted"))).await;
    let rat = rat(&stub);
    let session = create(&rat, &held(), "openai_hosted");
    until_reached(&rat, &session);
    let turn = rat.turns(&session)[0]["id"].clone();
    lose(&rat, &session);
    settled(&rat, &session);
    let call = happened_once(&rat, &session, &turn, "incomplete");
    let error = call["error"]["message"].as_str().expect("words");
    assert!(error.contains("outcome unknown"), "{error}");
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_is_killed_during_a_subagents_call_and_its_outcome_is_unknown() {
    lost_during_a_call(|rat, session| {
        kill_workers(rat);
        go_on(rat, session);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_is_killed_during_a_subagents_call_and_it_is_closed_with_what_is_known_of_it() {
    lost_during_a_call(|rat, _| kill_codex(rat)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subagent_calls_a_server_over_http_as_its_own_deed() {
    let far = Server::start(Manner {
        text: "it is noted".to_owned(),
        ..Manner::default()
    })
    .await;
    let stub =
        Stub::playing(|asked| starts_one(asked, "web", Answer::new().says("so it is"))).await;
    let rat = knowing(&stub, &far);
    let session = create(&rat, &tool(&far, json!({})), "none");
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    assert_eq!(far.calls().len(), 1);
    let own = own_calls(&rat, &session);
    assert_eq!((own.len(), said(&own[0])), (1, "it is noted"));
    assert_eq!(calls(&rat, &session), [Value::Null; 0]);
    stop(&rat);
}
