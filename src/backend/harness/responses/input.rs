//! From what was recorded to what a provider accepts. Pure.
//!
//! A provider answers 400, for ever, to a call without an output, an output without a call, a call id used twice, or reasoning
//! without the item it led to. Whatever was recorded, and wherever a worker was lost, nothing like that leaves this file.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::ports::{FunctionAnswer, ModelItem, Past, PastEntry, Shared, ToolOutcome};

/// What the model is told about a command whose worker was lost.
pub const OUTCOME_UNKNOWN: &str = "outcome unknown: the worker was lost while this command ran; it may or may not have taken \
     effect. Verify before repeating it.";

/// What the model is told about a function that nobody answered.
const NOT_ANSWERED: &str = "no answer: work went on before this call was answered";

/// What the model is told at first about a function whose answer it does not wait for.
pub const CALLED: &str =
    "called: the result comes later, as a message that names this call; go on without it";

/// How such a message begins.
pub const LATE_RESULT: &str = "Result of the function call ";

/// What the model is told instead of history that no longer fits.
const LEFT_OUT: &str = "Earlier parts of this conversation were left out because they no longer fit. If you need something from \
     them, look at the files in the workspace or ask.";

/// What was recorded: before the harness began, and since.
#[derive(Clone, Copy)]
pub struct Log<'a> {
    /// Before.
    pub history: &'a Arc<Vec<Past>>,
    /// Since.
    pub since: &'a [PastEntry],
}

impl Log<'_> {
    fn len(self) -> usize {
        self.history.len() + self.since.len()
    }

    fn entry(self, at: usize) -> Option<PastEntry> {
        let since = at.checked_sub(self.history.len());
        PastEntry::of(self.history, at).or_else(|| self.since.get(since?).cloned())
    }
}

impl<'a> Log<'a> {
    /// The entries at these places.
    fn pasts(self, from: usize, until: usize) -> impl DoubleEndedIterator<Item = &'a Past> {
        let whole = self.history.len();
        let history = &self.history[from.min(whole)..until.min(whole)];
        let since = &self.since[from.saturating_sub(whole)..until.saturating_sub(whole)];
        history.iter().chain(since.iter().map(|entry| &**entry))
    }
}

/// The input of a Turn's model calls. It grows: what an earlier call was given is not put together again.
#[derive(Default)]
pub struct Input {
    /// What each entry of the log takes in a request ([`Past::size_bytes`]), as far as that was asked.
    sizes: Vec<usize>,
    /// Entries that were read.
    read: usize,
    left_out: LeftOut,
    items: Items,
}

/// What is left out: the entries before `from`, but for messages from `message` on.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct LeftOut {
    from: usize,
    message: usize,
}

impl Input {
    /// The input items for a model, of at most about `budget_bytes`. The newest entries are kept, and the newest `messages` messages of the user (at
    /// least one) whatever their size; where something was left out, a note says so. `log` is the one of the calls before, and perhaps more.
    pub fn fitted(
        &mut self,
        log: Log<'_>,
        budget_bytes: usize,
        messages: usize,
    ) -> Arc<Vec<ModelItem>> {
        let sizes = log.pasts(self.sizes.len(), log.len()).map(Past::size_bytes);
        self.sizes.extend(sizes);
        let left_out = self.left_out(log, budget_bytes, messages);
        if left_out != self.left_out || self.repeats_ids(log) {
            self.read = 0;
        }
        if self.read == 0 {
            self.begin(log, left_out);
        }
        for at in self.read..log.len() {
            if let Some(entry) = log.entry(at) {
                self.items.past(&entry);
            }
        }
        self.read = log.len();
        Arc::clone(&self.items.items)
    }

    fn left_out(&self, log: Log<'_>, budget_bytes: usize, messages: usize) -> LeftOut {
        let from = cut(&self.sizes, budget_bytes);
        if from == 0 {
            return LeftOut::default();
        }
        let places = (0..log.len()).rev();
        let newest = places.zip(log.pasts(0, log.len()).rev());
        let message = newest
            .filter(|(_, past)| matches!(past, Past::User { .. }))
            .take(messages.max(1))
            .last()
            .map_or(from, |(at, _)| at.min(from));
        LeftOut { from, message }
    }

