//! The messages of MCP, as far as they are read on their way between Codex and a server. Pure.

use serde_json::{Map, Value, json};

/// The call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// What the server's answer is known by.
    pub rpc_id: Value,
    /// The model's call, which Codex names beside it.
    pub call_id: Option<String>,
    /// The tool, by the server's own name.
    pub tool: String,
}

/// Whether a message is the call of a tool, the one request that has an effect.
pub fn tool_call(message: &Value) -> Option<ToolCall> {
    if message["method"] != "tools/call" {
        return None;
    }
    let params = &message["params"];
    Some(ToolCall {
        rpc_id: message["id"].clone(),
        call_id: params["_meta"]["callId"].as_str().map(str::to_owned),
        tool: params["name"].as_str().unwrap_or_default().to_owned(),
    })
}

/// A message as a server is sent it: with the Agent's own metadata, and without what Codex says there of itself.
pub fn outbound(mut message: Value, metadata: &Map<String, Value>) -> Value {
    let is_request = message["method"].is_string() && !message["id"].is_null();
    let Some(fields) = message.as_object_mut().filter(|_| is_request) else {
        return message;
    };
    let params = fields.entry("params").or_insert_with(|| json!({}));
    let Some(params) = params.as_object_mut() else {
        return message;
    };
    let mut told = metadata.clone();
    if let Some(Value::Object(mut own)) = params.remove("_meta")
        && let Some(token) = own.remove("progressToken")
    {
        told.insert("progressToken".to_owned(), token);
    }
    if !told.is_empty() {
        params.insert("_meta".to_owned(), Value::Object(told));
    }
    message
}

/// What a server answers, by what the request is known by: an object with `result` or `error` alone.
pub fn answer(message: &Value) -> Option<(&Value, Value)> {
    let id = message.get("id").filter(|id| !id.is_null())?;
    if message.get("method").is_some() {
        return None;
    }
    match (message.get("result"), message.get("error")) {
        (_, Some(error)) => Some((id, json!({"error": error}))),
        (Some(result), None) => Some((id, json!({"result": result}))),
        (None, None) => None,
    }
}

/// The answer to a request that was not passed on.
pub fn refusal(rpc_id: &Value, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": rpc_id, "error": {"code": -32_000, "message": why}})
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn call() -> Value {
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
            "_meta": {"callId": "c1", "threadId": "t", "progressToken": 3}, "name": "add", "arguments": {"a": 1},
        }})
    }

    #[test]
    fn a_call_is_known_by_the_models_call_and_anything_else_is_none() {
        assert_eq!(
            tool_call(&call()),
            Some(ToolCall {
                rpc_id: json!(7),
                call_id: Some("c1".into()),
                tool: "add".into()
            })
        );
        for other in [
            json!({"id": 1, "method": "tools/list"}),
            json!({"id": 1, "result": {"method": "tools/call"}}),
            json!([call()]),
        ] {
            assert_eq!(tool_call(&other), None, "{other}");
        }
    }

    #[test]
    fn a_server_is_told_the_agents_metadata_and_nothing_of_codex() {
        let metadata = json!({"team": "blue"});
        let metadata = metadata.as_object().expect("it is one");
        let sent = outbound(call(), metadata);
        assert_eq!(
            sent["params"],
            json!({"name": "add", "arguments": {"a": 1}, "_meta": {"team": "blue", "progressToken": 3}})
        );
        let bare = outbound(json!({"id": 1, "method": "tools/list"}), &Map::new());
        assert_eq!(bare, json!({"id": 1, "method": "tools/list", "params": {}}));
        let notice = json!({"method": "notifications/initialized"});
        assert_eq!(outbound(notice.clone(), metadata), notice);
        let answer = json!({"id": 4, "result": {}});
        assert_eq!(outbound(answer.clone(), metadata), answer);
    }

    #[test]
    fn answers_are_told_from_requests_and_notices() {
        let result = json!({"id": "a", "result": {"x": 1}});
        assert_eq!(
            answer(&result),
            Some((&json!("a"), json!({"result": {"x": 1}})))
        );
        let error = json!({"id": 1, "result": null, "error": {"code": 1}});
        assert_eq!(
            answer(&error),
            Some((&json!(1), json!({"error": {"code": 1}})))
        );
        for other in [
            json!({"id": 1, "method": "ping", "result": {}}),
            json!({"method": "notifications/progress"}),
            json!({"id": null, "error": {}}),
            json!({"id": 1}),
            json!("x"),
        ] {
            assert_eq!(answer(&other), None, "{other}");
        }
    }
}
