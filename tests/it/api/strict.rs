//! What the strict reader refuses, and which field it names.

use pretty_assertions::assert_eq;
use rat_things::api::*;
use serde_json::{Value, json};

/// A body for a route, as its parser takes it; the answer is the refusal, if any.
pub type Parser = fn(&[u8]) -> Result<(), ApiError>;

pub const AGENT_CREATE: Parser = |body| parse_agent_create(body).map(drop);
pub const AGENT_UPDATE: Parser = |body| parse_agent_update(body).map(drop);
pub const SESSION_CREATE: Parser = |body| parse_session_create(body).map(drop);
pub const SESSION_UPDATE: Parser = |body| parse_session_update(body).map(drop);
pub const EVENTS: Parser = |body| parse_events(body).map(drop);

/// Checks that a body is refused with this `param` and message.
#[track_caller]
pub fn refused(parser: Parser, body: Value, param: &str, message: &str) {
    let text = body.to_string();
    let Err(error) = parser(text.as_bytes()) else {
        panic!("accepted: {text}");
    };
    assert_eq!(
        (error.param.as_deref().unwrap_or(""), error.message.as_str()),
        (param, message)
    );
    assert_eq!(
        (error.status, error.kind.as_str()),
        (400, "invalid_request_error")
    );
    assert_eq!(error.code.as_deref(), Some("invalid_request_error"));
}

/// Checks that a body is accepted.
#[track_caller]
pub fn accepted(parser: Parser, body: Value) {
    let text = body.to_string();
    if let Err(error) = parser(text.as_bytes()) {
        panic!("{error} ({:?}): {text}", error.param);
    }
}

/// A Session's body with this environment.
pub fn with_environment(environment: Value) -> Value {
    json!({"agent_id": "agent_1", "environment": environment})
}

/// A Session's body with these tools.
pub fn with_tools(tools: Value) -> Value {
    json!({"agent_id": "agent_1", "agent": {"tools": tools}, "environment": {"type": "openai_hosted"}})
}

/// A body with one input.
pub fn with_event(event: Value) -> Value {
    json!({"events": [event]})
}

#[test]
fn bytes_that_are_no_json_object_are_refused() {
    let check = |body: &[u8], message: &str| {
        let error = parse_events(body).expect_err("refused");
        assert_eq!((error.status, error.param.as_deref()), (400, None));
        assert_eq!(error.message, message);
    };
    check(
        b"{\"events\": \"\xff\"}",
        "The request body is not valid UTF-8: byte 12 does not fit.",
    );
    check(
        b"{\"events\": ",
        "The request body could not be parsed as JSON: EOF while parsing a value at line 1 column 11.",
    );
    check(
        b"",
        "The request body could not be parsed as JSON: EOF while parsing a value at line 1 column 0.",
    );
    check(
        br#"{"events": "\ud800"}"#,
        "The request body could not be parsed as JSON: unexpected end of hex escape at line 1 column 19.",
    );
    check(
        b"[]",
        "Invalid type for the request body: expected an object, but got an array instead.",
    );
    check(
        b"null",
        "Invalid type for the request body: expected an object, but got null instead.",
    );
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
    let body = "[".repeat(100_000);
    let error = parse_events(body.as_bytes()).expect_err("refused");
    assert!(
        error.message.contains("recursion limit exceeded"),
        "{}",
        error.message
    );
}

#[test]
fn an_update_may_have_an_empty_body() {
    assert_eq!(parse_agent_update(b""), Ok(AgentUpdateParams::default()));
    assert_eq!(
        parse_session_update(b""),
        Ok(SessionUpdateParams::default())
    );
    assert_eq!(parse_agent_update(b"{}"), Ok(AgentUpdateParams::default()));
    assert_eq!(
        parse_session_update(b"{}"),
        Ok(SessionUpdateParams::default())
    );
}

