//! What a harness is told about the past: the saved Items as [`Past`], read backwards from the end within a budget, and kept in
//! memory between the Turns of one worker so that a Turn costs the same however long the Session is (I15). What a worker wrote or
//! handed over itself it does not read back (`recent`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::core::{Core, decode};
use super::error::EngineError;
use super::ids::SessionId;
use super::input::{Body, InputRow, Submission};
use super::item::{CallState, ItemBody, ItemRow, Told};
use super::keys;
use super::ports::{BlobScope, Feed, FunctionAnswer, Key, Past, Range, ToolOutcome, Write};
use super::recent::Recent;
use super::session::Head;
use crate::api::CallStatus;

/// What the agent is told of a call that was closed without an answer.
const CLOSED_CALL: &str =
    "not answered: too many calls were open at once, or the turn ended before the answer came";
/// Bytes of rows that a worker reads of a Session it does not know. A model's context ends long before.
const COLD_BYTES: usize = 4 << 20;
/// Rows read at once.
const PAGE_ROWS: usize = 256;
/// Sessions whose past is kept in memory.
const KEPT_SESSIONS: usize = 256;

/// What one worker remembers of the Sessions it worked for. All of it may be dropped at any time.
#[derive(Default)]
pub struct Histories {
    kept: Mutex<HashMap<SessionId, Kept>>,
}

struct Kept {
    /// The generation that read or wrote it.
    generation: u64,
    /// The first Item that is not in it.
    next_item: u64,
    past: Arc<Vec<Past>>,
    /// What came since.
    recent: Recent,
    used: u64,
}

