//! Shapes of resources.

use pretty_assertions::assert_eq;
use rat_things::api::*;
use serde_json::json;

use super::samples::*;
use super::shape::{check, check_words};

#[test]
fn agents_have_the_fields_of_the_contract() {
    check::<Agent>(
        "id created_at instructions metadata model multi_agent name object reasoning service_tier text tools updated_at",
        "compaction experimental",
        json!({
            "id": "agent_1", "created_at": 1_800_000_000, "instructions": "Be brief.",
            "metadata": {"team": "blue"}, "model": "large",
            "multi_agent": {"enabled": false, "max_concurrent_subagents": null}, "name": "Clerk",
            "object": "agent", "reasoning": {"effort": null, "summary": null},
            "service_tier": "flex",
            "text": {
                "format": {"type": "json_schema", "schema": {"type": "object"}}, "verbosity": "low",
            },
            "tools": saved_tools(), "updated_at": 1_800_000_001,
            "compaction": {"async": true}, "experimental": {"time_awareness": false},
        }),
    );
    check::<AgentDeleted>(
        "id deleted object",
        "",
        json!({"id": "agent_1", "deleted": true, "object": "agent.deleted"}),
    );
    check::<SessionAgent>(
        "id instructions model multi_agent name reasoning service_tier text tools",
        "compaction experimental",
        session_agent(),
    );
    check::<MultiAgentConfig>(
        "enabled max_concurrent_subagents",
        "",
        json!({"enabled": true, "max_concurrent_subagents": 6}),
    );
    check::<AgentReasoning>(
        "effort summary",
        "",
        json!({"effort": "xhigh", "summary": "concise"}),
    );
}

#[test]
fn sessions_have_the_fields_of_the_contract() {
    check::<AgentSession>(
        "id agent created_at environment error last_active_at metadata object required_actions status usage vault_ids",
        "prompt_cache_options review spend_control",
        session(),
    );
    check::<AgentSessionDeleted>(
        "id deleted object",
        "",
        json!({"id": "sess_1", "deleted": true, "object": "agent.session.deleted"}),
    );
    check::<SpendControl>("consumed limit", "", json!({"consumed": 3, "limit": 100}));
    check::<TokenUsage>(
        "input_tokens input_tokens_details output_tokens output_tokens_details total_tokens",
        "",
        usage(),
    );
    check::<SessionError>(
        "code message param type",
        "",
        json!({"code": "conflict_error", "message": "No.", "param": "agent", "type": "x"}),
    );
}

#[test]
fn required_actions_have_the_fields_of_the_contract() {
    let actions = required_actions();
    for (i, fields) in [
        "request request_id turn_id type",
        "request request_id turn_id type",
        "request request_id turn_id type",
        "arguments call_id name turn_id type",
        "environment_id type",
    ]
    .iter()
    .enumerate()
    {
        check::<RequiredAction>(fields, "", actions[i].clone());
    }
    check::<McpToolCallRequest>(
        "arguments message name server_label type",
        "",
        actions[0]["request"].clone(),
    );
    check::<ComputerUseRequest>(
        "credential_origin fields options reason type",
        "",
        actions[1]["request"].clone(),
    );
    check::<ComputerUseRequest>("origin reason type", "", actions[2]["request"].clone());
}

