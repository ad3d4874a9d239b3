//! From what was recorded to what a provider accepts. Pure.
//!
//! A provider answers 400, for ever, to a call without an output, an output without a call, a call id used twice, or reasoning
//! without the item it led to. Whatever was recorded, and wherever a worker was lost, nothing like that leaves this file.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::engine::ports::{Feed, FunctionAnswer, Past, ToolOutcome};

/// What the model is told about a command whose worker was lost.
pub const OUTCOME_UNKNOWN: &str = "outcome unknown: the worker was lost while this command ran; it may or may not have taken \
     effect. Verify before repeating it.";

/// What the model is told about a function that nobody answered.
const NOT_ANSWERED: &str = "no answer: work went on before this call was answered";

/// What the model is told at first about a function whose answer it does not wait for.
const CALLED: &str =
    "called: the result comes later, as a message that names this call; go on without it";

/// How such a message begins.
pub const LATE_RESULT: &str = "Result of the function call ";

/// What the model is told instead of history that no longer fits.
const LEFT_OUT: &str = "Earlier parts of this conversation were left out because they no longer fit. If you need something from \
     them, look at the files in the workspace or ask.";

/// The input items for a model: the history, then the messages of `feed`.
pub fn model_input(history: &[Past], feed: &[Feed]) -> Vec<Value> {
    let mut input = Input::default();
    for past in history {
        input.past(past);
    }
    for message in feed {
        input.user(&message.content);
    }
    input.items
}

/// The input items for a model, of at most about `budget_bytes`; `sizes` has what each entry takes ([`Past::size_bytes`]). The newest entries are kept, and the newest `messages` messages
/// of the user (at least one) whatever their size; where something was left out, a note says so.
pub fn fitted_input(
    history: &[&Past],
    sizes: &[usize],
    budget_bytes: usize,
    messages: usize,
) -> Vec<Value> {
    let from = cut(sizes, budget_bytes);
    let mut input = Input::default();
    if from > 0 {
        input.items.push(json!({
            "type": "message",
            "role": "system",
            "content": [{"type": "input_text", "text": LEFT_OUT}],
        }));
    }
    // Ids seen in what was left out stay taken: the model may have mentioned them.
    if repeats_ids(history, from) {
        for past in &history[..from] {
            input.reserve(past);
        }
    }
    let newest = history.iter().enumerate().rev();
    let kept_message = newest
        .filter(|(_, past)| matches!(past, Past::User { .. }))
        .take(messages.max(1))
        .last()
        .map_or(history.len(), |(at, _)| at);
    for (at, past) in history.iter().enumerate() {
        let is_message = matches!(past, Past::User { .. });
        if at >= from || (is_message && at >= kept_message) {
            input.past(past);
        }
    }
    input.items
}

/// The first entry to keep. It moves in steps of a quarter of the budget, so that a provider's cache of the beginning stays
/// good for many calls.
fn cut(sizes: &[usize], budget_bytes: usize) -> usize {
    let total: usize = sizes.iter().sum();
    if total <= budget_bytes {
        return 0;
    }
    let step = (budget_bytes / 4).max(1);
    let surplus = (total - budget_bytes).div_ceil(step) * step;
    let mut dropped = 0;
    let newest = sizes.len().saturating_sub(1);
    for (at, size) in sizes.iter().enumerate().take(newest) {
        if dropped >= surplus {
            return at;
        }
        dropped += size;
    }
    newest
}

/// Whether an id of a call that is kept is also that of another call, kept or left out. Hardly ever; so whoever asks need not
/// remember the ids of a long history.
fn repeats_ids(history: &[&Past], from: usize) -> bool {
    let mut kept = HashSet::new();
    let mut calls = history[from..].iter().filter_map(|past| call_id(past));
    if calls.any(|id| id.is_empty() || !kept.insert(id)) {
        return true;
    }
    let mut left_out = history[..from].iter().filter_map(|past| call_id(past));
    left_out.any(|id| kept.contains(id))
}

/// The id of a call.
fn call_id(past: &Past) -> Option<&str> {
    match past {
        Past::Tool { call_id, .. }
        | Past::Function { call_id, .. }
        | Past::Background { call_id, .. } => Some(call_id),
        Past::User { .. }
        | Past::Assistant { .. }
        | Past::Reasoning { .. }
        | Past::Answered { .. } => None,
    }
}

#[derive(Default)]
struct Input {
    items: Vec<Value>,
    /// Reasoning that still waits for the item it led to.
    reasoning: Vec<Value>,
    ids: HashSet<String>,
}

