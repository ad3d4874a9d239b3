//! What the strict reader refuses, and which field it names.

use pretty_assertions::assert_eq;
use rat_things::api::*;
use serde_json::{Value, json};

use super::bodies::{full_agent, full_events, full_session};
use super::refusal::{
    AGENT_CREATE, AGENT_UPDATE, EVENTS, Parser, SESSION_CREATE, SESSION_UPDATE, accepted, refused,
    with_environment, with_event, with_tools,
};

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

#[track_caller]
fn unknown(parser: Parser, body: Value, path: &str) {
    refused(parser, body, path, &format!("Unknown parameter: '{path}'."));
}

#[test]
fn unknown_fields_of_agents_are_refused_by_their_path() {
    unknown(
        AGENT_CREATE,
        json!({"model": "m", "temperature": 1}),
        "temperature",
    );
    unknown(AGENT_UPDATE, json!({"id": "agent_1"}), "id");
    unknown(
        AGENT_CREATE,
        json!({"model": "m", "text": {"format": {"type": "text", "schema": {}}}}),
        "text.format.schema",
    );
    unknown(
        AGENT_CREATE,
        json!({"model": "m", "multi_agent": {"enabled": true, "x": 1}}),
        "multi_agent.x",
    );
    unknown(
        AGENT_CREATE,
        json!({"model": "m", "tools": [{"type": "tool_search"}, {"type": "automations", "x": 1}]}),
        "tools[1].x",
    );
    unknown(
        AGENT_CREATE,
        json!({"model": "m", "tools": [{
            "type": "mcp", "server_label": "w",
            "transport": {"type": "http", "server_url": "u", "authorization": "a"},
        }]}),
        "tools[0].transport.authorization",
    );
}

#[test]
fn unknown_fields_of_sessions_are_refused_by_their_path() {
    unknown(
        SESSION_CREATE,
        with_environment(json!({"type": "none", "files": []})),
        "environment.files",
    );
    unknown(
        SESSION_CREATE,
        with_environment(json!({"type": "self_hosted", "workspace_directory": "/w", "env": {}})),
        "environment.env",
    );
    unknown(
        SESSION_CREATE,
        with_environment(json!({
            "type": "openai_hosted",
            "files": [{"type": "inline", "path": "/workspace/a", "data": "", "file_id": "f"}],
        })),
        "environment.files[0].file_id",
    );
    unknown(
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
    unknown(
        SESSION_CREATE,
        with_tools(json!([{"type": "web_search", "location": {"planet": "Mars"}}])),
        "agent.tools[0].location.planet",
    );
    unknown(
        SESSION_CREATE,
        json!({"agent_id": "a", "agent": {"name": "n"}, "environment": {"type": "none"}}),
        "agent.name",
    );
    unknown(
        SESSION_UPDATE,
        json!({"agent": {"instructions": "i"}}),
        "agent.instructions",
    );
    unknown(
        SESSION_UPDATE,
        json!({"agent": {"reasoning": {"summary": "auto"}}}),
        "agent.reasoning.summary",
    );
}

#[test]
fn unknown_fields_of_inputs_are_refused_by_their_path() {
    unknown(EVENTS, json!({"events": [], "stream": true}), "stream");
    unknown(
        EVENTS,
        with_event(json!({"type": "agent.session.input.cancel", "call_id": "c"})),
        "events[0].call_id",
    );
    unknown(
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
    unknown(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.computer_use_approval_request_result", "request_id": "r",
            "response": {"type": "browser_authentication", "action": "cancel", "fields": []},
        })),
        "events[0].response.fields",
    );
}

#[track_caller]
fn missing(parser: Parser, body: Value, path: &str) {
    refused(
        parser,
        body,
        path,
        &format!("Missing required parameter: '{path}'."),
    );
}

#[test]
fn missing_fields_of_agents_are_named_by_their_path() {
    missing(AGENT_CREATE, json!({}), "model");
    missing(
        AGENT_CREATE,
        json!({"model": "m", "multi_agent": {}}),
        "multi_agent.enabled",
    );
    missing(
        AGENT_CREATE,
        json!({"model": "m", "text": {"format": {}}}),
        "text.format.type",
    );
    missing(
        AGENT_CREATE,
        json!({"model": "m", "tools": [{}]}),
        "tools[0].type",
    );
    missing(
        AGENT_CREATE,
        json!({"model": "m", "tools": [{"type": "function", "name": "f", "description": "d"}]}),
        "tools[0].parameters",
    );
}

#[test]
fn missing_fields_of_sessions_are_named_by_their_path() {
    missing(
        SESSION_CREATE,
        json!({"agent_id": "agent_1"}),
        "environment",
    );
    missing(
        SESSION_CREATE,
        with_environment(json!({})),
        "environment.type",
    );
    missing(
        SESSION_CREATE,
        with_environment(json!({"type": "self_hosted"})),
        "environment.workspace_directory",
    );
    missing(
        SESSION_CREATE,
        with_environment(json!({"type": "openai_hosted", "network": {}})),
        "environment.network.access",
    );
    missing(
        SESSION_CREATE,
        with_environment(
            json!({"type": "openai_hosted", "files": [{"type": "inline", "path": "/workspace/a"}]}),
        ),
        "environment.files[0].data",
    );
    missing(
        SESSION_UPDATE,
        json!({"spend_control": {}}),
        "spend_control.limit",
    );
}