impl Histories {
    /// Forgets a Session.
    pub fn forget(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// A Run of this worker committed these rows.
    pub fn wrote(&self, session: &SessionId, writes: Vec<Write>) {
        if let Some(kept) = self.lock().get_mut(session) {
            kept.recent.wrote(session, writes);
        }
    }

    /// A Run of this worker gave its agent these messages.
    pub fn handed_over(&self, session: &SessionId, head: &Head, feed: &[Feed]) {
        if let Some(kept) = self.lock().get_mut(session) {
            kept.recent.handed_over(head, feed);
        }
    }

    /// The past of a Session up to its newest Item, without the messages that wait to be handed over.
    pub async fn load(
        &self,
        core: &Core,
        session: &SessionId,
        head: &Head,
        generation: u64,
    ) -> Result<Arc<Vec<Past>>, EngineError> {
        let known = self.lock().remove(session).filter(|kept| {
            // Another worker in between would have raised the generation twice.
            kept.generation == generation || kept.generation + 1 == generation
        });
        let (mut past, from, recent) = match known {
            Some(kept) => (kept.past, kept.next_item, kept.recent),
            None => (Arc::new(Vec::new()), 1, Recent::default()),
        };
        let mut rows = match recent.rows(from, head) {
            Some(rows) => rows,
            None => newest_rows(core, session, from, head.next.item).await?,
        };
        let waiting: Vec<u64> = head
            .pending
            .iter()
            .filter_map(|pending| pending.item)
            .collect();
        // What may still change, or is handed over only now, is read again by the next Turn; all before it is kept.
        let open =
            |(number, row): &(u64, ItemRow)| waiting.contains(number) || !row.body.is_final();
        let settled = rows.iter().position(open).unwrap_or(rows.len());
        let open_rows = rows.split_off(settled);
        let next_item = open_rows
            .first()
            .map_or(head.next.item, |(number, _)| *number);
        let scope = core.scope(&head.owner, session);
        if !rows.is_empty() {
            append(
                core,
                session,
                &scope,
                (rows, &recent),
                &waiting,
                Arc::make_mut(&mut past),
            )
            .await?;
        }
        self.keep(
            session,
            Kept {
                generation,
                next_item,
                past: past.clone(),
                recent: Recent::default(),
                used: 0,
            },
        );
        if open_rows
            .iter()
            .any(|(number, _)| !waiting.contains(number))
        {
            append(
                core,
                session,
                &scope,
                (open_rows, &recent),
                &waiting,
                Arc::make_mut(&mut past),
            )
            .await?;
        }
        Ok(past)
    }

    fn keep(&self, session: &SessionId, mut kept: Kept) {
        let mut all = self.lock();
        kept.used = all.values().map(|k| k.used).max().unwrap_or(0) + 1;
        if all.len() >= KEPT_SESSIONS
            && let Some(oldest) = all
                .iter()
                .min_by_key(|(_, k)| k.used)
                .map(|(s, _)| s.clone())
        {
            all.remove(&oldest);
        }
        all.insert(session.clone(), kept);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Items `from..until`, oldest first; of a long past only the newest that fit the budget.
async fn newest_rows(
    core: &Core,
    session: &SessionId,
    from: u64,
    until: u64,
) -> Result<Vec<(u64, ItemRow)>, EngineError> {
    let mut rows = Vec::new();
    let mut end = until;
    let mut size_bytes = 0;
    while end > from && size_bytes < COLD_BYTES {
        let range = Range {
            partition: keys::session_partition(session),
            from: keys::item(from),
            until: Some(keys::item(end)),
            reverse: true,
            limit: PAGE_ROWS,
        };
        let page = core.store.range(&range).await?;
        let Some(last) = page.records.last() else {
            break;
        };
        end = keys::number(&last.key.sort, "item/").unwrap_or(from);
        for record in &page.records {
            size_bytes += record.value.len();
            let number = keys::number(&record.key.sort, "item/").unwrap_or_default();
            rows.push((number, decode::<ItemRow>(record)?));
        }
        if !page.more {
            break;
        }
    }
    rows.reverse();
    Ok(rows)
}

async fn append(
    core: &Core,
    session: &SessionId,
    scope: &BlobScope,
    (rows, recent): (Vec<(u64, ItemRow)>, &Recent),
    waiting: &[u64],
    past: &mut Vec<Past>,
) -> Result<(), EngineError> {
    let inputs = inputs_of(core, session, (&rows, recent), waiting).await?;
    for (number, row) in rows {
        if waiting.contains(&number) {
            continue;
        }
        match row.body {
            ItemBody::User { input } => {
                if let Some(content) = recent.content(input) {
                    past.push(Past::User { content });
                } else if let Some(content) = inputs.get(&input) {
                    let content = core.fetch(scope, content).await?;
                    past.push(Past::User {
                        content: as_list(content),
                    });
                }
            }
            ItemBody::FunctionOutput { call_id, input, .. } => {
                let answer = match inputs.get(&input) {
                    Some(body) => serde_json::from_value(core.fetch(scope, body).await?).ok(),
                    None => None,
                };
                answer_call(past, call_id, answer);
            }
            body => past.push(past_of(core, scope, body).await?),
        }
    }
    Ok(())
}

/// The bodies of the inputs that these Items show, but for messages that this worker handed over.
async fn inputs_of(
    core: &Core,
    session: &SessionId,
    (rows, recent): (&[(u64, ItemRow)], &Recent),
    waiting: &[u64],
) -> Result<HashMap<u64, Body>, EngineError> {
    let numbers: Vec<u64> = rows
        .iter()
        .filter(|(number, _)| !waiting.contains(number))
        .filter_map(|(_, row)| match &row.body {
            ItemBody::User { input } => (!recent.has_content(*input)).then_some(*input),
            ItemBody::FunctionOutput { input, .. } => Some(*input),
            ItemBody::Message { .. }
            | ItemBody::Reasoning { .. }
            | ItemBody::Call { .. }
            | ItemBody::Function { .. } => None,
        })
        .collect();
    let partition = keys::session_partition(session);
    let wanted: Vec<Key> = numbers
        .iter()
        .map(|&n| Key::new(partition.clone(), keys::input(n)))
        .collect();
    let mut bodies = HashMap::new();
    if wanted.is_empty() {
        return Ok(bodies);
    }
    for (number, record) in numbers.into_iter().zip(core.store.get_many(&wanted).await?) {
        let Some(record) = record else { continue };
        match decode::<InputRow>(&record)?.submission {
            Submission::Message { content } => bodies.insert(number, content),
            Submission::ToolResult { answer, .. } => bodies.insert(number, answer),
            Submission::Cancel => None,
        };
    }
    Ok(bodies)
}

async fn past_of(core: &Core, scope: &BlobScope, body: ItemBody) -> Result<Past, EngineError> {
    Ok(match body {
        ItemBody::Message { text, phase, .. } => Past::Assistant {
            text: as_text(core.fetch(scope, &text).await?),
            phase,
        },
        ItemBody::Reasoning { summary, native } => {
            let native = match native {
                Some(native) => Some(core.fetch(scope, &native).await?),
                None => None,
            };
            Past::Reasoning { summary, native }
        }
        ItemBody::Call {
            call_id,
            tool,
            arguments,
            state,
            ..
        } => {
            let outcome = match state {
                CallState::Done { output, told, .. } => ToolOutcome::Done {
                    output: match told {
                        None => as_text(core.fetch(scope, &output).await?),
                        Some(Told::Before(first)) => {
                            first + &as_text(core.fetch(scope, &output).await?)
                        }
                        Some(Told::Instead(told)) => as_text(core.fetch(scope, &told).await?),
                    },
                },
                CallState::Running | CallState::Unknown => ToolOutcome::Unknown,
            };
            let arguments = as_text(core.fetch(scope, &arguments).await?);
            Past::Tool {
                call_id,
                name: tool,
                arguments,
                outcome,
            }
        }
        ItemBody::Function {
            call_id,
            name,
            arguments,
            status,
            background,
        } => {
            let arguments = as_text(core.fetch(scope, &arguments).await?);
            called(call_id, name, arguments, (status, background))
        }
        // Handled by the caller, which has the inputs.
        ItemBody::User { .. } | ItemBody::FunctionOutput { .. } => Past::User {
            content: Vec::new(),
        },
    })
}

/// A function call by its Item's status, and whether the agent waits for its answer.
fn called(
    call_id: String,
    name: String,
    arguments: String,
    (status, background): (CallStatus, bool),
) -> Past {
    if background && status != CallStatus::Incomplete {
        return Past::Background {
            call_id,
            name,
            arguments,
            open: status == CallStatus::InProgress,
        };
    }
    // Nobody will answer a call that was closed: a harness must not wait for it.
    let output = (status == CallStatus::Incomplete).then(|| FunctionAnswer {
        success: false,
        output: Value::Null,
        error: Some(CLOSED_CALL.to_owned()),
    });
    Past::Function {
        call_id,
        name,
        arguments,
        output,
    }
}

/// Gives the newest unanswered call with this id its answer: in its place, or here if the agent did not wait for it.
fn answer_call(past: &mut Vec<Past>, id: String, answer: Option<FunctionAnswer>) {
    for entry in past.iter_mut().rev() {
        match entry {
            Past::Function {
                call_id, output, ..
            } if *call_id == id && output.is_none() => {
                *output = answer;
                return;
            }
            Past::Background { call_id, name, .. } if *call_id == id => {
                let name = name.clone();
                past.extend(answer.map(|answer| Past::Answered {
                    call_id: id,
                    name,
                    answer,
                }));
                return;
            }
            _ => {}
        }
    }
}

/// Text of a body that holds text.
pub fn as_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Parts of a body that holds content parts.
pub fn as_list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        other => vec![other],
    }
}
