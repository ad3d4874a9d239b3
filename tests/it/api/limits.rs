//! Rules that need only the body.

use rat_things::api::limits::*;
use serde_json::{Map, Value, json};

use super::refusal::{
    AGENT_CREATE, AGENT_UPDATE, EVENTS, Parser, SESSION_CREATE, SESSION_UPDATE, accepted,
    empty_array, empty_string, long_array, refused, with_environment, with_event, with_tools,
};

fn metadata(pairs: usize, key_chars: usize, value_chars: usize) -> Value {
    let pairs: Map<String, Value> = (0..pairs)
        .map(|i| {
            let key = format!("{i:ü>key_chars$}");
            (key, Value::from("é".repeat(value_chars)))
        })
        .collect();
    Value::Object(pairs)
}

fn message(text: &str) -> Value {
    with_event(json!({
        "type": "agent.session.input.message",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": text}]}],
    }))
}

fn function(name: &str) -> Value {
    json!({"type": "function", "name": name, "description": "d", "parameters": {}})
}

#[test]
fn metadata_is_bounded_in_characters_on_every_route() {
    let routes: [(Parser, Value); 4] = [
        (AGENT_CREATE, json!({"model": "m"})),
        (AGENT_UPDATE, json!({})),
        (
            SESSION_CREATE,
            with_environment(json!({"type": "openai_hosted"})),
        ),
        (SESSION_UPDATE, json!({})),
    ];
    for (parser, body) in routes {
        let with = |metadata: Value| {
            let mut body = body.clone();
            body["metadata"] = metadata;
            body
        };
        accepted(parser, with(metadata(16, 64, 512)));
        refused(
            parser,
            with(metadata(17, 2, 1)),
            "metadata",
            "Invalid 'metadata': too many pairs. \
             Expected an object with at most 16 pairs, but got 17 instead.",
        );
        let start = "ü".repeat(64);
        refused(
            parser,
            with(metadata(1, 65, 1)),
            "metadata",
            &format!(
                "Invalid 'metadata': key '{start}…' too long. \
                 Expected a key with maximum length 64, but got one with length 65 instead."
            ),
        );
        refused(
            parser,
            with(json!({"note": "é".repeat(513)})),
            "metadata.note",
            "Invalid 'metadata.note': string too long. \
             Expected a string with maximum length 512, but got a string with length 513 instead.",
        );
    }
}

#[test]
fn a_session_needs_an_agent_or_a_model() {
    let environment = json!({"type": "openai_hosted"});
    accepted(
        SESSION_CREATE,
        json!({"agent_id": "a", "environment": environment}),
    );
    accepted(
        SESSION_CREATE,
        json!({"agent": {"model": "m"}, "environment": environment}),
    );
    accepted(
        SESSION_CREATE,
        json!({"agent_id": "a", "agent": {"model": "m"}, "environment": environment}),
    );
    let missing = "Missing required parameter: 'agent.model'. It is required without 'agent_id'.";
    for body in [
        json!({"environment": environment}),
        json!({"agent": {}, "environment": environment}),
        json!({"agent": {"instructions": "i"}, "environment": environment}),
    ] {
        refused(SESSION_CREATE, body, "agent.model", missing);
    }
    let empty = json!({"agent_id": "", "agent": {"model": "m"}, "environment": environment});
    refused(SESSION_CREATE, empty, "agent_id", &empty_string("agent_id"));
    let empty = json!({"agent": {"model": ""}, "environment": environment});
    refused(
        SESSION_CREATE,
        empty,
        "agent.model",
        &empty_string("agent.model"),
    );
    refused(
        AGENT_CREATE,
        json!({"model": ""}),
        "model",
        &empty_string("model"),
    );
    refused(
        AGENT_UPDATE,
        json!({"model": ""}),
        "model",
        &empty_string("model"),
    );
    let empty = json!({"agent": {"model": ""}});
    refused(
        SESSION_UPDATE,
        empty,
        "agent.model",
        &empty_string("agent.model"),
    );
}

#[test]
fn input_is_required_where_nothing_else_could_start_the_session() {
    let none = with_environment(json!({"type": "none"}));
    refused(
        SESSION_CREATE,
        none.clone(),
        "input",
        "Missing required parameter: 'input'. It is required when the environment is 'none'.",
    );
    let mut with_null = none.clone();
    with_null["input"] = Value::Null;
    refused(
        SESSION_CREATE,
        with_null,
        "input",
        "Missing required parameter: 'input'. It is required when the environment is 'none'.",
    );
    let mut streamed = with_environment(json!({"type": "openai_hosted"}));
    streamed["stream"] = json!(true);
    refused(
        SESSION_CREATE,
        streamed.clone(),
        "input",
        "Missing required parameter: 'input'. It is required when 'stream' is true.",
    );
    for mut body in [none, streamed] {
        body["input"] = json!("Go");
        accepted(SESSION_CREATE, body);
    }
    let mut own = with_environment(json!({"type": "self_hosted", "workspace_directory": "/w"}));
    own["stream"] = json!(true);
    accepted(SESSION_CREATE, own);
}

