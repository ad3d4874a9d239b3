//! From a provider's output items to what the harness reports. Pure.

use serde_json::Value;

/// The phase of a message that ends the Turn.
pub const FINAL: &str = "final_answer";

/// The phase of a message that goes with further work.
pub const COMMENTARY: &str = "commentary";

/// Longer call ids are replaced: providers refuse them when they come back.
pub const CALL_ID_BYTES: usize = 64;

/// One output of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A message.
    Message {
        /// Its text.
        text: String,
        /// [`FINAL`] or [`COMMENTARY`].
        phase: Option<String>,
        /// Whether it stops early.
        incomplete: bool,
    },
    /// Reasoning.
    Reasoning {
        /// Summary texts.
        summary: Vec<String>,
        /// The item as it came.
        native: Value,
    },
    /// A call of any tool.
    Call(Call),
}

/// A call of any tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The provider's id; empty if it gave none.
    pub call_id: String,
    /// Tool name.
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
}

/// Reads a response's items. Kinds that the harness does not know are left out.
///
/// A message without a phase gets one: `commentary` if calls come with it, else `final_answer`. That is how a Turn that is
/// resumed knows whether its last message was the end. `loose_text` is a message that was streamed and never finished; it counts
/// only in a response that stopped early.
pub fn read(items: Vec<Value>, stopped_early: bool, loose_text: &str) -> Vec<Output> {
    let calls = items.iter().any(|item| item["type"] == "function_call");
    let usual_phase = if calls { COMMENTARY } else { FINAL };
    let mut outputs: Vec<Output> = items
        .into_iter()
        .filter_map(|item| read_item(item, usual_phase))
        .collect();
    if !stopped_early {
        return outputs;
    }
    if !loose_text.is_empty() {
        outputs.push(Output::Message {
            text: loose_text.to_owned(),
            phase: None,
            incomplete: true,
        });
    } else if let Some(Output::Message { incomplete, .. }) = outputs.last_mut() {
        *incomplete = true;
    }
    outputs
}

/// Whether [`read`] makes an output of this item.
pub fn is_reported(item: &Value) -> bool {
    match item["type"].as_str() {
        Some("message") => !message_text(&item["content"]).is_empty(),
        Some("reasoning" | "function_call") => true,
        Some(_) | None => false,
    }
}

fn read_item(item: Value, usual_phase: &str) -> Option<Output> {
    match item["type"].as_str()? {
        "message" => {
            let text = message_text(&item["content"]);
            let phase = item["phase"].as_str().unwrap_or(usual_phase).to_owned();
            (!text.is_empty()).then_some(Output::Message {
                text,
                phase: Some(phase),
                incomplete: item["status"] == "incomplete",
            })
        }
        "reasoning" => Some(Output::Reasoning {
            summary: texts(&item["summary"]),
            native: item,
        }),
        "function_call" => Some(Output::Call(Call {
            call_id: item["call_id"].as_str().unwrap_or_default().to_owned(),
            name: item["name"].as_str().unwrap_or_default().to_owned(),
            arguments: match &item["arguments"] {
                Value::String(text) => text.clone(),
                Value::Null => "{}".to_owned(),
                object => object.to_string(),
            },
        })),
        kind => {
            tracing::debug!(kind, "left out an output item of a kind that is not known");
            None
        }
    }
}

fn message_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        parts => texts(parts).concat(),
    }
}

/// The texts of content or summary parts; a refusal is what the model has to say, too.
fn texts(parts: &Value) -> Vec<String> {
    let parts = parts.as_array().into_iter().flatten();
    parts
        .filter_map(|part| part["text"].as_str().or_else(|| part["refusal"].as_str()))
        .map(str::to_owned)
        .collect()
}
