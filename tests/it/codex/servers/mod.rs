//! MCP servers of an Agent, with the real Codex.

/// A server over HTTP.
mod http;
/// Servers behind an address.
mod over_http;
/// Ids that come twice.
mod repeated;
/// Codex' own record of a conversation with calls of tools.
mod resumed;
/// A server as a shell's script.
pub(crate) mod script;
/// Servers that are processes in the environment.
mod stdio;
/// Calls of agents that the agent started.
mod subagents;
/// Where connections go.
mod traced;

use serde_json::{Value, json};

use super::stub::Answer;
use crate::kill::rat::Rat;

/// A tool of type mcp, with more fields.
pub(crate) fn mcp(label: &str, transport: Value, more: Value) -> Value {
    let mut tool = json!({"type": "mcp", "server_label": label, "transport": transport});
    let fields = more.as_object().expect("they are fields").clone();
    tool.as_object_mut().expect("it is one").extend(fields);
    tool
}

/// Creates a Session whose Agent has these tools; its id.
pub(crate) fn create(rat: &Rat, tools: &[Value], environment: &str, input: &str) -> String {
    let (output, id) = try_create(rat, tools, environment, input);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    id
}

/// The same, whatever comes of it.
fn try_create(
    rat: &Rat,
    tools: &[Value],
    environment: &str,
    input: &str,
) -> (std::process::Output, String) {
    let file = request(rat, tools, environment, input);
    let output = rat.output(&["sessions", "create", "-f", &file, "--no-wait", "-o", "id"]);
    let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output, id)
}

/// Writes such a request to a file; its path.
fn request(rat: &Rat, tools: &[Value], environment: &str, input: &str) -> String {
    let request = json!({
        "agent": {"model": "stub-model", "tools": tools},
        "environment": {"type": environment},
        "input": input,
    });
    let file = rat.path().join("request.json");
    std::fs::write(&file, request.to_string()).expect("written");
    file.to_str().expect("a plain path").to_owned()
}

/// An answer that calls a tool of a server.
pub(crate) fn asks(
    answer: Answer,
    call_id: &str,
    label: &str,
    tool: &str,
    arguments: &Value,
) -> Answer {
    answer.item(json!({
        "type": "function_call",
        "call_id": call_id,
        "namespace": format!("mcp__{label}"),
        "name": tool,
        "arguments": arguments.to_string(),
    }))
}

/// The MCP calls of a Session.
pub(crate) fn calls(rat: &Rat, session: &str) -> Vec<Value> {
    let items = rat.items(session).into_iter();
    items.filter(|item| item["type"] == "mcp_call").collect()
}

/// The names of the tools of a server that the model was offered.
fn offered(request: &super::stub::Asked, label: &str) -> Vec<String> {
    let tools = request.body["tools"].as_array().into_iter().flatten();
    let mut servers = tools.filter(|tool| tool["name"] == format!("mcp__{label}"));
    let tools = servers.next().and_then(|server| server["tools"].as_array());
    let names = tools.into_iter().flatten();
    names
        .filter_map(|tool| Some(tool["name"].as_str()?.to_owned()))
        .collect()
}

/// The one text of what a call returned.
fn said(call: &Value) -> &str {
    call["output"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}
