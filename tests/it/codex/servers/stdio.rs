//! Servers that are processes in the environment.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::script::server;
use super::{asks, calls, create, mcp, offered, said, try_create};
use crate::codex::losses::{kill_codex, kill_workers, one_turn_completed};
use crate::codex::stub::{Answer, Stub};
use crate::codex::world::{last_turn, rat, send, settled, stop, stop_killed};
use crate::kill::rat::{Rat, until};

/// One call of `note`, and then a message.
fn one_call() -> [Answer; 2] {
    let call = asks(
        Answer::new(),
        "call_1",
        "calc",
        "note",
        &json!({"text": "x"}),
    );
    [call, Answer::new().says("done")]
}

/// What reached the server.
pub(super) fn reached(rat: &Rat, session: &str) -> Vec<Value> {
    let lines = rat.lines(session, "calls");
    let lines = lines.iter().map(|line| serde_json::from_str(line));
    lines.collect::<Result<_, _>>().expect("they are messages")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_called_recorded_told_and_known_in_the_next_turn() {
    let mut script = Vec::from(one_call());
    script.push(Answer::new().says("again"));
    let stub = Stub::script(script).await;
    let rat = rat(&stub);
    let tool = mcp(
        "calc",
        server("text='it is noted'"),
        json!({"request_metadata": {"team": "blue"}, "required": true}),
    );
    let session = create(&rat, &[tool], "openai_hosted", "go");
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    let all = calls(&rat, &session);
    assert_eq!(all.len(), 1, "{all:#?}");
    let call = &all[0];
    assert!(
        call["id"].as_str().is_some_and(|id| id.starts_with("mcp_")),
        "{call}"
    );
    assert_eq!(
        (
            &call["server_label"],
            &call["name"],
            &call["status"],
            &call["error"]
        ),
        (
            &json!("calc"),
            &json!("note"),
            &json!("completed"),
            &Value::Null
        )
    );
    assert_eq!(call["arguments"], json!({"text": "x"}));
    assert_eq!(said(call), "it is noted");
    let sent = reached(&rat, &session);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0]["params"]["arguments"], json!({"text": "x"}));
    assert_eq!(sent[0]["params"]["_meta"]["team"], "blue");
    // What Codex tells of itself is not for the server.
    assert_eq!(sent[0]["params"]["_meta"].get("callId"), None);
    assert_eq!(offered(&stub.asked(1).await, "calc"), ["note", "other"]);
    let told = stub.asked(2).await.outputs_of("call_1");
    assert!(
        told.len() == 1 && told[0].contains("it is noted"),
        "{told:?}"
    );
    send(&rat, &session, "and now");
    let third = stub.asked(3).await;
    let past = third
        .input()
        .iter()
        .find(|item| item["call_id"] == "call_1");
    let past = past.expect("the call is in the past");
    assert_eq!(
        (&past["namespace"], &past["name"]),
        (&json!("mcp__calc"), &json!("note"))
    );
    assert_eq!(third.outputs_of("call_1"), told);
    let shown = rat.ok(&["sessions", "items", &session]);
    assert!(shown.contains("calc.note("), "{shown}");
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_not_allowed_is_neither_offered_nor_called() {
    let stub = Stub::script([
        asks(Answer::new(), "call_1", "calc", "other", &json!({})),
        Answer::new().says("done"),
    ])
    .await;
    let rat = rat(&stub);
    let tool = mcp("calc", server(""), json!({"allowed_tools": ["note"]}));
    let session = create(&rat, &[tool], "openai_hosted", "go");
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed");
    assert_eq!(offered(&stub.asked(1).await, "calc"), ["note"]);
    assert_eq!(reached(&rat, &session), Vec::<Value>::new());
    let all = calls(&rat, &session);
    assert_eq!(
        (all.len(), &all[0]["status"], &all[0]["name"]),
        (1, &json!("failed"), &json!("other"))
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_reports_as_its_failure_is_output_and_error() {
    let stub = Stub::script(one_call()).await;
    let rat = rat(&stub);
    let tool = mcp("calc", server("text=boom failed=true"), json!({}));
    let session = create(&rat, &[tool], "openai_hosted", "go");
    settled(&rat, &session);
    let all = calls(&rat, &session);
    assert_eq!(all[0]["status"], "failed");
    assert_eq!(all[0]["error"], json!({"message": "boom"}));
    assert_eq!(all[0]["output"]["isError"], true);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_come_up_fails_the_turn_if_it_is_required_and_is_gone_without_if_not()
 {
    let broken = json!({"type": "stdio", "command": "bash", "args": ["-c", "echo no license >&2; exit 7"], "cwd": "/workspace"});
    let stub = Stub::playing(|_| Answer::new().says("done")).await;
    let rat = rat(&stub);
    let tool = mcp("calc", broken.clone(), json!({"required": true}));
    let session = create(&rat, &[tool], "openai_hosted", "go");
    settled(&rat, &session);
    let turn = rat.turns(&session)[0].clone();
    assert_eq!(turn["status"], "failed");
    let message = turn["error"]["message"].as_str().expect("words");
    for words in ["MCP server calc", "required", "exit code 7", "no license"] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(stub.requests().len(), 0, "the model was not asked");
    let tool = mcp("calc", broken, json!({}));
    let session = create(&rat, &[tool], "openai_hosted", "go");
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed");
    let logs = rat.logs();
    assert!(
        logs.contains("an MCP server did not come up") && logs.contains("exit code 7"),
        "{logs}"
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_in_the_sandbox_and_sees_nothing_of_the_machine() {
    let stub = Stub::script(one_call()).await;
    let port = stub
        .base_url
        .split([':', '/'])
        .nth(4)
        .expect("a port")
        .to_owned();
    let rat = rat(&stub);
    let data = rat.data().display().to_string();
    let on_call = format!(
        r#"text="user $(id -un); shadow $(head -c 4 /etc/shadow 2>/dev/null); data $(ls {data} 2>/dev/null); net $( (: </dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached); given $GIVEN; own $OWN; back $KEPT_BACK; end""#
    );
    let mut transport = server(&on_call);
    transport["env"] = json!({"OWN": "planted-own"});
    transport["env_vars"] = json!(["GIVEN"]);
    let request = json!({
        "agent": {"model": "stub-model", "tools": [mcp("calc", transport, json!({}))]},
        "environment": {"type": "openai_hosted", "env": {"GIVEN": "1", "KEPT_BACK": "2"}},
        "input": "go",
    });
    let file = rat.path().join("request.json");
    std::fs::write(&file, request.to_string()).expect("written");
    let file = file.to_str().expect("a plain path");
    let session = rat.ok(&["sessions", "create", "-f", file, "--no-wait", "-o", "id"]);
    let session = session.trim().to_owned();
    settled(&rat, &session);
    let all = calls(&rat, &session);
    assert_eq!(
        said(&all[0]),
        "user agent; shadow ; data ; net ; given 1; own planted-own; back ; end"
    );
    // A value that is given for a server is shown to that and to nobody else.
    let shown = rat.json(&["sessions", "get", &session]);
    assert!(!shown.to_string().contains("planted-own"), "{shown}");
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_output_is_shortened_and_the_turn_goes_on() {
    let stub = Stub::script(one_call()).await;
    let rat = rat(&stub);
    let on_call = "text=$(head -c 600000 /dev/zero | tr '\\0' x); text=\"first $text last\"";
    let tool = mcp("calc", server(on_call), json!({}));
    let session = create(&rat, &[tool], "openai_hosted", "go");
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed");
    let all = calls(&rat, &session);
    let text = said(&all[0]);
    assert!(text.starts_with("first x") && text.ends_with("x last"));
    assert!(
        text.len() < 80_000 && text.contains("bytes were left out"),
        "{}",
        text.len()
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_is_killed_during_a_call_and_the_next_one_is_told_the_real_answer() {
    let stub = Stub::script(one_call()).await;
    let rat = rat(&stub);
    let wait = "until [ -e /workspace/go-on ]; do sleep 0.05; done; text='after all'";
    let session = create(
        &rat,
        &[mcp("calc", server(wait), json!({}))],
        "openai_hosted",
        "go",
    );
    until_reached(&rat, &session);
    let turn = rat.turns(&session)[0]["id"].clone();
    kill_codex(&rat);
    std::fs::write(rat.workspace(&session).join("go-on"), "").expect("written");
    settled(&rat, &session);
    one_turn_completed(&rat, &session, &turn);
    assert_eq!(reached(&rat, &session).len(), 1);
    let all = calls(&rat, &session);
    assert_eq!(
        (all.len(), &all[0]["status"], said(&all[0])),
        (1, &json!("completed"), "after all")
    );
    let second = stub.asked(2).await;
    assert_eq!(second.outputs_of("call_1"), ["after all"]);
    assert_eq!(second.times_told("go"), 1);
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_is_killed_during_a_call_and_its_outcome_is_unknown() {
    let stub = Stub::script(one_call()).await;
    let rat = rat(&stub);
    let wait = "until [ -e /workspace/go-on ]; do sleep 0.05; done";
    let session = create(
        &rat,
        &[mcp("calc", server(wait), json!({}))],
        "openai_hosted",
        "go",
    );
    until_reached(&rat, &session);
    let turn = rat.turns(&session)[0]["id"].clone();
    kill_workers(&rat);
    settled(&rat, &session);
    one_turn_completed(&rat, &session, &turn);
    assert_eq!(reached(&rat, &session).len(), 1);
    let all = calls(&rat, &session);
    assert_eq!(
        (all.len(), &all[0]["status"], &all[0]["output"]),
        (1, &json!("incomplete"), &Value::Null)
    );
    let error = all[0]["error"]["message"].as_str().expect("words");
    assert!(error.contains("outcome unknown"), "{error}");
    let told = stub.asked(2).await.outputs_of("call_1");
    assert!(
        told.len() == 1 && told[0].contains("outcome unknown"),
        "{told:?}"
    );
    stop_killed(&rat);
}

pub(super) fn until_reached(rat: &Rat, session: &str) {
    until(
        || format!("the server is called{}", rat.logs()),
        || (!rat.lines(session, "calls").is_empty()).then_some(()),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_nowhere_to_run_is_refused_with_the_field() {
    let stub = Stub::script([]).await;
    let rat = rat(&stub);
    let tool = mcp("calc", server(""), json!({}));
    let (output, _) = try_create(&rat, &[tool], "none", "go");
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        words.contains("agent.tools[0].transport") || words.contains("environment"),
        "{words}"
    );
    stop(&rat);
}