#[test]
fn unknown_fields_are_refused_by_their_path_at_every_depth() {
    let check = |parser: Parser, body: Value, path: &str| {
        refused(parser, body, path, &format!("Unknown parameter: '{path}'."));
    };
    check(
        AGENT_CREATE,
        json!({"model": "m", "temperature": 1}),
        "temperature",
    );
    check(AGENT_UPDATE, json!({"id": "agent_1"}), "id");
    check(
        AGENT_CREATE,
        json!({"model": "m", "text": {"format": {"type": "text", "schema": {}}}}),
        "text.format.schema",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "multi_agent": {"enabled": true, "x": 1}}),
        "multi_agent.x",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "tools": [{"type": "tool_search"}, {"type": "automations", "x": 1}]}),
        "tools[1].x",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "tools": [{
            "type": "mcp", "server_label": "w",
            "transport": {"type": "http", "server_url": "u", "authorization": "a"},
        }]}),
        "tools[0].transport.authorization",
    );
    check(
        SESSION_CREATE,
        with_environment(json!({"type": "none", "files": []})),
        "environment.files",
    );
    check(
        SESSION_CREATE,
        with_environment(json!({"type": "self_hosted", "workspace_directory": "/w", "env": {}})),
        "environment.env",
    );
    check(
        SESSION_CREATE,
        with_environment(json!({
            "type": "openai_hosted",
            "files": [{"type": "inline", "path": "/workspace/a", "data": "", "file_id": "f"}],
        })),
        "environment.files[0].file_id",
    );
    check(
        SESSION_CREATE,
        with_environment(json!({
            "type": "openai_hosted",
            "plugins": [{
                "type": "inline", "name": "p", "description": "d",
                "source": {"type": "base64", "media_type": "application/zip", "data": "", "url": ""},
            }],
        })),
        "environment.plugins[0].source.url",
    );
    check(
        SESSION_CREATE,
        with_tools(json!([{"type": "web_search", "location": {"planet": "Mars"}}])),
        "agent.tools[0].location.planet",
    );
    check(
        SESSION_CREATE,
        json!({"agent_id": "a", "agent": {"name": "n"}, "environment": {"type": "none"}}),
        "agent.name",
    );
    check(
        SESSION_UPDATE,
        json!({"agent": {"instructions": "i"}}),
        "agent.instructions",
    );
    check(
        SESSION_UPDATE,
        json!({"agent": {"reasoning": {"summary": "auto"}}}),
        "agent.reasoning.summary",
    );
    check(EVENTS, json!({"events": [], "stream": true}), "stream");
    check(
        EVENTS,
        with_event(json!({"type": "agent.session.input.cancel", "call_id": "c"})),
        "events[0].call_id",
    );
    check(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.message",
            "input": [{"role": "user", "content": [
                {"type": "input_text", "text": "a"},
                {"type": "input_text", "text": "b", "image_url": "u"},
            ]}],
        })),
        "events[0].input[0].content[1].image_url",
    );
    check(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.computer_use_approval_request_result", "request_id": "r",
            "response": {"type": "browser_authentication", "action": "cancel", "fields": []},
        })),
        "events[0].response.fields",
    );
}

#[test]
fn missing_fields_are_named_by_their_path() {
    let check = |parser: Parser, body: Value, path: &str| {
        refused(
            parser,
            body,
            path,
            &format!("Missing required parameter: '{path}'."),
        );
    };
    check(AGENT_CREATE, json!({}), "model");
    check(
        AGENT_CREATE,
        json!({"model": "m", "multi_agent": {}}),
        "multi_agent.enabled",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "text": {"format": {}}}),
        "text.format.type",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "tools": [{}]}),
        "tools[0].type",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "tools": [{"type": "function", "name": "f", "description": "d"}]}),
        "tools[0].parameters",
    );
    check(
        SESSION_CREATE,
        json!({"agent_id": "agent_1"}),
        "environment",
    );
    check(
        SESSION_CREATE,
        with_environment(json!({})),
        "environment.type",
    );
    check(
        SESSION_CREATE,
        with_environment(json!({"type": "self_hosted"})),
        "environment.workspace_directory",
    );
    check(
        SESSION_CREATE,
        with_environment(json!({"type": "openai_hosted", "network": {}})),
        "environment.network.access",
    );
    check(
        SESSION_CREATE,
        with_environment(
            json!({"type": "openai_hosted", "files": [{"type": "inline", "path": "/workspace/a"}]}),
        ),
        "environment.files[0].data",
    );
    check(
        SESSION_UPDATE,
        json!({"spend_control": {}}),
        "spend_control.limit",
    );
    check(EVENTS, json!({}), "events");
    check(EVENTS, with_event(json!({})), "events[0].type");
    check(
        EVENTS,
        with_event(json!({"type": "agent.session.input.message"})),
        "events[0].input",
    );
    check(
        EVENTS,
        with_event(json!({"type": "agent.session.input.message", "input": [{"role": "user"}]})),
        "events[0].input[0].content",
    );
    for name in ["call_id", "success", "turn_id"] {
        let mut event = json!({
            "type": "agent.session.input.tool_result", "call_id": "c", "success": true, "turn_id": "t",
        });
        event.as_object_mut().expect("an object").remove(name);
        check(EVENTS, with_event(event), &format!("events[0].{name}"));
    }
    check(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.mcp_approval_request_result", "request_id": "r",
            "response": {"type": "mcp_tool_call"},
        })),
        "events[0].response.decision",
    );
}