#[test]
fn missing_fields_of_inputs_are_named_by_their_path() {
    missing(EVENTS, json!({}), "events");
    missing(EVENTS, with_event(json!({})), "events[0].type");
    missing(
        EVENTS,
        with_event(json!({"type": "agent.session.input.message"})),
        "events[0].input",
    );
    missing(
        EVENTS,
        with_event(json!({"type": "agent.session.input.message", "input": [{"role": "user"}]})),
        "events[0].input[0].content",
    );
    for name in ["call_id", "success", "turn_id"] {
        let mut event = json!({
            "type": "agent.session.input.tool_result", "call_id": "c", "success": true, "turn_id": "t",
        });
        event.as_object_mut().expect("an object").remove(name);
        missing(EVENTS, with_event(event), &format!("events[0].{name}"));
    }
    missing(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.mcp_approval_request_result", "request_id": "r",
            "response": {"type": "mcp_tool_call"},
        })),
        "events[0].response.decision",
    );
}

#[track_caller]
fn mistyped(parser: Parser, body: Value, path: &str, expected: &str, got: &str) {
    let message = format!("Invalid type for '{path}': expected {expected}, but got {got} instead.");
    refused(parser, body, path, &message);
}

#[test]
fn wrong_types_in_agents_are_refused_with_what_was_expected() {
    mistyped(
        AGENT_CREATE,
        json!({"model": 5}),
        "model",
        "a string",
        "an integer",
    );
    mistyped(
        AGENT_CREATE,
        json!({"model": null}),
        "model",
        "a string",
        "null",
    );
    mistyped(
        AGENT_CREATE,
        json!({"model": "m", "name": ["n"]}),
        "name",
        "a string",
        "an array",
    );
    mistyped(
        AGENT_CREATE,
        json!({"model": "m", "metadata": {"a": 1.5}}),
        "metadata.a",
        "a string",
        "a decimal number",
    );
    mistyped(
        AGENT_CREATE,
        json!({"model": "m", "metadata": []}),
        "metadata",
        "an object",
        "an array",
    );
    mistyped(
        AGENT_CREATE,
        json!({"model": "m", "tools": {}}),
        "tools",
        "an array",
        "an object",
    );
    mistyped(
        AGENT_CREATE,
        json!({"model": "m", "tools": ["x"]}),
        "tools[0]",
        "an object",
        "a string",
    );
    mistyped(
        AGENT_CREATE,
        json!({"model": "m", "service_tier": 1}),
        "service_tier",
        "a string",
        "an integer",
    );
    mistyped(
        AGENT_CREATE,
        json!({"model": "m", "experimental": null}),
        "experimental",
        "an object",
        "null",
    );
    mistyped(
        AGENT_CREATE,
        json!({"model": "m", "multi_agent": {"enabled": "yes"}}),
        "multi_agent.enabled",
        "a boolean",
        "a string",
    );
    mistyped(
        AGENT_CREATE,
        json!({"model": "m", "multi_agent": {"enabled": true, "max_concurrent_subagents": -1}}),
        "multi_agent.max_concurrent_subagents",
        "a non-negative integer",
        "a negative integer",
    );
    mistyped(
        AGENT_UPDATE,
        json!({"model": null}),
        "model",
        "a string",
        "null",
    );
}

#[test]
fn wrong_types_in_sessions_are_refused_with_what_was_expected() {
    mistyped(
        SESSION_CREATE,
        json!({"agent_id": "a", "environment": {"type": "none"}, "input": 5}),
        "input",
        "a string or an array",
        "an integer",
    );
    mistyped(
        SESSION_CREATE,
        json!({"agent_id": "a", "environment": "none"}),
        "environment",
        "an object",
        "a string",
    );
    mistyped(
        SESSION_CREATE,
        json!({"agent_id": "a", "environment": {"type": "none"}, "stream": "true"}),
        "stream",
        "a boolean",
        "a string",
    );
    mistyped(
        SESSION_CREATE,
        with_environment(json!({"type": "openai_hosted", "env": {"A": true}})),
        "environment.env.A",
        "a string",
        "a boolean",
    );
    mistyped(
        SESSION_UPDATE,
        json!({"spend_control": {"limit": 1.5}}),
        "spend_control.limit",
        "a non-negative integer",
        "a decimal number",
    );
}

#[test]
fn wrong_types_in_inputs_are_refused_with_what_was_expected() {
    mistyped(
        EVENTS,
        json!({"events": {}}),
        "events",
        "an array",
        "an object",
    );
    mistyped(
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