    /// Whether a call that was not read yet has no id, or one that an earlier call has. Only where something was left out, because only then it matters.
    fn repeats_ids(&self, log: Log<'_>) -> bool {
        let from = self.left_out.from;
        let mut new = log.pasts(self.read, log.len()).filter_map(call_id);
        from > 0
            && new.any(|id| {
                let mut before = log.pasts(0, from).filter_map(call_id);
                id.is_empty() || self.items.ids.contains(id) || before.any(|left| left == id)
            })
    }

    /// Begins anew, with what is kept of the entries before `from`.
    fn begin(&mut self, log: Log<'_>, left_out: LeftOut) {
        let LeftOut { from, message } = left_out;
        let mut items = Items::default();
        if from > 0 {
            items.push(ModelItem::Other(Arc::new(json!({
                "type": "message",
                "role": "system",
                "content": [{"type": "input_text", "text": LEFT_OUT}],
            }))));
        }
        // Ids seen in what was left out stay taken: the model may have mentioned them.
        if repeats_ids(log, from) {
            let left = log.pasts(0, from).filter_map(call_id);
            items.ids.extend(left.map(Shared::from));
        }
        for at in message..from {
            if let Some(entry) = log.entry(at)
                && matches!(*entry, Past::User { .. })
            {
                items.past(&entry);
            }
        }
        (self.items, self.left_out, self.read) = (items, left_out, from);
    }
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
fn repeats_ids(log: Log<'_>, from: usize) -> bool {
    let mut kept = HashSet::new();
    let mut calls = log.pasts(from, log.len()).filter_map(call_id);
    if calls.any(|id| id.is_empty() || !kept.insert(id)) {
        return true;
    }
    let mut left_out = log.pasts(0, from).filter_map(call_id);
    left_out.any(|id| kept.contains(id))
}

/// The id of a call.
pub fn call_id(past: &Past) -> Option<&str> {
    match past {
        Past::Tool { call_id, .. }
        | Past::Function { call_id, .. }
        | Past::Background { call_id, .. } => Some(call_id),
        Past::User { .. }
        | Past::Assistant { .. }
        | Past::Reasoning { .. }
        | Past::WebSearch { .. }
        | Past::Answered { .. } => None,
    }
}

/// Items, and what it takes to add the next one.
#[derive(Default)]
struct Items {
    items: Arc<Vec<ModelItem>>,
    /// Reasoning that still waits for the item it led to.
    reasoning: Vec<ModelItem>,
    ids: HashSet<Shared<str>>,
}

impl Items {
    fn past(&mut self, entry: &PastEntry) {
        match &**entry {
            Past::User { .. } => self.user(Shared::part(entry, content_of)),
            Past::Assistant { text, phase } if !text.is_empty() => {
                let phase = phase.as_ref().map(|_| Shared::part(entry, phase_of));
                self.led_to(ModelItem::Assistant {
                    text: Shared::part(entry, text_of),
                    phase,
                });
            }
            Past::Assistant { .. } => {}
            Past::Reasoning { native, .. } => {
                let native = native.iter().filter(|item| can_return(item)).cloned();
                let native = native.map(|item| ModelItem::Other(Arc::new(item)));
                self.reasoning.extend(native);
            }
            // Without its id: a provider that stores nothing would look it up by that, and fail.
            Past::WebSearch { native } => {
                let mut item = native.clone();
                if let Some(fields) = item.as_object_mut() {
                    fields.remove("id");
                }
                self.led_to(ModelItem::Other(Arc::new(item)));
            }
            Past::Tool { outcome, .. } => {
                let output = match outcome {
                    ToolOutcome::Done { .. } => Shared::part(entry, output_of),
                    ToolOutcome::Unknown => OUTCOME_UNKNOWN.into(),
                };
                self.pair(entry, Answer::Text(output));
            }
            Past::Function { output, .. } => self.pair(entry, function_output(output.as_ref())),
            Past::Background { .. } => self.pair(entry, Answer::Text(CALLED.into())),
            Past::Answered {
                call_id,
                name,
                answer,
            } => self.user(late_result(call_id, name, answer).into()),
        }
    }

    fn push(&mut self, item: ModelItem) {
        // A model that was given them has read them by now, so they are hardly ever copied.
        Arc::make_mut(&mut self.items).push(item);
    }

    /// A message of the user ends the response before it: reasoning that led to nothing is left out.
    fn user(&mut self, content: Shared<[Value]>) {
        self.reasoning.clear();
        self.push(ModelItem::User(content));
    }

