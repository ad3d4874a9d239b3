//! What a harness is told about the past: the saved Items as [`Past`], read backwards from the end within a budget, and kept in
//! memory between the Turns of one worker so that a Turn costs the same however long the Session is (I15). What a worker wrote or
//! handed over itself it does not read back (`recent`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

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
/// Of all of them, by [`Past::size_bytes`].
const KEPT_BYTES: usize = 64 << 20;
/// How many times what its harness can use is kept of a Session, after the oldest was dropped. It is dropped when this has doubled, so that what an entry
/// costs does not depend on how many there are.
const KEPT_FOLD: usize = 2;

/// What one worker remembers of the Sessions it worked for. All of it may be dropped at any time.
#[derive(Default)]
pub struct Histories {
    kept: Mutex<HashMap<SessionId, Kept>>,
}

/// What is told of the past.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retold {
    /// Its entries, oldest first.
    pub past: Arc<Vec<Past>>,
    /// The Item that each of them was made of.
    pub items: Arc<Vec<u64>>,
    /// The first Item from which on all are in it.
    pub from: u64,
}

impl Retold {
    /// What was added to `past` was made of this Item.
    fn number(&mut self, item: u64) {
        let entries = self.past.len();
        Arc::make_mut(&mut self.items).resize(entries, item);
    }
}

struct Kept {
    /// The generation that read or wrote it.
    generation: u64,
    /// The first Item that is not in it.
    next_item: u64,
    told: Retold,
    /// Of what is told, by [`Past::size_bytes`].
    size_bytes: usize,
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

    /// The past of a Session up to its newest Item, without the messages that wait to be handed over. Of a long one, at least the newest
    /// `useful_bytes` of what is settled, and the newest message.
    pub async fn load(
        &self,
        core: &Core,
        session: &SessionId,
        head: &Head,
        generation: u64,
        useful_bytes: usize,
    ) -> Result<Retold, EngineError> {
        let known = self.lock().remove(session).filter(|kept| {
            // Another worker in between would have raised the generation twice.
            kept.generation == generation || kept.generation + 1 == generation
        });
        let (mut told, mut size_bytes, from, recent) = match known {
            Some(kept) => (kept.told, kept.size_bytes, kept.next_item, kept.recent),
            None => {
                let nothing = Retold {
                    from: 1,
                    ..Retold::default()
                };
                (nothing, 0, 1, Recent::default())
            }
        };
        let mut rows = match recent.rows(from, head) {
            Some(rows) => rows,
            None => newest_rows(core, session, from, head.next.item).await?,
        };
        if let Some((first, _)) = rows.first().filter(|(first, _)| *first > from) {
            told.from = *first;
        }
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
            let known = told.past.len();
            append(core, session, &scope, (rows, &recent), &waiting, &mut told).await?;
            let new = told.past[known..].iter();
            size_bytes += new.map(Past::size_bytes).sum::<usize>();
            size_bytes = forget_oldest(&mut told, size_bytes, useful_bytes);
        }
        self.keep(
            session,
            Kept {
                generation,
                next_item,
                told: told.clone(),
                size_bytes,
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
                &mut told,
            )
            .await?;
        }
        Ok(told)
    }

    fn keep(&self, session: &SessionId, mut kept: Kept) {
        let mut all = self.lock();
        kept.used = all.values().map(|k| k.used).max().unwrap_or(0) + 1;
        let size_bytes = |all: &HashMap<SessionId, Kept>| {
            let sizes = all.values().map(|kept| kept.size_bytes);
            sizes.sum::<usize>() + kept.size_bytes
        };
        while all.len() >= KEPT_SESSIONS || size_bytes(&all) > KEPT_BYTES {
            let oldest = all.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(session, _)| session.clone()) else {
                break;
            };
            all.remove(&oldest);
        }
        all.insert(session.clone(), kept);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops the oldest entries of a past of `size_bytes` that has grown beyond what can be used of it, but never its newest message. Answers