#[test]
fn stream_options_need_a_stream() {
    for stream in [json!({}), json!({"stream": false})] {
        let mut body = with_environment(json!({"type": "openai_hosted"}));
        body["stream_options"] = json!({"include_obfuscation": true});
        for (name, value) in stream.as_object().expect("an object") {
            body[name] = value.clone();
        }
        refused(
            SESSION_CREATE,
            body,
            "stream_options",
            "Invalid 'stream_options': it is allowed only when 'stream' is true.",
        );
    }
}

#[test]
fn empty_input_is_refused_and_white_space_is_not_empty() {
    refused(
        EVENTS,
        json!({"events": []}),
        "events",
        &empty_array("events"),
    );
    refused(
        EVENTS,
        with_event(json!({"type": "agent.session.input.message", "input": []})),
        "events[0].input",
        &empty_array("events[0].input"),
    );
    refused(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.message", "input": [{"role": "user", "content": []}],
        })),
        "events[0].input[0].content",
        &empty_array("events[0].input[0].content"),
    );
    let text = "events[0].input[0].content[0].text";
    refused(EVENTS, message(""), text, &empty_string(text));
    accepted(EVENTS, message(" "));
    accepted(EVENTS, message("\n"));

    let image = "events[0].input[0].content[0].image_url";
    refused(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.message",
            "input": [{"role": "user", "content": [{"type": "input_image", "image_url": ""}]}],
        })),
        image,
        &empty_string(image),
    );
    let with_input =
        |input: Value| json!({"agent_id": "a", "environment": {"type": "none"}, "input": input});
    refused(
        SESSION_CREATE,
        with_input(json!("")),
        "input",
        &empty_string("input"),
    );
    refused(
        SESSION_CREATE,
        with_input(json!([])),
        "input",
        &empty_array("input"),
    );
    accepted(SESSION_CREATE, with_input(json!(" ")));
}

#[test]
fn the_text_of_one_input_is_bounded_over_all_its_messages() {
    let too_long = |param: &str| {
        format!(
            "Invalid '{param}': text too long. \
             Expected at most 1048576 bytes in all, but got 1048577."
        )
    };
    let half = "x".repeat(MAX_INPUT_TEXT_BYTES / 2);
    let part = |text: &str| json!({"type": "input_text", "text": text});
    let two = |last: &str| {
        json!([
            {"role": "user", "content": [part(&half)]},
            {"role": "user", "content": [part(&half[1..]), part(last)]},
        ])
    };
    let send =
        |input: Value| with_event(json!({"type": "agent.session.input.message", "input": input}));
    accepted(EVENTS, send(two("x")));
    refused(
        EVENTS,
        send(two("é")),
        "events[0].input",
        &too_long("events[0].input"),
    );

    let create =
        |input: Value| json!({"agent_id": "a", "environment": {"type": "none"}, "input": input});
    accepted(SESSION_CREATE, create(two("x")));
    refused(
        SESSION_CREATE,
        create(two("xx")),
        "input",
        &too_long("input"),
    );
    let whole = "x".repeat(MAX_INPUT_TEXT_BYTES + 1);
    refused(
        SESSION_CREATE,
        create(json!(whole)),
        "input",
        &too_long("input"),
    );

    let result = |output: Value| {
        with_event(json!({
            "type": "agent.session.input.tool_result", "call_id": "c", "success": true,
            "turn_id": "t", "output": output,
        }))
    };
    accepted(EVENTS, result(json!(whole[1..])));
    accepted(EVENTS, result(json!("")));
    refused(
        EVENTS,
        result(json!(whole)),
        "events[0].output",
        &too_long("events[0].output"),
    );
}

#[test]
fn an_answer_names_what_it_answers() {
    let result = |call: &str, turn: &str| {
        with_event(json!({
            "type": "agent.session.input.tool_result", "call_id": call, "success": true, "turn_id": turn,
        }))
    };
    accepted(EVENTS, result("c", "t"));
    refused(
        EVENTS,
        result("", "t"),
        "events[0].call_id",
        &empty_string("events[0].call_id"),
    );
    refused(
        EVENTS,
        result("c", ""),
        "events[0].turn_id",
        &empty_string("events[0].turn_id"),
    );
    refused(
        EVENTS,
        with_event(json!({
            "type": "agent.session.input.mcp_approval_request_result", "request_id": "",
            "response": {"type": "mcp_tool_call", "decision": "approve"},
        })),
        "events[0].request_id",
        &empty_string("events[0].request_id"),
    );
}

