//! What is in a request and never in an answer.

use rat_things::api::*;
use serde_json::{Value, json};

use super::refusal::{AGENT_CREATE, AGENT_UPDATE, refused};
use super::samples::{saved_tools, session};

const MARK: &str = "hunter2";

/// A Session's body with a secret wherever there is room for one.
fn body() -> Value {
    let source = json!({"type": "base64", "data": MARK, "media_type": "application/zip"});
    json!({
        "agent": {
            "model": "m",
            "tools": [
                {
                    "type": "mcp", "server_label": "w",
                    "transport": {
                        "type": "http", "server_url": "u", "authorization": MARK,
                        "headers": {"X-Api-Key": MARK},
                    },
                },
                {
                    "type": "mcp", "server_label": "x",
                    "transport": {"type": "stdio", "command": "c", "cwd": "/", "env": {"TOKEN": MARK}},
                },
            ],
        },
        "environment": {
            "type": "openai_hosted", "env": {"TOKEN": MARK},
            "files": [{"type": "inline", "data": "aHVudGVyMg==", "path": "/workspace/a"}],
            "plugins": [{"type": "inline", "name": "p", "description": "d", "source": source}],
            "setup_commands": [{"command": format!("login {MARK}")}],
            "skills": [{"type": "inline", "name": "s", "description": "d", "source": source}],
        },
    })
}

#[test]
fn an_agents_snapshot_holds_no_secret_of_its_request() {
    let params = parse_session_create(body().to_string().as_bytes()).expect("accepted");
    let mut agent = SessionAgent::of_model("agent_1", "m");
    agent.override_with(params.agent.expect("given"));
    let shown = serde_json::to_string(&agent).expect("an Agent serialises");
    assert!(!shown.contains(MARK), "{shown}");
    assert!(shown.contains("\"server_url\":\"u\""), "{shown}");
}

#[test]
fn debug_output_of_requests_shows_no_secret() {
    let params = parse_session_create(body().to_string().as_bytes()).expect("accepted");
    let shown = format!("{params:?}");
    assert!(
        !shown.contains(MARK) && !shown.contains("aHVudGVyMg=="),
        "{shown}"
    );

    let login = json!({"events": [{
        "type": "agent.session.input.computer_use_approval_request_result", "request_id": "r",
        "response": {
            "type": "browser_authentication", "action": "submit",
            "fields": [{"field_id": "password", "value": MARK}],
        },
    }]});
    let params = parse_events(login.to_string().as_bytes()).expect("accepted");
    let shown = format!("{params:?}");
    assert!(
        !shown.contains(MARK) && shown.contains("password"),
        "{shown}"
    );
}

#[test]
fn a_client_can_send_its_secrets() {
    let params = parse_session_create(body().to_string().as_bytes()).expect("accepted");
    assert_eq!(serde_json::to_value(&params).ok(), Some(body()));
}

#[test]
fn refusals_repeat_no_secret() {
    for (path, wrong) in [
        ("/environment/files/0/data", json!(format!("{MARK}!"))),
        ("/environment/env/TOKEN", json!([MARK])),
        (
            "/agent/tools/0/transport/authorization",
            json!({MARK: MARK}),
        ),
    ] {
        let mut body = body();
        *body.pointer_mut(path).expect("it is there") = wrong;
        let error = parse_session_create(body.to_string().as_bytes()).expect_err("refused");
        assert!(!format!("{error:?}").contains(MARK), "{error:?}");
    }
}

/// Secrets put where a resource might keep them are lost on the way through its type.
#[test]
fn resources_have_no_room_for_secrets() {
    let mut session = session();
    session["environment"]["env"] = json!({"TOKEN": MARK});
    session["environment"]["setup_commands"] = json!([{"command": MARK}]);
    session["environment"]["files"][1]["data"] = json!(MARK);
    session["environment"]["skills"][1]["source"] = json!(MARK);
    session["environment"]["plugins"][0]["source"] = json!(MARK);
    session["agent"]["tools"][2]["transport"]["authorization"] = json!(MARK);
    session["agent"]["tools"][2]["transport"]["headers"] = json!({"Authorization": MARK});
    session["agent"]["tools"][3]["transport"]["env"] = json!({"TOKEN": MARK});
    let session: AgentSession = serde_json::from_value(session).expect("a Session");
    let shown = serde_json::to_string(&session).expect("a Session serialises");
    assert!(!shown.contains(MARK), "{shown}");

    let mut tool = saved_tools()[3].clone();
    tool["transport"]["authorization"] = json!(MARK);
    let tool: PersistedAgentTool = serde_json::from_value(tool).expect("a tool");
    assert!(!format!("{tool:?}").contains(MARK));
}

#[test]
fn a_saved_agent_refuses_headers_that_carry_credentials() {
    for name in [
        "Authorization",
        "proxy-authorization",
        "COOKIE",
        "X-Api-Key",
    ] {
        let tools = json!([{
            "type": "mcp", "server_label": "w",
            "transport": {"type": "http", "server_url": "u", "headers": {name: MARK}},
        }]);
        let param = format!("tools[0].transport.headers.{name}");
        let message = format!(
            "Invalid '{param}': a saved Agent can't hold credentials. \
             Give them when a Session is created, or name a vault's credential by 'credential_id'."
        );
        refused(
            AGENT_CREATE,
            json!({"model": "m", "tools": tools}),
            &param,
            &message,
        );
        refused(AGENT_UPDATE, json!({"tools": tools}), &param, &message);
    }
}