#[test]
fn wrong_types_are_refused_with_what_was_expected_and_what_came() {
    let check = |parser: Parser, body: Value, path: &str, expected: &str, got: &str| {
        let message =
            format!("Invalid type for '{path}': expected {expected}, but got {got} instead.");
        refused(parser, body, path, &message);
    };
    check(
        AGENT_CREATE,
        json!({"model": 5}),
        "model",
        "a string",
        "an integer",
    );
    check(
        AGENT_CREATE,
        json!({"model": null}),
        "model",
        "a string",
        "null",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "name": ["n"]}),
        "name",
        "a string",
        "an array",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "metadata": {"a": 1.5}}),
        "metadata.a",
        "a string",
        "a decimal number",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "metadata": []}),
        "metadata",
        "an object",
        "an array",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "tools": {}}),
        "tools",
        "an array",
        "an object",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "tools": ["x"]}),
        "tools[0]",
        "an object",
        "a string",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "service_tier": 1}),
        "service_tier",
        "a string",
        "an integer",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "experimental": null}),
        "experimental",
        "an object",
        "null",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "multi_agent": {"enabled": "yes"}}),
        "multi_agent.enabled",
        "a boolean",
        "a string",
    );
    check(
        AGENT_CREATE,
        json!({"model": "m", "multi_agent": {"enabled": true, "max_concurrent_subagents": -1}}),
        "multi_agent.max_concurrent_subagents",
        "a non-negative integer",
        "a negative integer",
    );
    check(
        AGENT_UPDATE,
        json!({"model": null}),
        "model",
        "a string",
        "null",
    );
    check(
        SESSION_CREATE,
        json!({"agent_id": "a", "environment": {"type": "none"}, "input": 5}),
        "input",
        "a string or an array",
        "an integer",
    );
    check(
        SESSION_CREATE,
        json!({"agent_id": "a", "environment": "none"}),
        "environment",
        "an object",
        "a string",
    );
    check(
        SESSION_CREATE,
        json!({"agent_id": "a", "environment": {"type": "none"}, "stream": "true"}),
        "stream",
        "a boolean",
        "a string",
    );
    check(
        SESSION_CREATE,
        with_environment(json!({"type": "openai_hosted", "env": {"A": true}})),
        "environment.env.A",
        "a string",
        "a boolean",
    );
    check(
        SESSION_UPDATE,
        json!({"spend_control": {"limit": 1.5}}),
        "spend_control.limit",
        "a non-negative integer",
        "a decimal number",
    );
    check(
        EVENTS,
        json!({"events": {}}),
        "events",
        "an array",
        "an object",
    );
    check(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.tool_result", "call_id": "c", "success": true, "turn_id": "t",
            "output": {"temperature": 5},
        })),
        "events[0].output",
        "a string or an array",
        "an object",
    );
}

#[test]
fn words_outside_their_set_are_refused_with_the_set() {
    refused(
        AGENT_CREATE,
        json!({"model": "m", "reasoning": {"effort": "huge"}}),
        "reasoning.effort",
        "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'.",
    );
    refused(
        SESSION_CREATE,
        with_environment(json!({"type": "docker"})),
        "environment.type",
        "Invalid value: 'docker'. Supported values are: 'none', 'openai_hosted', 'self_hosted'.",
    );
    refused(
        SESSION_CREATE,
        with_tools(json!([{"type": "shell"}])),
        "agent.tools[0].type",
        "Invalid value: 'shell'. Supported values are: 'function', 'tool_search', \
         'programmatic_tool_calling', 'mcp', 'web_search', 'computer_use', 'automations'.",
    );
    refused(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.message",
            "input": [{"role": "assistant", "content": [{"type": "input_text", "text": "a"}]}],
        })),
        "events[0].input[0].role",
        "Invalid value: 'assistant'. Supported value is: 'user'.",
    );
    refused(
        EVENTS,
        with_event(json!({"type": "agent.session.input.pause"})),
        "events[0].type",
        "Invalid value: 'agent.session.input.pause'. Supported values are: \
         'agent.session.input.message', 'agent.session.input.cancel', 'agent.session.input.tool_result', \
         'agent.session.input.mcp_approval_request_result', \
         'agent.session.input.computer_use_approval_request_result'.",
    );
    refused(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.message", "delivery": "later",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}],
        })),
        "events[0].delivery",
        "Invalid value: 'later'. Supported values are: 'steer', 'next_turn'.",
    );
}

