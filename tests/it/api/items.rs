//! Shapes of Items, and the list of their types.

use pretty_assertions::assert_eq;
use rat_things::api::*;
use serde_json::{Value, json};

use super::samples::{login_form, message};
use super::shape::check;

/// All 17 types: the contract's fields, whether the agent made it, a full value.
fn all() -> Vec<(&'static str, bool, Value)> {
    let call = |kind: &str| {
        json!({
            "type": kind, "id": "i_1", "recipient_agent_id": "agent_2",
            "sender_agent_id": "agent_1", "status": "completed", "turn_id": "turn_1",
        })
    };
    let content = json!([
        {"type": "output_text", "text": "Look it up."},
        {"type": "encrypted_content", "encrypted_content": "gAAA"},
    ]);
    let to_subagent = "id recipient_agent_id sender_agent_id status turn_id type";
    vec![
        ("id content phase role status turn_id type", true, message()),
        (
            "id status summary turn_id type",
            true,
            json!({
                "type": "reasoning", "id": "rs_1", "status": "completed",
                "summary": [{"type": "summary_text", "text": "Thinking"}], "turn_id": "turn_1",
            }),
        ),
        (
            "id arguments call_id name status turn_id type",
            true,
            json!({
                "type": "function_call", "id": "fc_1", "arguments": {"city": "Basel"},
                "call_id": "call_1", "name": "get_weather", "status": "in_progress", "turn_id": "turn_1",
            }),
        ),
        (
            "id call_id error output status turn_id type",
            false,
            json!({
                "type": "function_call_output", "id": "fco_1", "call_id": "call_1", "error": "late",
                "output": [
                    {"type": "input_text", "text": "rain"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
                ],
                "status": "failed", "turn_id": "turn_1",
            }),
        ),
        (
            "id content recipient_agent_id sender_agent_id turn_id type",
            false,
            json!({
                "type": "agent_message", "id": "am_1", "content": content,
                "recipient_agent_id": "agent_2", "sender_agent_id": "agent_1", "turn_id": "turn_1",
            }),
        ),
        (
            "id arguments error name output server_label status turn_id type",
            true,
            json!({
                "type": "mcp_call", "id": "mcp_1", "arguments": {"q": "rats"}, "error": null,
                "name": "search", "output": {"hits": 3}, "server_label": "wiki",
                "status": "completed", "turn_id": "turn_1",
            }),
        ),
        (
            "id action status turn_id type",
            true,
            json!({
                "type": "web_search_call", "id": "ws_1",
                "action": {"type": "search", "queries": ["rats"], "query": null},
                "status": "completed", "turn_id": "turn_1",
            }),
        ),
        (
            "id command cwd duration_ms exit_code output status turn_id type",
            true,
            json!({
                "type": "command_execution", "id": "cmd_1", "command": "ls", "cwd": "/workspace",
                "duration_ms": 12, "exit_code": -1, "output": "a\n", "status": "completed", "turn_id": "turn_1",
            }),
        ),
        (
            "id output status title turn_id type",
            true,
            json!({
                "type": "computer_use_call", "id": "cu_1",
                "output": {"type": "computer_screenshot", "image_url": "data:image/jpeg;base64,AA=="},
                "status": "completed", "title": "Open the page", "turn_id": "turn_1",
            }),
        ),
        (
            "id request request_id turn_id type",
            true,
            json!({
                "type": "computer_use_approval_request", "id": "cua_1", "request": login_form(),
                "request_id": "req_1", "turn_id": "turn_1",
            }),
        ),
        (
            "id request_id response turn_id type",
            false,
            json!({
                "type": "computer_use_approval_request_result", "id": "cur_1", "request_id": "req_1",
                "response": {
                    "type": "browser_authentication", "action": "submit", "selected_option": "o1",
                },
                "turn_id": "turn_1",
            }),
        ),
        (
            "id agent_id content model reasoning_effort status turn_id type",
            true,
            json!({
                "type": "create_subagent_call", "id": "sa_1", "agent_id": "agent_1", "content": content,
                "model": "small", "reasoning_effort": "low", "status": "completed", "turn_id": "turn_1",
            }),
        ),
        (
            "id content recipient_agent_id sender_agent_id status turn_id type",
            true,
            json!({
                "type": "send_subagent_input_call", "id": "sa_2", "content": content,
                "recipient_agent_id": "agent_2", "sender_agent_id": "agent_1", "status": "completed",
                "turn_id": "turn_1",
            }),
        ),
        (to_subagent, true, call("resume_subagent_call")),
        (
            "id recipient_agent_ids sender_agent_id status turn_id type",
            true,
            json!({
                "type": "wait_for_subagents_call", "id": "sa_4", "recipient_agent_ids": ["agent_2"],
                "sender_agent_id": "agent_1", "status": "completed", "turn_id": "turn_1",
            }),
        ),
        (to_subagent, true, call("interrupt_subagent_call")),
        (to_subagent, true, call("close_subagent_call")),
    ]
}

#[test]
fn items_have_the_fields_of_the_contract() {
    for (fields, _, full) in all() {
        check::<Item>(fields, "", full);
    }
}

#[test]
fn there_are_17_types_and_each_item_knows_what_it_is() {
    let items = all();
    assert_eq!(items.len(), 17);
    for (_, is_output, full) in items {
        let item: Item = serde_json::from_value(full.clone()).expect("an Item");
        assert_eq!(item.kind(), full["type"]);
        assert_eq!(item.is_output(), is_output, "{}", item.kind());
        assert_eq!(item.turn_id(), "turn_1");
        assert_eq!(item.id(), full["id"].as_str());
    }
}

#[test]
fn a_user_message_is_no_output_and_may_lack_an_id() {
    let full = json!({
        "type": "message", "id": null,
        "content": [
            {"type": "input_text", "text": "Look at this"},
            {"type": "input_image", "image_url": "https://example.org/rat.png"},
        ],
        "phase": null, "role": "user", "status": "completed", "turn_id": "turn_1",
    });
    let item: Item = serde_json::from_value(full.clone()).expect("an Item");
    assert!(!item.is_output());
    assert_eq!(item.id(), None);
    assert_eq!(serde_json::to_value(&item).ok(), Some(full));
}

#[test]
fn web_search_actions_have_the_fields_of_the_contract() {
    check::<WebSearchAction>(
        "queries query type",
        "",
        json!({"type": "search", "queries": ["a", "b"], "query": "a"}),
    );
    check::<WebSearchAction>(
        "type url",
        "",
        json!({"type": "open_page", "url": "https://a"}),
    );
    check::<WebSearchAction>(
        "pattern type url",
        "",
        json!({"type": "find_in_page", "pattern": "rat", "url": "https://a"}),
    );
    check::<WebSearchAction>("type", "", json!({"type": "other"}));
}

#[test]
fn a_function_output_is_text_or_parts() {
    let text = FunctionOutput::Text("rain".to_owned());
    assert_eq!(serde_json::to_value(&text).ok(), Some(json!("rain")));
    let parts: FunctionOutput =
        serde_json::from_value(json!([{"type": "input_text", "text": "rain"}])).expect("parts");
    assert_eq!(
        parts,
        FunctionOutput::Parts(vec![InputContent::InputText {
            text: "rain".to_owned()
        }])
    );
}

#[test]
fn arguments_are_shown_as_json_and_as_text_where_they_are_none() {
    assert_eq!(call_arguments(r#"{"a": [1]}"#), json!({"a": [1]}));
    assert_eq!(call_arguments(r#"{"a": "#), json!(r#"{"a": "#));
    assert_eq!(call_arguments(""), json!(""));
}

#[test]
fn a_dismissed_login_leaves_only_that() {
    let full = json!({"type": "browser_authentication", "action": "cancel"});
    check::<BrowserAuthenticationResult>("action type", "", full);
}
