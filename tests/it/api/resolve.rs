//! Defaults, updates and snapshots of Agents.

use pretty_assertions::assert_eq;
use rat_things::api::*;
use serde_json::{Value, json};

const CREATED: u64 = 1_800_000_000;
const UPDATED: u64 = 1_800_000_050;

fn agent(body: Value) -> Agent {
    let params = parse_agent_create(body.to_string().as_bytes()).expect("accepted");
    Agent::create("agent_1", CREATED, params)
}

fn json_of<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("wire types serialise")
}

/// An Agent with nothing at its default.
fn busy_agent() -> Agent {
    agent(json!({
        "model": "m", "compaction": {"async": true}, "experimental": {"time_awareness": true},
        "instructions": "i", "metadata": {"k": "v"}, "multi_agent": {"enabled": true}, "name": "n",
        "reasoning": {"effort": "low", "summary": "auto"}, "service_tier": "fast",
        "text": {"format": {"type": "json_schema", "schema": {}}, "verbosity": "high"},
        "tools": [{"type": "tool_search"}, {"type": "automations"}],
    }))
}

#[test]
fn a_new_agent_has_the_defaults_of_the_contract() {
    assert_eq!(
        json_of(&agent(json!({"model": "m"}))),
        json!({
            "id": "agent_1", "created_at": CREATED, "instructions": null, "metadata": {},
            "model": "m", "multi_agent": {"enabled": false, "max_concurrent_subagents": null},
            "name": null, "object": "agent", "reasoning": {"effort": null, "summary": null},
            "service_tier": "auto", "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tools": [], "updated_at": CREATED, "compaction": {"async": false},
        })
    );
}

#[test]
fn tools_are_shown_with_their_defaults() {
    let tools = json!([
        {"type": "function", "description": "d", "name": "f", "parameters": {"a": 1}},
        {"type": "programmatic_tool_calling"},
        {"type": "mcp", "server_label": "w", "transport": {"type": "http", "server_url": "u"}},
        {"type": "mcp", "server_label": "x", "transport": {"type": "stdio", "command": "c", "cwd": "/"}},
        {"type": "web_search"},
        {"type": "computer_use"},
    ]);
    let mcp = |label: &str, transport: Value| {
        json!({
            "type": "mcp", "allowed_tools": null, "connection_origin": "service",
            "credential_id": null, "request_metadata": {}, "required": false,
            "server_label": label, "transport": transport,
        })
    };
    let stdio = json!({"type": "stdio", "args": [], "command": "c", "cwd": "/", "env_vars": []});
    let mut shown = json!([
        {"type": "function", "defer_loading": false, "description": "d", "name": "f", "parameters": {"a": 1}},
        {"type": "programmatic_tool_calling", "enabled": true},
        mcp("w", json!({"type": "http", "headers": {}, "server_url": "u"})),
        mcp("x", stdio),
        {
            "type": "web_search", "allowed_domains": null, "context_size": "medium",
            "location": null, "mode": "live",
        },
        {"type": "computer_use", "include_screenshots": false},
    ]);
    let saved = agent(json!({"model": "m", "tools": tools}));
    assert_eq!(json_of(&saved.tools), shown);

    // A Session shows the same, except that it never shows headers.
    shown[2]["transport"] = json!({"type": "http", "server_url": "u"});
    assert_eq!(json_of(&SessionAgent::of_saved(&saved).tools), shown);
    let mut own = SessionAgent::of_model("agent_2", "m");
    own.override_with(overrides(json!({"tools": tools})));
    assert_eq!(json_of(&own.tools), shown);
}

#[test]
fn an_update_keeps_what_is_absent() {
    let mut updated = busy_agent();
    updated.update(AgentUpdateParams::default(), UPDATED);
    let mut expected = busy_agent();
    expected.updated_at = UPDATED;
    assert_eq!(updated, expected);
}

#[test]
fn an_update_clears_or_resets_what_is_null() {
    let body = json!({
        "compaction": null, "instructions": null, "metadata": null, "multi_agent": null,
        "name": null, "reasoning": null, "service_tier": null, "text": null, "tools": null,
    });
    let params = parse_agent_update(body.to_string().as_bytes()).expect("accepted");
    let mut updated = busy_agent();
    updated.update(params, CREATED);
    let mut expected = agent(json!({"model": "m"}));
    expected.experimental = updated.experimental;
    assert_eq!(updated, expected);
    assert_eq!(updated.experimental.map(|e| e.time_awareness), Some(true));
}

#[test]
fn an_update_replaces_objects_whole_and_merges_experimental() {
    let body = json!({
        "metadata": {"a": "b"}, "reasoning": {"effort": "max"}, "text": {"verbosity": "low"},
        "experimental": {}, "compaction": {}, "model": "n",
    });
    let params = parse_agent_update(body.to_string().as_bytes()).expect("accepted");
    let mut updated = busy_agent();
    updated.update(params, UPDATED);
    assert_eq!(json_of(&updated.metadata), json!({"a": "b"}));
    assert_eq!(
        json_of(&updated.reasoning),
        json!({"effort": "max", "summary": null})
    );
    assert_eq!(
        json_of(&updated.text),
        json!({"format": {"type": "text"}, "verbosity": "low"})
    );
    assert_eq!(json_of(&updated.compaction), json!({"async": false}));
    assert_eq!(
        json_of(&updated.experimental),
        json!({"time_awareness": true})
    );
    assert_eq!((updated.model.as_str(), updated.updated_at), ("n", UPDATED));
}