/// its size then.
fn forget_oldest(told: &mut Retold, size_bytes: usize, useful_bytes: usize) -> usize {
    let most_bytes = useful_bytes.saturating_mul(KEPT_FOLD);
    if size_bytes <= most_bytes.saturating_mul(2) {
        return size_bytes;
    }
    let past = Arc::make_mut(&mut told.past);
    let items = Arc::make_mut(&mut told.items);
    let mut left_bytes = size_bytes;
    let mut dropped = 0;
    for entry in past.iter() {
        let entry_bytes = entry.size_bytes();
        if left_bytes.saturating_sub(entry_bytes) < most_bytes {
            break;
        }
        left_bytes -= entry_bytes;
        dropped += 1;
    }
    // What was made of this Item and those behind it stays.
    if let Some(last) = usize::checked_sub(dropped, 1) {
        told.from = told.from.max(items[last] + 1);
    }
    let is_message = |entry: &Past| matches!(entry, Past::User { .. });
    let has_message = past[dropped..].iter().any(is_message);
    let message = past[..dropped].iter().rposition(is_message);
    match message.filter(|_| !has_message) {
        Some(at) => {
            left_bytes += past[at].size_bytes();
            past.swap(at, dropped - 1);
            items.swap(at, dropped - 1);
            past.drain(..dropped - 1);
            items.drain(..dropped - 1);
        }
        None => {
            past.drain(..dropped);
            items.drain(..dropped);
        }
    }
    left_bytes
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
    told: &mut Retold,
) -> Result<(), EngineError> {
    let inputs = inputs_of(core, session, (&rows, recent), waiting).await?;
    for (number, row) in rows {
        if waiting.contains(&number) {
            continue;
        }
        let past = Arc::make_mut(&mut told.past);
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
        told.number(number);
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
            | ItemBody::WebSearch { .. }
            | ItemBody::Function { .. }
            | ItemBody::FromAgent { .. } => None,
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
        ItemBody::WebSearch { native } => Past::WebSearch {
            native: core.fetch(scope, &native).await?,
        },
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
        ItemBody::FromAgent { text, .. } => {
            let text = as_text(core.fetch(scope, &text).await?);
            Past::User {
                content: vec![json!({"type": "input_text", "text": text})],
            }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(text: &str) -> Past {
        Past::User {
            content: vec![json!({"type": "input_text", "text": text})],
        }
    }

    fn answer(text_bytes: usize) -> Past {
        Past::Assistant {
            text: "x".repeat(text_bytes),
            phase: None,
        }
    }

    fn any_past() -> impl Strategy<Value = Past> {
        prop_oneof![
            1 => "[a-z]{0,20}".prop_map(|text| message(&text)),
            4 => (0..4_000usize).prop_map(answer),
        ]
    }

    fn size(past: &[Past]) -> usize {
        past.iter().map(Past::size_bytes).sum()
    }

    proptest! {
        /// Entries come one by one, as Turns bring them.
        #[test]
        fn what_a_harness_can_use_and_the_newest_message_are_kept_and_not_much_more(
            all in prop::collection::vec(any_past(), 1..80),
            useful_bytes in 1..20_000usize,
        ) {
            let mut told = Retold::default();
            let mut size_bytes = 0;
            for (at, entry) in all.iter().enumerate() {
                Arc::make_mut(&mut told.past).push(entry.clone());
                told.number(at as u64);
                size_bytes = forget_oldest(&mut told, size_bytes + entry.size_bytes(), useful_bytes);
                let past = &told.past;
                let so_far = &all[..=at];
                prop_assert_eq!(size_bytes, size(past));
                let newest = so_far.len() - past.len();
                let message = so_far.iter().rev().find(|entry| matches!(entry, Past::User { .. }));
                prop_assert_eq!(past.iter().rev().find(|entry| matches!(entry, Past::User { .. })), message);
                // Only a message that is older than all else that is kept may not be in its place.
                prop_assert_eq!(&past[1..], &so_far[newest + 1..]);
                prop_assert!(size(past) >= useful_bytes.min(size(so_far)));
                let largest = 4_000 + 200;
                prop_assert!(size(past) <= useful_bytes * 2 * KEPT_FOLD + 2 * largest);
                // Each is known by its Item, and from where on they are all there.
                for (entry, item) in past.iter().zip(told.items.iter()) {
                    prop_assert_eq!(entry, &all[*item as usize]);
                }
                let behind = told.items.iter().filter(|item| **item >= told.from);
                prop_assert_eq!(behind.count() as u64, at as u64 + 1 - told.from);
            }
        }
    }
}
