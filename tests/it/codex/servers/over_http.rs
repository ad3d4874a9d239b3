//! Servers behind an address.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::http::{Manner, Server};
use super::{asks, calls, create, mcp, said, try_create};
use crate::codex::installed::codex;
use crate::codex::losses::{kill_codex, one_turn_completed};
use crate::codex::refusals::files;
use crate::codex::stub::{Answer, Gate, Stub};
use crate::codex::world::{last_turn, profiled, rat, settled, stop, stop_killed, the_codex};
use crate::kill::rat::Rat;

pub(super) const SECRET: &str = "planted-mcp-bearer-0123456789";

/// A data directory whose operator named the server.
pub(super) fn knowing(stub: &Stub, server: &Server) -> Rat {
    let program = codex();
    let program = program.to_str().expect("a path of text");
    let named = format!("mcp.private_hosts = [\"{}\"]", server.authority);
    profiled(stub, program, &named)
}

pub(super) fn tool(server: &Server, more: Value) -> Value {
    let transport = json!({"type": "http", "server_url": server.url,
        "authorization": format!("Bearer {SECRET}"), "headers": {"x-team": "blue"}});
    mcp("web", transport, more)
}

fn one_call() -> [Answer; 2] {
    let call = asks(
        Answer::new(),
        "call_1",
        "web",
        "note",
        &json!({"text": "x"}),
    );
    [call, Answer::new().says("done")]
}

fn saying(text: &str) -> Manner {
    Manner {
        text: text.to_owned(),
        ..Manner::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_an_environment_calls_a_server_that_is_shown_what_only_it_may_see() {
    let gate = Gate::new();
    let server = Server::start(saying("it is noted")).await;
    let [call, done] = one_call();
    let stub = Stub::script([call, Answer::new().until(&gate).says("done")]).await;
    drop(done);
    let rat = knowing(&stub, &server);
    let session = create(
        &rat,
        &[tool(&server, json!({"required": true}))],
        "none",
        "go",
    );
    gate.reached().await;
    let pid = the_codex(&rat).pid;
    let holds = |bytes: &[u8]| {
        bytes
            .windows(SECRET.len())
            .any(|part| part == SECRET.as_bytes())
    };
    for file in ["environ", "cmdline"] {
        let text = std::fs::read(format!("/proc/{pid}/{file}")).expect("it lives");
        assert!(!holds(&text), "{file}");
    }
    for file in files(&rat.data()) {
        let content = std::fs::read(&file).unwrap_or_default();
        assert!(!holds(&content), "{}", file.display());
    }
    gate.open();
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    let all = calls(&rat, &session);
    assert_eq!(
        (all.len(), &all[0]["status"], said(&all[0])),
        (1, &json!("completed"), "it is noted")
    );
    for reached in server.reached() {
        assert_eq!(reached.headers["authorization"], format!("Bearer {SECRET}"));
        assert_eq!(reached.headers["x-team"], "blue");
    }
    assert_eq!(server.calls().len(), 1);
    let shown = rat.json(&["sessions", "get", &session]).to_string();
    assert!(
        shown.contains(&server.url) && !shown.contains(SECRET),
        "{shown}"
    );
    let told = stub.asked(2).await.outputs_of("call_1");
    assert!(told[0].contains("it is noted"), "{told:?}");
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_streamed_is_heard() {
    let server = Server::start(Manner {
        streams: true,
        ..saying("streamed")
    })
    .await;
    let stub = Stub::script(one_call()).await;
    let rat = knowing(&stub, &server);
    let session = create(&rat, &[tool(&server, json!({}))], "openai_hosted", "go");
    settled(&rat, &session);
    let all = calls(&rat, &session);
    assert_eq!(
        (all.len(), &all[0]["status"], said(&all[0])),
        (1, &json!("completed"), "streamed")
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_not_public_is_asked_only_if_the_operator_named_it() {
    let server = Server::start(saying("")).await;
    let stub = Stub::script([]).await;
    let rat = rat(&stub);
    let session = create(
        &rat,
        &[tool(&server, json!({"required": true}))],
        "none",
        "go",
    );
    settled(&rat, &session);
    let turn = rat.turns(&session)[0].clone();
    let message = turn["error"]["message"].as_str().expect("words");
    assert!(
        message.contains("not a public address") && message.contains("mcp.private_hosts"),
        "{message}"
    );
    assert_eq!(server.reached().len(), 0);
    let from_inside = tool(&server, json!({"connection_origin": "environment"}));
    let (output, _) = try_create(&rat, &[from_inside], "openai_hosted", "go");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && words.contains("network"),
        "{words}"
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_is_killed_during_a_call_which_is_made_once_and_its_answer_told() {
    let gate = Gate::new();
    let server = Server::start(Manner {
        gate: Some(gate.clone()),
        ..saying("after all")
    })
    .await;
    let stub = Stub::script(one_call()).await;
    let rat = knowing(&stub, &server);
    let session = create(&rat, &[tool(&server, json!({}))], "none", "go");
    gate.reached().await;
    let turn = rat.turns(&session)[0]["id"].clone();
    kill_codex(&rat);
    gate.open();
    settled(&rat, &session);
    one_turn_completed(&rat, &session, &turn);
    assert_eq!(server.calls().len(), 1);
    let all = calls(&rat, &session);
    assert_eq!(
        (all.len(), &all[0]["status"], said(&all[0])),
        (1, &json!("completed"), "after all")
    );
    assert_eq!(stub.asked(2).await.outputs_of("call_1"), ["after all"]);
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_server_fails_is_not_made_again() {
    for (status, expect) in [(403, "failed"), (500, "incomplete")] {
        let server = Server::start(Manner {
            status: Some(status),
            ..Manner::default()
        })
        .await;
        let stub = Stub::script(one_call()).await;
        let rat = knowing(&stub, &server);
        let session = create(&rat, &[tool(&server, json!({}))], "none", "go");
        settled(&rat, &session);
        assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
        assert_eq!(server.calls().len(), 1, "{status}");
        let all = calls(&rat, &session);
        assert_eq!(
            (all.len(), &all[0]["status"]),
            (1, &json!(expect)),
            "{all:?}"
        );
        let error = all[0]["error"]["message"].as_str().expect("words");
        assert!(error.contains(&format!("HTTP {status}")), "{error}");
        stop(&rat);
    }
}
