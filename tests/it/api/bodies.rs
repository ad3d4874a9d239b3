//! Request bodies with every field there is.

use serde_json::{Value, json};

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
