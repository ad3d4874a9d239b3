//! A provider that gives an id of a call more than once.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::script::server;
use super::{asks, calls, create, mcp, said};
use crate::codex::stub::{Answer, Stub};
use crate::codex::world::{last_turn, rat, settled, stop, transcript};

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_the_same_id_happen_each_and_each_has_its_own_end() {
    let note = |text: &str| {
        asks(
            Answer::new(),
            "call_0",
            "calc",
            "note",
            &json!({"text": text}),
        )
    };
    let stub = Stub::script([
        Answer::new().runs("call_0", "echo first"),
        Answer::new().runs("call_0", "echo second"),
        note("third"),
        note("fourth"),
        Answer::new().says("done"),
    ])
    .await;
    let rat = rat(&stub);
    let on_call = "text=\"call $(wc -l < /workspace/calls)\"";
    let session = create(
        &rat,
        &[mcp("calc", server(on_call), json!({}))],
        "openai_hosted",
        "go",
    );
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    let commands = transcript(&rat, &session);
    assert_eq!(
        commands[1..3],
        [
            "echo first [completed]: first",
            "echo second [completed]: second"
        ]
    );
    let all = calls(&rat, &session);
    let ends: Vec<_> = all
        .iter()
        .map(|call| (&call["status"], said(call)))
        .collect();
    assert_eq!(
        ends,
        [
            (&json!("completed"), "call 1"),
            (&json!("completed"), "call 2")
        ]
    );
    stop(&rat);
}