impl Input {
    fn past(&mut self, past: &Past) {
        match past {
            Past::User { content } => self.user(content),
            Past::Assistant { text, phase } => self.assistant(text, phase.as_deref()),
            Past::Reasoning { native, .. } => {
                self.reasoning
                    .extend(native.iter().filter(|item| can_return(item)).cloned());
            }
            Past::Tool {
                call_id,
                name,
                arguments,
                outcome,
            } => {
                let output = match outcome {
                    ToolOutcome::Done { output } => output.as_str(),
                    ToolOutcome::Unknown => OUTCOME_UNKNOWN,
                };
                self.pair(call_id, name, arguments, Value::from(output));
            }
            Past::Function {
                call_id,
                name,
                arguments,
                output,
            } => self.pair(call_id, name, arguments, function_output(output.as_ref())),
            Past::Background {
                call_id,
                name,
                arguments,
                ..
            } => self.pair(call_id, name, arguments, Value::from(CALLED)),
            Past::Answered {
                call_id,
                name,
                answer,
            } => self.user(&late_result(call_id, name, answer)),
        }
    }

    /// A message of the user ends the response before it: reasoning that led to nothing is left out.
    fn user(&mut self, content: &[Value]) {
        self.reasoning.clear();
        self.items.push(json!({
            "type": "message",
            "role": "user",
            "content": content,
        }));
    }

    fn assistant(&mut self, text: &str, phase: Option<&str>) {
        if text.is_empty() {
            return;
        }
        self.items.append(&mut self.reasoning);
        let mut message = json!({
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        });
        if let Some(phase) = phase {
            message["phase"] = Value::from(phase);
        }
        self.items.push(message);
    }

    fn pair(&mut self, call_id: &str, name: &str, arguments: &str, output: Value) {
        self.items.append(&mut self.reasoning);
        let call_id = self.unused(call_id);
        self.items.push(json!({
            "type": "function_call",
            "call_id": call_id,
            "name": name,
            "arguments": valid(arguments),
        }));
        self.items.push(json!({
            "type": "function_call_output",
            "call_id": call_id,
            "output": output,
        }));
    }

    fn reserve(&mut self, past: &Past) {
        self.ids.extend(call_id(past).map(str::to_owned));
    }

    /// The id itself, or a variant of it if it is empty or was used before.
    fn unused(&mut self, call_id: &str) -> String {
        let mut id = call_id.to_owned();
        let mut n = 1;
        while id.is_empty() || self.ids.contains(&id) {
            n += 1;
            id = format!("{call_id}_{n}");
        }
        self.ids.insert(id.clone());
        id
    }
}

/// Whether a provider that stores nothing can do something with its own reasoning item. Without its content it would look the
/// item up by id, and fail.
fn can_return(item: &Value) -> bool {
    let encrypted = item["encrypted_content"].as_str().unwrap_or_default();
    let open = item["content"]
        .as_array()
        .is_some_and(|parts| !parts.is_empty());
    item["type"] == "reasoning" && (open || !encrypted.is_empty())
}

/// Arguments as the model wrote them, if they are JSON. Some servers parse them while they build a prompt, and answer 500 to a
/// whole conversation for one slip of the model.
fn valid(arguments: &str) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(arguments) {
        Ok(_) => arguments.to_owned(),
        Err(_) => json!({"malformed": arguments}).to_string(),
    }
}

fn function_output(answer: Option<&FunctionAnswer>) -> Value {
    let Some(answer) = answer else {
        return Value::from(NOT_ANSWERED);
    };
    if !answer.success {
        let error = answer.error.as_deref().unwrap_or("the function failed");
        return Value::from(format!("error: {error}"));
    }
    match &answer.output {
        Value::String(_) => answer.output.clone(),
        Value::Array(parts) if !parts.is_empty() && parts.iter().all(is_content) => {
            answer.output.clone()
        }
        Value::Null => Value::from(""),
        other => Value::from(other.to_string()),
    }
}

/// The parts of the message that tells a late answer. It is the client's word, so it comes as the user's.
fn late_result(call_id: &str, name: &str, answer: &FunctionAnswer) -> Vec<Value> {
    let text = |text: String| json!({"type": "input_text", "text": text});
    let head = format!("{LATE_RESULT}{call_id} ({name}):");
    match function_output(Some(answer)) {
        Value::Array(parts) => std::iter::once(text(head)).chain(parts).collect(),
        Value::String(output) => vec![text(format!("{head}\n{output}"))],
        other => vec![text(format!("{head}\n{other}"))],
    }
}

fn is_content(part: &Value) -> bool {
    part["type"] == "input_text" || part["type"] == "input_image"
}

#[cfg(test)]
mod tests;