    /// An item of the model, behind the reasoning that led to it.
    fn led_to(&mut self, item: ModelItem) {
        Arc::make_mut(&mut self.items).append(&mut self.reasoning);
        self.push(item);
    }

    /// A call and what came of it.
    fn pair(&mut self, call: &PastEntry, answer: Answer) {
        let call_id = self.unused(call);
        let arguments = match malformed(arguments_of(call)) {
            None => Shared::part(call, arguments_of),
            Some(wrapped) => wrapped.into(),
        };
        self.led_to(ModelItem::Call {
            call_id: call_id.clone(),
            name: Shared::part(call, name_of),
            arguments,
        });
        self.push(match answer {
            Answer::Text(output) => ModelItem::Output { call_id, output },
            Answer::Parts(parts) => ModelItem::Other(Arc::new(json!({
                "type": "function_call_output",
                "call_id": &*call_id,
                "output": parts,
            }))),
        });
    }

    /// The id of the call, or a variant of it if it is empty or was used before.
    fn unused(&mut self, call: &PastEntry) -> Shared<str> {
        let mut id = Shared::part(call, id_of);
        let mut n = 1;
        while id.is_empty() || self.ids.contains(&id) {
            n += 1;
            id = format!("{}_{n}", id_of(call)).into();
        }
        self.ids.insert(id.clone());
        id
    }
}

// Parts of an entry that items point to.

fn content_of(past: &Past) -> &[Value] {
    match past {
        Past::User { content } => content,
        _ => &[],
    }
}

fn text_of(past: &Past) -> &str {
    match past {
        Past::Assistant { text, .. } => text,
        _ => "",
    }
}

fn phase_of(past: &Past) -> &str {
    match past {
        Past::Assistant { phase, .. } => phase.as_deref().unwrap_or_default(),
        _ => "",
    }
}

fn output_of(past: &Past) -> &str {
    match past {
        Past::Tool {
            outcome: ToolOutcome::Done { output },
            ..
        } => output,
        _ => "",
    }
}

fn id_of(past: &Past) -> &str {
    call_id(past).unwrap_or_default()
}

fn name_of(past: &Past) -> &str {
    match past {
        Past::Tool { name, .. } | Past::Function { name, .. } | Past::Background { name, .. } => {
            name
        }
        _ => "",
    }
}

fn arguments_of(past: &Past) -> &str {
    match past {
        Past::Tool { arguments, .. }
        | Past::Function { arguments, .. }
        | Past::Background { arguments, .. } => arguments,
        _ => "",
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

/// What to send instead of arguments that are no JSON. Some servers parse them while they build a prompt, and answer 500 to a
/// whole conversation for one slip of the model.
fn malformed(arguments: &str) -> Option<String> {
    match serde_json::from_str::<serde::de::IgnoredAny>(arguments) {
        Ok(_) => None,
        Err(_) => Some(json!({"malformed": arguments}).to_string()),
    }
}

/// What came of a call.
enum Answer {
    Text(Shared<str>),
    /// Content parts.
    Parts(Vec<Value>),
}

fn function_output(answer: Option<&FunctionAnswer>) -> Answer {
    let text = |text: &str| Answer::Text(text.into());
    let Some(answer) = answer else {
        return text(NOT_ANSWERED);
    };
    if !answer.success {
        let error = answer.error.as_deref().unwrap_or("the function failed");
        return text(&format!("error: {error}"));
    }
    match &answer.output {
        Value::String(output) => text(output),
        Value::Array(parts) if !parts.is_empty() && parts.iter().all(is_content) => {
            Answer::Parts(parts.clone())
        }
        Value::Null => text(""),
        other => text(&other.to_string()),
    }
}

/// The parts of the message that tells a late answer. It is the client's word, so it comes as the user's.
fn late_result(call_id: &str, name: &str, answer: &FunctionAnswer) -> Vec<Value> {
    let text = |text: String| json!({"type": "input_text", "text": text});
    let head = format!("{LATE_RESULT}{call_id} ({name}):");
    match function_output(Some(answer)) {
        Answer::Parts(parts) => std::iter::once(text(head)).chain(parts).collect(),
        Answer::Text(output) => vec![text(format!("{head}\n{}", &*output))],
    }
}

fn is_content(part: &Value) -> bool {
    part["type"] == "input_text" || part["type"] == "input_image"
}

#[cfg(test)]
mod tests;
