//! No connection of a Turn with MCP servers and a search leaves the machine.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::http::{Manner, Server};
use super::over_http::{knowing, tool};
use super::script::server;
use super::{asks, calls, mcp, request};
use crate::codex::stub::{Answer, Stub};
use crate::codex::trace::Trace;

#[tokio::test(flavor = "multi_thread")]
async fn servers_and_a_search_are_reached_over_loopback_and_the_data_directory_alone() {
    let far = Server::start(Manner::default()).await;
    let found = json!({"type": "web_search_call", "action": {"type": "search", "query": "q"}});
    let stub = Stub::script([
        asks(
            Answer::new(),
            "call_1",
            "calc",
            "note",
            &json!({"text": "x"}),
        ),
        asks(Answer::new(), "call_2", "web", "note", &json!({})),
        Answer::new().runs("call_3", "echo one"),
        Answer::new().item(found).says("done"),
    ])
    .await;
    let rat = knowing(&stub, &far);
    let tools = [
        mcp("calc", server(""), json!({"required": true})),
        tool(&far, json!({"required": true})),
        json!({"type": "web_search", "mode": "live"}),
    ];
    let file = request(&rat, &tools, "openai_hosted", "go");
    let trace = Trace::start(
        &rat,
        &["sessions", "create", "-f", &file, "--no-wait", "-o", "id"],
    );
    stub.asked(4).await;
    let connections = trace.settled_and_stopped(&rat);
    let sessions = rat.json(&["sessions", "list"]);
    let session = sessions["data"][0]["id"].as_str().expect("it is there");
    let calls = calls(&rat, session).into_iter();
    let ended: Vec<_> = calls.map(|call| call["status"].clone()).collect();
    assert_eq!(ended, ["completed", "completed"]);
    let items = rat.items(session);
    let searched = items.iter().any(|item| item["type"] == "web_search_call");
    assert!(searched, "{items:#?}");
    rat.stop();
    connections.stay_on_the_machine(&rat);
}
