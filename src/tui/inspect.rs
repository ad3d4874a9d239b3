//! One Item or Turn in full: what it says, and what it is on the wire. Pure.

use super::action::Action;
use super::reader::Reader;
use super::session::Open;
use super::times::Times;
use super::transcript::{Look, text_of, turn_word};
use crate::api::{HasId, Item, Turn};
use crate::text::{count, duration, size};

/// Of one Item, so many bytes are read here.
const READ_BYTES: usize = 1 << 20;

/// What is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// An Item.
    Item(Box<Item>),
    /// A Turn.
    Turn(Box<Turn>),
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Inspect {
    /// What is looked at.
    pub subject: Subject,
    /// It is shown as it is on the wire.
    pub as_json: bool,
    /// Its text.
    pub reader: Reader,
}

impl Inspect {
    /// Opens it as words.
    pub fn new(subject: Subject, times: &Times) -> Inspect {
        let mut inspect = Inspect {
            reader: Reader::default(),
            as_json: false,
            subject,
        };
        inspect.reader = Reader::new(inspect.text(times));
        inspect
    }

    /// Its id, if it has one.
    pub fn id(&self) -> Option<&str> {
        match &self.subject {
            Subject::Item(item) => item.id(),
            Subject::Turn(turn) => Some(&turn.id),
        }
    }

    /// What it is called.
    pub fn name(&self) -> String {
        let (kind, id) = match &self.subject {
            Subject::Item(item) => (item.kind().replace('_', " "), item.id()),
            Subject::Turn(turn) => ("turn".to_owned(), Some(turn.id.as_str())),
        };
        format!("{kind} {}", id.unwrap_or("without an id"))
    }

    /// Scrolls, or shows it the other way.
    pub fn act(&mut self, action: Action, look: Look, height: usize, times: &Times) {
        if action == Action::Json {
            self.as_json = !self.as_json;
            self.reader = Reader::new(self.text(times));
            return;
        }
        self.reader.act(action, look.width, height, look.glyphs);
    }

    /// Takes it as the Session has it now. Whether it changed.
    pub fn renew(&mut self, open: &Open, times: &Times) -> bool {
        let now = match &self.subject {
            Subject::Item(item) => {
                let place = item.id().and_then(|id| open.items.place_of(id));
                let item = place.and_then(|place| open.items.rows().get(place));
                item.map(|item| Subject::Item(Box::new(item.clone())))
            }
            Subject::Turn(turn) => {
                let turn = open.turns.get(&turn.id);
                turn.map(|turn| Subject::Turn(Box::new(turn.clone())))
            }
        };
        match now.filter(|now| *now != self.subject) {
            Some(now) => {
                self.subject = now;
                self.reader.renew(self.text(times));
                true
            }
            None => false,
        }
    }

    /// All of it, as it is shown now and however long it is.
    pub fn whole_text(&self, times: &Times) -> String {
        match (self.as_json, &self.subject) {
            (false, Subject::Item(item)) => said(&item_facts(item), &text_of(item)),
            (false, Subject::Turn(turn)) => said(&turn_facts(turn, times), ""),
            (true, Subject::Item(item)) => serde_json::to_string_pretty(item).unwrap_or_default(),
            (true, Subject::Turn(turn)) => serde_json::to_string_pretty(turn).unwrap_or_default(),
        }
    }

    fn text(&self, times: &Times) -> String {
        bounded(self.whole_text(times))
    }
}

/// No more than is read here.
fn bounded(mut text: String) -> String {
    if text.len() > READ_BYTES {
        let left_out = text.len() - READ_BYTES;
        text.truncate(text.floor_char_boundary(READ_BYTES));
        text.push_str(&format!(
            "\n[{} more: rat-things sessions items has all]",
            size(left_out as u64)
        ));
    }
    text
}

fn said(facts: &[(&str, String)], text: &str) -> String {
    let mut words = String::new();
    for (name, value) in facts {
        words.push_str(&format!("{name:<11}{value}\n"));
    }
    if !text.is_empty() {
        words.push('\n');
        words.push_str(text);
    }
    words
}

/// What there is to know of an Item, a name and a value each.
pub fn item_facts(item: &Item) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("item", item.id().unwrap_or("-").to_owned()),
        ("kind", item.kind().replace('_', " ")),
        ("turn", item.turn_id().to_owned()),
    ];
    match item {
        Item::CommandExecution(command) => {
            facts.push(("state", command.status.to_string()));
            facts.push(("directory", or_dash(command.cwd.clone())));
            let exit = command.exit_code.map(|code| code.to_string());
            facts.push(("exit code", or_dash(exit)));
            facts.push(("took", or_dash(command.duration_ms.map(duration))));
        }
        Item::FunctionCall(call) => {
            facts.push(("state", call.status.to_string()));
            facts.push(("call", call.call_id.clone()));
        }
        Item::FunctionCallOutput(output) => facts.push(("call", output.call_id.clone())),
        Item::McpCall(call) => facts.push(("state", call.status.to_string())),
        Item::Message(message) => facts.push(("state", message.status.to_string())),
        _ => {}
    }
    facts
}

/// What there is to know of a Turn, a name and a value each.
pub fn turn_facts(turn: &Turn, times: &Times) -> Vec<(&'static str, String)> {
    let at = |seconds: Option<u64>| {
        let at_ms = seconds.map(|seconds| seconds * 1000);
        or_dash(at_ms.map(|at_ms| times.full(at_ms)))
    };
    let mut facts = vec![
        ("turn", turn.id.clone()),
        ("state", turn_word(turn.status).to_owned()),
        ("created", at(Some(turn.created_at))),
        ("began", at(turn.started_at)),
        ("ended", at(turn.completed_at)),
        ("took", or_dash(took(turn, times.now_ms))),
        ("agent", turn.agent_id.clone()),
    ];
    if let Some(subagent) = &turn.subagent_id {
        facts.push(("subagent", subagent.clone()));
    }
    match &turn.usage {
        None => facts.push(("tokens", "-".to_owned())),
        Some(usage) => {
            let (input, output) = (&usage.input_tokens_details, &usage.output_tokens_details);
            facts.push((
                "tokens in",
                format!(
                    "{}, of them {} from the provider's cache",
                    count(usage.input_tokens),
                    count(input.cached_tokens)
                ),
            ));
            facts.push((
                "tokens out",
                format!(
                    "{}, of them {} for reasoning",
                    count(usage.output_tokens),
                    count(output.reasoning_tokens)
                ),
            ));
        }
    }
    if let Some(error) = &turn.error {
        facts.push(("failed", error.code.to_string()));
        facts.push(("because", error.message.clone()));
    }
    facts
}

/// How long a Turn took, or takes so far; whole seconds are all that is told.
pub fn took(turn: &Turn, now_ms: u64) -> Option<String> {
    let start_ms = turn.started_at? * 1000;
    let end_ms = turn.completed_at.map_or(now_ms, |end| end * 1000);
    Some(match end_ms.saturating_sub(start_ms) {
        0..1000 => "<1s".to_owned(),
        took_ms => duration(took_ms / 1000 * 1000),
    })
}

fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}