#[test]
fn turns_and_what_belongs_to_a_session_have_the_fields_of_the_contract() {
    check::<Turn>(
        "id agent_id completed_at created_at error object session_id started_at status subagent_id usage",
        "prompt_cache_options",
        turn(),
    );
    check::<TurnError>("code message", "", turn()["error"].clone());
    check::<Subagent>(
        "id closed_at instructions name object opened_at parent_agent_id session_id status",
        "",
        subagent(),
    );
    check::<SessionTrace>(
        "id created_at object otlp session_id",
        "",
        json!({
            "id": "trace_1", "created_at": 1_800_000_000, "object": "agent.session.trace",
            "otlp": {"resourceSpans": []}, "session_id": "sess_1",
        }),
    );
    check::<SessionArtifact>(
        "id created_at environment_id object path session_id size_bytes turn_id",
        "",
        json!({
            "id": "artf_1", "created_at": 1_800_000_000, "environment_id": "env_1",
            "object": "agent.session.artifact", "path": "/workspace/outputs/report.md",
            "session_id": "sess_1", "size_bytes": 4096, "turn_id": "turn_1",
        }),
    );
    check::<SessionArtifactDeleted>(
        "id deleted object",
        "",
        json!({"id": "artf_1", "deleted": true, "object": "agent.session.artifact.deleted"}),
    );
}

#[test]
fn environments_have_the_fields_of_the_contract() {
    check::<Environment>("type", "", json!({"type": "none"}));
    check::<Environment>(
        "id capability_directories files network packages plugins skills type",
        "container_size desktop",
        hosted_environment(),
    );
    check::<Environment>(
        "id capability_directories remote_url type workspace_directory",
        "",
        json!({
            "type": "self_hosted", "id": "env_1", "capability_directories": [],
            "remote_url": "wss://example.org/env_1", "workspace_directory": "/home/me/project",
        }),
    );
    let hosted = hosted_environment();
    check::<EnvironmentInfo>(
        "id files object plugins skills status type",
        "",
        json!({
            "id": "env_1", "files": hosted["files"], "object": "agent.environment",
            "plugins": hosted["plugins"], "skills": hosted["skills"], "status": "connected",
            "type": "openai_hosted",
        }),
    );
    check::<EnvironmentFile>(
        "environment_id object path size_bytes",
        "",
        json!({
            "environment_id": "env_1", "object": "agent.environment.file",
            "path": "/workspace/a", "size_bytes": 1,
        }),
    );
}

#[test]
fn tools_have_the_fields_of_the_contract() {
    let mcp = "allowed_tools connection_origin credential_id request_metadata required server_label transport type";
    let search = "allowed_domains context_size location mode type";
    let function = "defer_loading description name parameters type";
    let tools = session_tools();
    check::<AgentTool>(function, "async", tools[0].clone());
    check::<AgentTool>("enabled type", "", tools[1].clone());
    check::<AgentTool>(mcp, "", tools[2].clone());
    check::<AgentTool>(mcp, "", tools[3].clone());
    check::<AgentTool>(search, "", tools[4].clone());
    check::<AgentTool>("include_screenshots type", "", tools[5].clone());
    check::<AgentTool>("type", "", tools[6].clone());
    let saved = saved_tools();
    check::<PersistedAgentTool>(function, "async", saved[0].clone());
    check::<PersistedAgentTool>("type", "", saved[1].clone());
    check::<PersistedAgentTool>("enabled type", "", saved[2].clone());
    check::<PersistedAgentTool>(mcp, "", saved[3].clone());
    check::<PersistedAgentTool>(mcp, "", saved[4].clone());
    check::<PersistedAgentTool>(search, "", saved[5].clone());
    check::<PersistedAgentTool>("include_screenshots type", "", saved[6].clone());
    check::<PersistedAgentTool>("type", "", saved[7].clone());
    check::<McpTransport>("server_url type", "", tools[2]["transport"].clone());
    check::<McpTransport>("args command cwd env_vars type", "", stdio_transport());
    check::<PersistedMcpTransport>("headers server_url type", "", saved[3]["transport"].clone());
}

