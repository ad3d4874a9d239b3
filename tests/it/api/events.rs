//! Shapes of stream events, and the list of their types.

use pretty_assertions::assert_eq;
use rat_things::api::Event;
use serde_json::{Value, json};

use super::samples::{message, session, subagent, turn, usage};
use super::shape::check;

/// The 34 types of the contract.
const TYPES: &str = "\
    agent.session.created agent.session.in_progress agent.session.idle agent.session.requires_action \
    agent.session.failed agent.session.budget_reached agent.session.turn.created \
    agent.session.turn.in_progress agent.session.turn.completed agent.session.turn.failed \
    agent.session.turn.cancelled agent.session.turn.item.added agent.session.turn.item.done \
    agent.session.turn.content_part.added agent.session.turn.content_part.done \
    agent.session.turn.output_text.delta agent.session.turn.output_text.done \
    agent.session.turn.reasoning_summary_part.added agent.session.turn.reasoning_summary_part.done \
    agent.session.turn.reasoning_summary_text.delta agent.session.turn.reasoning_summary_text.done \
    agent.output.command_execution_output.delta agent.session.environment.pending \
    agent.session.environment.ready agent.session.environment.connected \
    agent.session.environment.disconnected agent.session.environment.suspended \
    agent.session.environment.expired agent.session.environment.failed agent.session.environment.reset \
    agent.session.subagent.created agent.session.subagent.active agent.session.subagent.closed error";

/// The contract's fields of a type, apart from `type` and `obfuscation`.
fn fields(kind: &str) -> &'static str {
    match kind.strip_prefix("agent.session.").unwrap_or(kind) {
        "turn.created" | "turn.in_progress" => "event_id session_id turn turn_id",
        "turn.completed" | "turn.failed" | "turn.cancelled" => {
            "event_id session_id turn turn_id usage"
        }
        "turn.item.added" | "turn.item.done" => "event_id item output_index session_id turn_id",
        "turn.content_part.added" | "turn.content_part.done" => {
            "content_index event_id item_id output_index part session_id turn_id"
        }
        "turn.output_text.delta" => {
            "content_index delta event_id item_id output_index session_id turn_id"
        }
        "turn.output_text.done" => {
            "content_index event_id item_id output_index session_id text turn_id"
        }
        "turn.reasoning_summary_part.added" => {
            "event_id item_id output_index part session_id summary_index turn_id"
        }
        "turn.reasoning_summary_part.done" => {
            "event_id item_id output_index part session_id status summary_index turn_id"
        }
        "turn.reasoning_summary_text.delta" => {
            "delta event_id item_id output_index session_id summary_index turn_id"
        }
        "turn.reasoning_summary_text.done" => {
            "event_id item_id output_index session_id summary_index text turn_id"
        }
        "agent.output.command_execution_output.delta" => {
            "delta event_id item_id output_index session_id turn_id"
        }
        "environment.reset" => "environment_id event_id reset_count session_id turn_id",
        environment if environment.starts_with("environment.") => {
            "environment event_id session_id turn_id"
        }
        subagent if subagent.starts_with("subagent.") => "event_id subagent",
        "error" => "error event_id session_id",
        _ => "event_id session",
    }
}

fn value(kind: &str, field: &str) -> Value {
    match field {
        "session" => session(),
        "turn" => turn(),
        "item" => message(),
        "subagent" => subagent(),
        "usage" => usage(),
        "part" if kind.contains("reasoning") => json!({"type": "summary_text", "text": "Think"}),
        "part" => json!({"type": "output_text", "text": "Done."}),
        "status" => json!("incomplete"),
        "environment" => json!({
            "id": "env_1", "error": {"code": "c", "message": "m", "type": "t"},
            "status": "failed", "type": "openai_hosted",
        }),
        "error" => json!({"code": null, "message": "m", "param": null, "type": "t"}),
        index if index.ends_with("_index") || index == "reset_count" => json!(3),
        text => json!(format!("{text} of it")),
    }
}

fn event(kind: &str) -> Value {
    let mut event = json!({"type": kind});
    for field in fields(kind).split_whitespace() {
        event[field] = value(kind, field);
    }
    event["obfuscation"] = json!("xxxx");
    event
}

#[test]
fn events_have_the_fields_of_the_contract() {
    for kind in TYPES.split_whitespace() {
        let required = format!("type {}", fields(kind));
        check::<Event>(&required, "obfuscation", event(kind));
    }
}

#[test]
fn there_are_34_types_and_each_event_knows_what_it_is() {
    let types: Vec<&str> = TYPES.split_whitespace().collect();
    assert_eq!(types.len(), 34);
    assert_eq!(Event::KINDS, types);
    for kind in types {
        let event: Event = serde_json::from_value(event(kind)).expect("an event");
        assert_eq!(event.kind(), kind);
        assert_eq!(event.event_id(), "event_id of it");
    }
}

#[test]
fn padding_can_be_set_and_removed() {
    let mut event: Event = serde_json::from_value(event("error")).expect("an event");
    event.set_obfuscation(None);
    let written = serde_json::to_value(&event).expect("an event serialises");
    assert_eq!(written.get("obfuscation"), None);
    event.set_obfuscation(Some("yy".to_owned()));
    let written = serde_json::to_value(&event).expect("an event serialises");
    assert_eq!(written["obfuscation"], "yy");
}