#[test]
fn echoed_names_and_words_are_shortened() {
    let long = "x".repeat(5_000);
    let error =
        AGENT_CREATE(json!({"model": "m", &long: 1}).to_string().as_bytes()).expect_err("refused");
    assert!(error.message.len() < 200, "{}", error.message);
    let error = AGENT_CREATE(
        json!({"model": "m", "service_tier": long})
            .to_string()
            .as_bytes(),
    )
    .expect_err("refused");
    assert!(error.message.len() < 300, "{}", error.message);
}

#[test]
fn a_full_body_of_every_route_is_read_and_survives_a_round_trip() {
    let agent = full_agent();
    let create = parse_agent_create(agent.to_string().as_bytes()).expect("accepted");
    assert_eq!(serde_json::to_value(&create).ok(), Some(agent.clone()));
    let update = parse_agent_update(agent.to_string().as_bytes()).expect("accepted");
    assert_eq!(serde_json::to_value(&update).ok(), Some(agent));

    let session = full_session();
    let create = parse_session_create(session.to_string().as_bytes()).expect("accepted");
    assert_eq!(serde_json::to_value(&create).ok(), Some(session));

    let update = json!({
        "agent": {
            "model": "m", "reasoning": {"effort": null}, "service_tier": null,
            "tools": [{"type": "tool_search"}],
        },
        "metadata": null, "prompt_cache_options": {"ttl": "12h"}, "review": "none",
        "spend_control": {"limit": null},
    });
    let read = parse_session_update(update.to_string().as_bytes()).expect("accepted");
    assert_eq!(serde_json::to_value(&read).ok(), Some(update));

    let events = full_events();
    let read = parse_events(events.to_string().as_bytes()).expect("accepted");
    assert_eq!(serde_json::to_value(&read).ok(), Some(events));
}

#[test]
fn null_is_read_as_absent_where_a_creation_allows_it() {
    accepted(
        AGENT_CREATE,
        json!({
            "model": "m", "compaction": null, "instructions": null, "metadata": null,
            "multi_agent": null, "name": null, "reasoning": {"effort": null, "summary": null},
            "service_tier": null, "text": {"format": null, "verbosity": null}, "tools": null,
        }),
    );
    accepted(
        SESSION_CREATE,
        json!({
            "agent_id": "a", "input": null, "metadata": null, "prompt_cache_options": null,
            "spend_control": null, "vault_ids": null,
            "environment": {
                "type": "openai_hosted", "capability_directories": null, "desktop": null, "env": null,
                "files": null, "network": null, "packages": null, "plugins": null,
                "setup_commands": null, "skills": null,
            },
        }),
    );
    accepted(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.message", "delivery": null,
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}],
        })),
    );
}

