//! How a Session's rows become facts: the one place that knows every kind of row.

use serde::de::DeserializeOwned;

use super::facts::{
    CheckpointFact, DeliveryFact, HeadFact, InputFact, InputKind, ItemFact, ItemKind, RunFact,
    SessionFacts, SubagentFact, TurnFact,
};
use crate::engine::artifact::ArtifactRow;
use crate::engine::checkpoint::CheckpointRow;
use crate::engine::delivery::DeliveryRow;
use crate::engine::fence::RunRow;
use crate::engine::input::{Body, EndRow, InputRow, Submission};
use crate::engine::item::{CallState, ItemBody, ItemRow, Told};
use crate::engine::journal::JournalRow;
use crate::engine::keys;
use crate::engine::open_call::short_hash;
use crate::engine::ports::{BlobRef, Record};
use crate::engine::sessions::Config;
use crate::engine::subagent::SubagentRow;
use crate::engine::turn::TurnRow;

impl SessionFacts {
    /// Takes a row as it is now. A row that was taken before is replaced.
    pub fn take(&mut self, record: &Record) {
        let sort = &record.key.sort;
        self.forget(sort);
        if let Err(why) = self.read(sort, record) {
            self.bad.insert(sort.clone(), why);
        }
    }

    /// Forgets a row that is no more.
    pub fn forget(&mut self, sort: &str) {
        self.blobs.remove(sort);
        self.bad.remove(sort);
        let (kind, rest) = sort.split_once('/').unwrap_or((sort, ""));
        let number = rest.parse::<u64>().unwrap_or(u64::MAX);
        match kind {
            keys::HEAD => self.head = None,
            keys::CONFIG => self.configured = false,
            keys::CHECKPOINT => self.checkpoint = None,
            "input" => drop(self.inputs.remove(&number)),
            "end" => drop(self.ends.remove(&number)),
            "turn" => drop(self.turns.remove(&number)),
            "item" => drop(self.items.remove(&number)),
            "subagent" => drop(self.subagents.remove(&number)),
            "subagent-turn" => {
                if let Some(number) = keys::parse_turn(sort) {
                    self.subagent_turns.remove(&number);
                }
            }
            "subagent-item" => {
                if let Some(number) = keys::parse_item(sort) {
                    self.subagent_items.remove(&number);
                }
            }
            "journal" => drop(self.journal.remove(&number)),
            "run" => drop(self.runs.remove(&number)),
            "receipt" => drop(self.receipts.remove(rest)),
            "delivery" => drop(self.deliveries.remove(rest)),
            "artifact" => {
                if let Some(at) = artifact_place(rest) {
                    self.artifacts.remove(&at);
                }
            }
            "owed" => {
                if let Some((due_ms, id)) = keys::parse_owed(sort) {
                    self.owed.remove(&(due_ms, id.to_owned()));
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, sort: &str, record: &Record) -> Result<(), String> {
        let (kind, rest) = sort.split_once('/').unwrap_or((sort, ""));
        let number = || number_of(sort, rest);
        match kind {
            keys::HEAD if rest.is_empty() => {
                self.head = Some(HeadFact {
                    head: decode(record)?,
                    size_bytes: record.value.len(),
                });
            }
            keys::CONFIG if rest.is_empty() => {
                let config: Config = decode(record)?;
                self.configured = true;
                let files = config.files.into_iter().map(|file| file.blob);
                self.blobs.insert(sort.to_owned(), files.collect());
            }
            keys::CHECKPOINT if rest.is_empty() => {
                let row: CheckpointRow = decode(record)?;
                self.checkpoint = Some(CheckpointFact {
                    generation: row.generation,
                    position: row.position,
                });
                self.blobs.insert(sort.to_owned(), row.checkpoint.blobs);
            }
            "input" => self.read_input(sort, number()?, decode(record)?),
            "end" => {
                let row: EndRow = decode(record)?;
                self.ends.insert(number()?, row.state);
            }
            "turn" => {
                self.turns.insert(number()?, turn_fact(&decode(record)?));
            }
            "item" => {
                let fact = self.read_item(sort, decode(record)?);
                self.items.insert(number()?, fact);
            }
            "subagent" => {
                let row: SubagentRow = decode(record)?;
                self.name_blobs(sort, &row.instructions);
                let fact = SubagentFact {
                    parent: row.parent,
                    root_turn: row.root_turn,
                    closed: row.closed_ms.is_some(),
                    turns: row.turns,
                    items: row.items,
                    outputs: row.outputs,
                    working: row.working,
                };
                self.subagents.insert(number()?, fact);
            }
            "subagent-turn" => {
                let number = keys::parse_turn(sort).ok_or_else(|| unknown_row(sort))?;
                let fact = turn_fact(&decode(record)?);
                self.subagent_turns.insert(number, fact);
            }
            "subagent-item" => {
                let number = keys::parse_item(sort).ok_or_else(|| unknown_row(sort))?;
                let fact = self.read_item(sort, decode(record)?);
                self.subagent_items.insert(number, fact);
            }
            "journal" => {
                let row: JournalRow = decode(record)?;
                self.journal.insert(number()?, row.events);
            }
            "run" => {
                let row: RunRow = decode(record)?;
                let fact = RunFact {
                    execution: row.execution,
                    turn: row.turn,
                    ended: row.ended_ms.is_some(),
                };
                self.runs.insert(number()?, fact);
            }
            "receipt" if !rest.is_empty() => {
                self.receipts.insert(rest.to_owned(), decode(record)?);
            }
            "artifact" => {
                let row: Option<ArtifactRow> = decode(record)?;
                let at = artifact_place(rest).ok_or_else(|| unknown_row(sort))?;
                self.artifacts.insert(at);
                match row {
                    Some(row) => drop(self.blobs.insert(sort.to_owned(), vec![row.blob])),
                    // It was deleted.
                    None => drop(self.blobs.remove(sort)),
                }
            }
            "delivery" if !rest.is_empty() => {
                let row: DeliveryRow = decode(record)?;
                self.name_blobs(sort, [&row.body]);
                let fact = DeliveryFact {
                    state: row.state,
                    due_ms: row.due_ms,
                    attempts: row.attempts,
                    tries: row.tries,
                };
                self.deliveries.insert(rest.to_owned(), fact);
            }
            "owed" => {
                let (due_ms, id) = keys::parse_owed(sort).ok_or_else(|| unknown_row(sort))?;
                self.owed.insert((due_ms, id.to_owned()));
            }
            _ => return Err(unknown_row(sort)),
        }
        Ok(())
    }

    fn read_input(&mut self, sort: &str, number: u64, row: InputRow) {
        let kind = match &row.submission {
            Submission::Message { content } => {
                self.name_blobs(sort, [content]);
                InputKind::Message
            }
            Submission::Cancel => InputKind::Cancel,
            Submission::ToolResult { answer, .. } => {
                self.name_blobs(sort, [answer]);
                InputKind::ToolResult
            }
        };
        let fact = InputFact {
            kind,
            meant_for: row.turn,
            state: row.state,
        };
        self.inputs.insert(number, fact);
    }

    fn read_item(&mut self, sort: &str, row: ItemRow) -> ItemFact {
        self.name_blobs(sort, bodies_of(&row.body));
        let short = |call_id: &str| short_hash(call_id.as_bytes());
        let kind = match &row.body {
            ItemBody::User { input } => ItemKind::User { input: *input },
            ItemBody::Message { .. }
            | ItemBody::Reasoning { .. }
            | ItemBody::WebSearch { .. }
            | ItemBody::FromAgent { .. } => ItemKind::Words,
            ItemBody::Call { state, .. } => ItemKind::Call {
                running: *state == CallState::Running,
                unknown: *state == CallState::Unknown,
            },
            ItemBody::Function {
                call_id, status, ..
            } => ItemKind::Function {
                call: short(call_id),
                status: *status,
            },
            ItemBody::FunctionOutput {
                call,
                call_id,
                input,
            } => ItemKind::Output {
                of: *call,
                call: short(call_id),
                input: *input,
            },
        };
        ItemFact {
            turn: row.turn,
            output_index: row.output_index,
            kind,
        }
    }

    fn name_blobs<'b>(&mut self, sort: &str, bodies: impl IntoIterator<Item = &'b Body>) {
        let blobs: Vec<BlobRef> = bodies
            .into_iter()
            .filter_map(|body| match body {
                Body::Blob(blob) => Some(blob.clone()),
                Body::Inline(_) => None,
            })
            .collect();
        if !blobs.is_empty() {
            self.blobs.insert(sort.to_owned(), blobs);
        }
    }
}

fn bodies_of(body: &ItemBody) -> Vec<&Body> {
    match body {
        ItemBody::User { .. } | ItemBody::FunctionOutput { .. } => Vec::new(),
        ItemBody::Message { text, .. } | ItemBody::FromAgent { text, .. } => vec![text],
        ItemBody::WebSearch { native } => vec![native],
        ItemBody::Reasoning { native, .. } => native.iter().collect(),
        ItemBody::Function { arguments, .. } => vec![arguments],
        ItemBody::Call {
            arguments,
            delegates,
            state,
            ..
        } => {
            let mut all = vec![arguments];
            all.extend(delegates.as_ref().and_then(|delegates| delegates.text()));
            if let CallState::Done { output, told, .. } = state {
                all.push(output);
                if let Some(Told::Instead(told)) = told {
                    all.push(told);
                }
            }
            all
        }
    }
}

fn turn_fact(row: &TurnRow) -> TurnFact {
    TurnFact {
        status: row.status,
        input: row.input,
        started: row.started_ms.is_some(),
        completed: row.completed_ms.is_some(),
        failed: row.error.is_some(),
        counted: row.usage.is_some(),
        first_item: row.first_item,
        end_item: row.end_item,
        unknown_calls: row.unknown_calls,
        runs: row.runs,
        artifacts: row.capture.as_ref().map_or(0, |capture| capture.artifacts),
    }
}

fn number_of(sort: &str, rest: &str) -> Result<u64, String> {
    rest.parse().map_err(|_| unknown_row(sort))
}

fn artifact_place(rest: &str) -> Option<(u64, u64)> {
    let (turn, n) = rest.split_once('/')?;
    Some((turn.parse().ok()?, n.parse().ok()?))
}

fn unknown_row(sort: &str) -> String {
    format!("{sort:?} is no row of a session")
}

fn decode<T: DeserializeOwned>(record: &Record) -> Result<T, String> {
    serde_json::from_slice(&record.value).map_err(|e| format!("it can't be read: {e}"))
}