#[test]
fn a_session_snapshots_the_saved_agent_and_overrides_what_is_given() {
    let mut snapshot = SessionAgent::of_saved(&busy_agent());
    assert_eq!(
        json_of(&snapshot),
        json!({
            "id": "agent_1", "instructions": "i", "model": "m",
            "multi_agent": {"enabled": true, "max_concurrent_subagents": 6}, "name": "n",
            "reasoning": {"effort": "low", "summary": "auto"}, "service_tier": "fast",
            "text": {"format": {"type": "json_schema", "schema": {}}, "verbosity": "high"},
            "tools": [{"type": "automations"}], "compaction": {"async": true},
            "experimental": {"time_awareness": true},
        })
    );
    snapshot.override_with(overrides(json!({
        "instructions": null, "model": "n", "reasoning": {"summary": "concise"}, "tools": null,
        "multi_agent": {"enabled": false, "max_concurrent_subagents": 9},
    })));
    assert_eq!(
        json_of(&snapshot),
        json!({
            "id": "agent_1", "instructions": null, "model": "n",
            "multi_agent": {"enabled": false, "max_concurrent_subagents": null}, "name": "n",
            "reasoning": {"effort": null, "summary": "concise"}, "service_tier": "fast",
            "text": {"format": {"type": "json_schema", "schema": {}}, "verbosity": "high"},
            "tools": [], "compaction": {"async": true}, "experimental": {"time_awareness": true},
        })
    );
}

#[test]
fn a_session_update_changes_the_effort_and_keeps_the_summary() {
    let mut snapshot = SessionAgent::of_saved(&busy_agent());
    let body = json!({"agent": {
        "model": "n", "reasoning": {"effort": null}, "service_tier": null,
        "tools": [{"type": "web_search"}, {"type": "tool_search"}],
    }});
    let params = parse_session_update(body.to_string().as_bytes()).expect("accepted");
    snapshot.update(params.agent.expect("given"));
    assert_eq!(
        json_of(&snapshot.reasoning),
        json!({"effort": null, "summary": "auto"})
    );
    assert_eq!(
        (snapshot.model.as_str(), snapshot.service_tier),
        ("n", ServiceTier::Auto)
    );
    assert_eq!(snapshot.tools.len(), 1);

    let kept = snapshot.clone();
    snapshot.update(SessionAgentUpdateParams::default());
    assert_eq!(snapshot, kept);
}

#[test]
fn a_text_input_is_one_message_of_the_user() {
    let messages = SessionInput::Text("Go".to_owned()).into_messages();
    assert_eq!(
        json_of(&messages),
        json!([{"content": [{"type": "input_text", "text": "Go"}], "role": "user", "type": "message"}])
    );
}

#[test]
fn a_prompt_cache_lives_half_an_hour_unless_told_otherwise() {
    let options = PromptCacheOptionsParam::default().resolved();
    assert_eq!(json_of(&options), json!({"ttl": "30m"}));
}

fn overrides(agent: Value) -> SessionAgentParams {
    let body =
        json!({"agent_id": "agent_1", "agent": agent, "environment": {"type": "openai_hosted"}});
    let params = parse_session_create(body.to_string().as_bytes()).expect("accepted");
    params.agent.expect("given")
}

#[test]
fn a_harness_is_shown_only_where_one_was_chosen_and_a_session_keeps_its_own() {
    let mut chosen = agent(json!({"model": "m", "harness": "codex"}));
    assert_eq!(json_of(&chosen)["harness"], "codex");
    let mut session = SessionAgent::of_saved(&chosen);
    assert_eq!(json_of(&session)["harness"], "codex");
    let null = parse_agent_update(br#"{"harness": null}"#).expect("accepted");
    chosen.update(null, UPDATED);
    assert_eq!(json_of(&chosen).get("harness"), None);
    assert_eq!(
        json_of(&SessionAgent::of_saved(&chosen)).get("harness"),
        None
    );
    session.override_with(overrides(json!({"harness": "responses"})));
    assert_eq!(json_of(&session)["harness"], "responses");
    session.override_with(overrides(json!({"harness": null})));
    assert_eq!(json_of(&session).get("harness"), None);
    let unknown = parse_agent_create(br#"{"model": "m", "harness": "other"}"#);
    let message = unknown.expect_err("refused").to_string();
    assert!(
        message.contains("responses") && message.contains("codex"),
        "{message}"
    );
    // Bodies that do not name one are what they were.
    let params = parse_agent_create(br#"{"model": "m"}"#).expect("accepted");
    assert_eq!(json_of(&params), json!({"model": "m"}));
}
