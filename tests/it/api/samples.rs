//! Whole resources for other tests, as JSON.

use serde_json::{Value, json};

pub fn usage() -> Value {
    json!({
        "input_tokens": 120,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 10},
        "total_tokens": 150,
    })
}

pub fn function_tool() -> Value {
    json!({
        "type": "function", "defer_loading": false, "description": "Weather of a city",
        "name": "get_weather", "parameters": {"type": "object", "properties": {}}, "async": true,
    })
}

pub fn web_search_tool() -> Value {
    json!({
        "type": "web_search", "allowed_domains": ["example.org"], "context_size": "medium",
        "location": {"city": "Basel", "country": "CH", "region": null, "timezone": "Europe/Zurich"},
        "mode": "live",
    })
}

pub fn mcp_tool(transport: Value) -> Value {
    json!({
        "type": "mcp", "allowed_tools": ["search"], "connection_origin": "service",
        "credential_id": "cred_1", "request_metadata": {"tenant": 7}, "required": true,
        "server_label": "wiki", "transport": transport,
    })
}

pub fn stdio_transport() -> Value {
    json!({
        "type": "stdio", "args": ["--stdio"], "command": "wiki-mcp", "cwd": "/workspace",
        "env_vars": ["LANG"],
    })
}

pub fn session_tools() -> Value {
    json!([
        function_tool(),
        {"type": "programmatic_tool_calling", "enabled": true},
        mcp_tool(json!({"type": "http", "server_url": "https://mcp.example.org"})),
        mcp_tool(stdio_transport()),
        web_search_tool(),
        {"type": "computer_use", "include_screenshots": false},
        {"type": "automations"},
    ])
}

pub fn saved_tools() -> Value {
    json!([
        function_tool(),
        {"type": "tool_search"},
        {"type": "programmatic_tool_calling", "enabled": true},
        mcp_tool(json!({
            "type": "http", "headers": {"X-Tenant": "seven"}, "server_url": "https://mcp.example.org",
        })),
        mcp_tool(stdio_transport()),
        web_search_tool(),
        {"type": "computer_use", "include_screenshots": false},
        {"type": "automations"},
    ])
}

pub fn session_agent() -> Value {
    json!({
        "id": "agent_1", "instructions": "Be brief.", "model": "large",
        "multi_agent": {"enabled": true, "max_concurrent_subagents": 6}, "name": "Clerk",
        "reasoning": {"effort": "high", "summary": "auto"}, "service_tier": "auto",
        "text": {"format": {"type": "text"}, "verbosity": "medium"}, "tools": session_tools(),
        "compaction": {"async": false}, "experimental": {"time_awareness": true},
    })
}

pub fn login_form() -> Value {
    json!({
        "type": "browser_authentication", "credential_origin": "https://example.org",
        "fields": [{"id": "f1", "label": "Password", "required": true, "type": "password"}],
        "options": [{"id": "o1", "field_ids": ["f1"], "label": "By password"}],
        "reason": "The page asks for it",
    })
}

pub fn required_actions() -> Value {
    json!([
        {
            "type": "mcp_approval_request",
            "request": {
                "type": "mcp_tool_call", "arguments": {"q": "rats"}, "message": "May I?",
                "name": "search", "server_label": "wiki",
            },
            "request_id": "req_1", "turn_id": "turn_1",
        },
        {
            "type": "computer_use_approval_request", "request": login_form(),
            "request_id": "req_2", "turn_id": "turn_1",
        },
        {
            "type": "computer_use_approval_request",
            "request": {
                "type": "browser_origin_access", "origin": "https://example.org", "reason": null,
            },
            "request_id": "req_3", "turn_id": "turn_1",
        },
        {
            "type": "function_call", "arguments": {"city": "Basel"}, "call_id": "call_1",
            "name": "get_weather", "turn_id": "turn_1",
        },
        {"type": "environment_connection", "environment_id": "env_1"},
    ])
}

pub fn hosted_environment() -> Value {
    json!({
        "type": "openai_hosted", "id": "env_1", "capability_directories": ["/workspace/skills"],
        "files": [
            {"type": "file_id", "id": "cfile_1", "file_id": "file_1", "path": "/workspace/a", "size_bytes": 1},
            {"type": "inline", "id": "cfile_2", "path": "/workspace/b", "size_bytes": 2},
        ],
        "network": {"access": "restricted", "allowed_domains": ["example.org"]},
        "packages": {"npm": ["left-pad"], "python": ["numpy"], "system": ["jq"]},
        "plugins": [{"type": "inline", "description": "Charts", "name": "charts"}],
        "skills": [
            {
                "type": "skill_reference", "description": "Tables", "name": "tables",
                "skill_id": "skill_1", "version": "2",
            },
            {"type": "inline", "description": "Maps", "name": "maps"},
        ],
        "container_size": "small", "desktop": {"enabled": true},
    })
}

pub fn session() -> Value {
    json!({
        "id": "sess_1", "agent": session_agent(), "created_at": 1_800_000_000,
        "environment": hosted_environment(), "error": "lost", "last_active_at": 1_800_000_001,
        "metadata": {"team": "blue"}, "object": "agent.session",
        "required_actions": required_actions(), "status": "requires_action", "usage": usage(),
        "vault_ids": ["vault_1"], "prompt_cache_options": {"ttl": "30m"}, "review": "auto_review",
        "spend_control": {"consumed": 12, "limit": 500},
    })
}

pub fn turn() -> Value {
    json!({
        "id": "turn_1", "agent_id": "agent_1", "completed_at": 1_800_000_009,
        "created_at": 1_800_000_001,
        "error": {"code": "rate_limit_exceeded", "message": "Too many requests."},
        "object": "agent.session.turn", "session_id": "sess_1", "started_at": 1_800_000_002,
        "status": "failed", "subagent_id": "agent_2", "usage": usage(),
        "prompt_cache_options": {"ttl": "12h"},
    })
}

pub fn message() -> Value {
    json!({
        "type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Done."}],
        "phase": "final_answer", "role": "assistant", "status": "completed", "turn_id": "turn_1",
    })
}

pub fn subagent() -> Value {
    json!({
        "id": "agent_2", "closed_at": 1_800_000_009,
        "instructions": [
            {"type": "output_text", "text": "Look it up."},
            {"type": "encrypted_content", "encrypted_content": "gAAA"},
        ],
        "name": "Scout", "object": "agent.session.subagent", "opened_at": 1_800_000_003,
        "parent_agent_id": "agent_1", "session_id": "sess_1", "status": "closed",
    })
}