#[test]
fn an_update_tells_absent_null_and_a_value_apart() {
    let read = |body: &str| parse_agent_update(body.as_bytes()).map(|params| params.name);
    assert_eq!(read("{}"), Ok(Patch::Keep));
    assert_eq!(read(r#"{"name": null}"#), Ok(Patch::Clear));
    assert_eq!(read(r#"{"name": "n"}"#), Ok(Patch::Set("n".to_owned())));
}

fn full_tool(transport: Value) -> Value {
    json!({
        "type": "mcp", "server_label": "wiki", "transport": transport, "allowed_tools": ["search"],
        "connection_origin": "environment", "credential_id": "cred_1",
        "request_metadata": {"tenant": 7}, "required": true,
    })
}

fn other_tools() -> Vec<Value> {
    vec![
        json!({
            "type": "function", "description": "d", "name": "f", "parameters": {"type": "object"},
            "async": true, "defer_loading": true,
        }),
        json!({"type": "tool_search"}),
        json!({"type": "programmatic_tool_calling", "enabled": false}),
        json!({
            "type": "web_search", "allowed_domains": ["example.org"], "context_size": "high",
            "location": {"city": "c", "country": "CH", "region": "r", "timezone": "t"}, "mode": "cached",
        }),
        json!({"type": "computer_use", "include_screenshots": true}),
        json!({"type": "automations"}),
    ]
}

pub fn full_agent() -> Value {
    let mut tools = other_tools();
    tools.push(full_tool(
        json!({"type": "http", "server_url": "u", "headers": {"X-Tenant": "7"}}),
    ));
    tools.push(full_tool(json!({
        "type": "stdio", "command": "c", "cwd": "/w", "args": ["a"], "env_vars": ["LANG"],
    })));
    json!({
        "model": "m", "compaction": {"async": true}, "experimental": {"time_awareness": true},
        "instructions": "i", "metadata": {"k": "v"},
        "multi_agent": {"enabled": true, "max_concurrent_subagents": 3}, "name": "n",
        "reasoning": {"effort": "low", "summary": "auto"}, "service_tier": "fast",
        "text": {"format": {"type": "json_schema", "schema": {"type": "object"}}, "verbosity": "high"},
        "tools": tools,
    })
}

pub fn full_session() -> Value {
    let mut tools = other_tools();
    tools.push(full_tool(json!({
        "type": "http", "server_url": "u", "authorization": "Bearer t", "headers": {"X-Api-Key": "k"},
    })));
    tools.push(full_tool(json!({
        "type": "stdio", "command": "c", "cwd": "/w", "args": ["a"], "env": {"TOKEN": "t"},
        "env_vars": ["LANG"],
    })));
    let source = json!({"type": "base64", "data": "UEsFBg==", "media_type": "application/zip"});
    json!({
        "environment": {
            "type": "openai_hosted", "capability_directories": ["/workspace/skills"],
            "container_size": "large", "desktop": {"enabled": true}, "env": {"TOKEN": "t"},
            "environment_template_id": "tpl_1",
            "files": [
                {"type": "file_id", "file_id": "file_1", "path": "/workspace/a"},
                {"type": "inline", "data": "YQ==", "path": "/workspace/b/c"},
            ],
            "network": {"access": "restricted", "allowed_domains": ["example.org"]},
            "packages": {"npm": ["n"], "python": ["p"], "system": ["s"]},
            "plugins": [{"type": "inline", "description": "d", "name": "p", "source": source}],
            "setup_commands": [{"command": "make", "cwd": "/workspace"}],
            "skills": [
                {"type": "skill_reference", "skill_id": "skill_1", "version": "2"},
                {"type": "inline", "description": "d", "name": "s", "source": source},
            ],
        },
        "agent": {
            "compaction": null, "experimental": {"time_awareness": false}, "instructions": null,
            "model": "m", "multi_agent": null, "reasoning": {"effort": "max"}, "service_tier": "auto",
            "text": {"verbosity": "low"}, "tools": tools,
        },
        "agent_id": "agent_1",
        "input": [{"content": [{"type": "input_text", "text": "Go"}], "role": "user", "type": "message"}],
        "metadata": {"k": "v"}, "prompt_cache_options": {"ttl": "30m"}, "review": "auto_review",
        "spend_control": {"limit": 100}, "stream": true, "stream_options": {"include_obfuscation": false},
        "vault_ids": ["vault_1"],
    })
}

pub fn full_events() -> Value {
    let browser = "agent.session.input.computer_use_approval_request_result";
    json!({"events": [
        {
            "type": "agent.session.input.message",
            "input": [{
                "content": [
                    {"type": "input_text", "text": "Look"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
                ],
                "role": "user",
            }],
            "delivery": "next_turn",
        },
        {"type": "agent.session.input.cancel", "turn_id": "turn_1"},
        {"type": "agent.session.input.cancel"},
        {
            "type": "agent.session.input.tool_result", "call_id": "c", "success": false, "turn_id": "t",
            "error": "late", "output": [{"type": "input_text", "text": ""}],
        },
        {
            "type": "agent.session.input.mcp_approval_request_result", "request_id": "r",
            "response": {"type": "mcp_tool_call", "decision": "deny"},
        },
        {
            "type": browser, "request_id": "r",
            "response": {
                "type": "browser_authentication", "action": "submit",
                "fields": [{"field_id": "f", "value": "v"}], "selected_option": "o",
            },
        },
        {"type": browser, "request_id": "r", "response": {"type": "browser_authentication", "action": "cancel"}},
        {"type": browser, "request_id": "r", "response": {"type": "browser_origin_access", "decision": "approve"}},
    ]})
}