#[test]
fn closed_sets_have_the_words_of_the_contract() {
    check_words::<SessionStatus>("idle in_progress requires_action failed budget_reached");
    check_words::<TurnStatus>("queued in_progress waiting completed failed cancelled");
    check_words::<CallStatus>("in_progress completed failed incomplete");
    check_words::<OutputStatus>("in_progress completed incomplete");
    check_words::<Phase>("commentary final_answer");
    check_words::<Role>("user assistant");
    check_words::<SubagentStatus>("active closed");
    check_words::<ServiceTier>("auto default flex priority fast ultrafast");
    check_words::<ReasoningEffort>("none minimal low medium high xhigh max");
    check_words::<ReasoningSummary>("concise detailed auto");
    check_words::<Verbosity>("low medium high");
    check_words::<ConnectionOrigin>("service environment");
    check_words::<WebSearchContextSize>("low medium high");
    check_words::<WebSearchMode>("disabled cached live");
    check_words::<PromptCacheTtl>("30m 12h");
    check_words::<Review>("none auto_review");
    check_words::<NetworkAccess>("enabled disabled restricted");
    check_words::<ContainerSize>("small medium large");
    check_words::<EnvironmentKind>("openai_hosted self_hosted");
    check_words::<EnvironmentStatus>(
        "pending ready connected disconnected suspended expired failed",
    );
    check_words::<Delivery>("steer next_turn");
    check_words::<Decision>("approve deny cancel");
    check_words::<Order>("asc desc");
}

#[test]
fn a_failed_turn_has_one_of_24_codes() {
    check_words::<TurnErrorCode>(
        "context_length_exceeded max_output_tokens session_budget_exceeded usage_limit_exceeded \
         project_spend_limit_exceeded organization_spend_limit_exceeded organization_usage_limit_exceeded \
         billing_not_active credit_balance_exhausted rate_limit_exceeded flex_unavailable server_overloaded \
         cyber_policy misalignment_policy_violation connection_failed server_error authentication_error \
         invalid_request resource_not_found sandbox_error executor_version_incompatible \
         active_turn_not_steerable request_timeout internal_error",
    );
    assert_eq!(TurnErrorCode::ALL.len(), 24);
}

#[test]
fn an_unknown_turn_error_code_reads_as_internal_error() {
    assert_eq!("brand_new".parse(), Ok(TurnErrorCode::InternalError));
    let read: TurnError = serde_json::from_value(json!({"code": "brand_new", "message": "m"}))
        .expect("any code is read");
    assert_eq!(read.code, TurnErrorCode::InternalError);
    assert_eq!("sandbox_error".parse(), Ok(TurnErrorCode::SandboxError));
}

#[test]
fn a_page_names_its_first_and_last_element() {
    let turns: Vec<Turn> = ["turn_1", "turn_2"]
        .iter()
        .map(|id| {
            let mut turn = turn();
            turn["id"] = json!(id);
            serde_json::from_value(turn).expect("a Turn")
        })
        .collect();
    let page = Page::new(turns, true);
    let written = serde_json::to_value(&page).expect("a page serialises");
    let names: Vec<_> = written.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["object", "data", "has_more", "first_id", "last_id"]);
    assert_eq!(written["object"], "list");
    assert_eq!(written["has_more"], true);
    assert_eq!(written["first_id"], "turn_1");
    assert_eq!(written["last_id"], "turn_2");
    assert_eq!(
        serde_json::from_value::<Page<Turn>>(written).ok(),
        Some(page)
    );
}

#[test]
fn an_empty_page_names_nothing() {
    let page: Page<Turn> = Page::new(vec![], false);
    assert_eq!(
        serde_json::to_value(&page).ok(),
        Some(
            json!({"object": "list", "data": [], "has_more": false, "first_id": null, "last_id": null})
        )
    );
}

#[test]
fn a_page_of_another_server_may_lack_what_its_readers_do_not_need() {
    let page: Page<Turn> =
        serde_json::from_value(json!({"data": [], "has_more": false})).expect("a page");
    assert_eq!(page, Page::new(vec![], false));
}

#[test]
fn an_object_name_other_than_its_own_is_refused() {
    let mut turn = turn();
    turn["object"] = json!("agent");
    assert!(serde_json::from_value::<Turn>(turn).is_err());
}