#[test]
fn a_filled_in_login_is_bounded() {
    let login = |fields: usize, value_bytes: usize| {
        let field = json!({"field_id": "f", "value": "x".repeat(value_bytes)});
        with_event(json!({
            "type": "agent.session.input.computer_use_approval_request_result", "request_id": "r",
            "response": {
                "type": "browser_authentication", "action": "submit", "fields": vec![field; fields],
            },
        }))
    };
    accepted(EVENTS, login(6, 20_000));
    let fields = "events[0].response.fields";
    refused(EVENTS, login(7, 1), fields, &long_array(fields, 6));
    refused(
        EVENTS,
        login(6, 20_500),
        "events[0].response",
        "Invalid 'events[0].response': more than 122880 bytes of JSON.",
    );
}

#[test]
fn function_names_match_their_pattern_and_are_unique() {
    let long = "f".repeat(64);
    accepted(
        SESSION_CREATE,
        with_tools(json!([function("get_Weather-2"), function(&long)])),
    );
    for bad in ["", "a b", "a.b", "é", "a\n", &"f".repeat(65)] {
        let param = "agent.tools[1].name";
        refused(
            SESSION_CREATE,
            with_tools(json!([{"type": "automations"}, function(bad)])),
            param,
            &format!(
                "Invalid '{param}': string does not match pattern. \
                 Expected a string that matches the pattern '^[a-zA-Z0-9_-]{{1,64}}$'."
            ),
        );
    }
    let twice = json!([function("f"), function("g"), function("f")]);
    let message = |param: &str| format!("Invalid '{param}': another function is named 'f' too.");
    let saved = "tools[2].name";
    refused(
        AGENT_CREATE,
        json!({"model": "m", "tools": twice}),
        saved,
        &message(saved),
    );
    refused(
        AGENT_UPDATE,
        json!({"tools": twice}),
        saved,
        &message(saved),
    );
    let own = "agent.tools[2].name";
    refused(
        SESSION_CREATE,
        with_tools(twice.clone()),
        own,
        &message(own),
    );
    refused(
        SESSION_UPDATE,
        json!({"agent": {"tools": twice}}),
        own,
        &message(own),
    );
}

#[test]
fn tools_are_bounded_as_compact_json_with_their_defaults() {
    let fixed = r#"[{"type":"function","defer_loading":false,"description":"","name":"f","parameters":{}}]"#;
    let tools = |size_bytes: usize| {
        let mut tool = function("f");
        tool["description"] = Value::from("x".repeat(size_bytes - fixed.len()));
        json!([tool])
    };
    accepted(SESSION_CREATE, with_tools(tools(MAX_TOOLS_BYTES)));
    accepted(
        AGENT_CREATE,
        json!({"model": "m", "tools": tools(MAX_TOOLS_BYTES)}),
    );
    let message = |param: &str| {
        format!(
            "Invalid '{param}': too large. \
             Expected at most 3145728 bytes of compact JSON, but got 3145729."
        )
    };
    let over = tools(MAX_TOOLS_BYTES + 1);
    refused(
        SESSION_CREATE,
        with_tools(over.clone()),
        "agent.tools",
        &message("agent.tools"),
    );
    refused(
        AGENT_CREATE,
        json!({"model": "m", "tools": over}),
        "tools",
        &message("tools"),
    );
}

#[test]
fn web_searches_name_at_most_100_domains() {
    let search = |domains: usize| {
        with_tools(json!([{"type": "web_search", "allowed_domains": vec!["example.org"; domains]}]))
    };
    accepted(SESSION_CREATE, search(100));
    let param = "agent.tools[0].allowed_domains";
    refused(SESSION_CREATE, search(101), param, &long_array(param, 100));
}

#[test]
fn a_spend_limit_is_positive_or_null() {
    accepted(SESSION_UPDATE, json!({"spend_control": {"limit": 1}}));
    accepted(SESSION_UPDATE, json!({"spend_control": {"limit": null}}));
    accepted(SESSION_UPDATE, json!({"spend_control": null}));
    let message =
        "Invalid 'spend_control.limit': expected a positive number of cents, or null for no limit.";
    let zero = json!({"spend_control": {"limit": 0}});
    refused(SESSION_UPDATE, zero, "spend_control.limit", message);
    let mut create = with_environment(json!({"type": "openai_hosted"}));
    create["spend_control"] = json!({"limit": 0});
    refused(SESSION_CREATE, create, "spend_control.limit", message);
}
