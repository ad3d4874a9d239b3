//! Requests and answers that several clients make and read.

use rat_things::api::{self, RequiredAction};
use rat_things::engine::core::Core;
use rat_things::engine::delivery::{Notice, enqueue_delivery};
use rat_things::engine::draft::Draft;
use rat_things::engine::error::EngineError;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::StoreError;
use serde_json::{Value, json};

use super::world::OWNER;

/// The id of an event.
pub fn event_id(event: &api::Event) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    value["event_id"].as_str().unwrap_or_default().to_owned()
}

/// The answer to what a Session asks of its client.
pub fn answer_to(action: &RequiredAction, output: &str) -> Value {
    match action {
        RequiredAction::FunctionCall {
            turn_id, call_id, ..
        } => json!({
            "type": "agent.session.input.tool_result", "turn_id": turn_id, "call_id": call_id,
            "success": true, "output": output,
        }),
        other => json!({ "type": format!("{other:?}") }),
    }
}

/// Owes a delivery, once, as whoever subscribes to results will.
pub async fn owe(core: &Core, session: &SessionId, notice: Notice) -> Result<(), EngineError> {
    let loaded = core.load_owned(OWNER, session).await?;
    let mut draft = Draft::of(session, &loaded, core.clock.now_ms());
    enqueue_delivery(&mut draft, notice);
    let (commit, _) = draft.seal(&*core.ids);
    match core.commit_once(commit).await {
        // It is owed already, or somebody else was quicker.
        Err(StoreError::Conflict(_)) => Ok(()),
        other => other.map_err(EngineError::from),
    }
}
