//! What must hold of stored records after every commit, whatever happened: checked at the end of every journey.

use std::collections::{BTreeMap, BTreeSet};

use rat_things::api::{CallStatus, TurnStatus};
use rat_things::engine::input::{EndRow, InputRow, InputState, Submission};
use rat_things::engine::item::{CallState, ItemBody, ItemRow};
use rat_things::engine::journal::{Entry, JournalRow};
use rat_things::engine::keys::{self, Group};
use rat_things::engine::ports::Record;
use rat_things::engine::receipt::ReceiptRow;
use rat_things::engine::session::{Head, MAX_PENDING};
use rat_things::engine::turn::TurnRow;
use serde::de::DeserializeOwned;

use super::outbox;

/// Bytes that a head stays below (design rule).
pub const HEAD_BYTES: usize = 4096;

/// Fails with every rule that `records` break. `now_ms` is the time at which they were read.
pub fn assert_sound(records: &[Record], now_ms: u64) {
    let broken = violations(records, now_ms);
    assert!(
        broken.is_empty(),
        "records are unsound:\n{}\n\n{}",
        broken.join("\n"),
        shown(records)
    );
}

/// Every rule that `records` break, in words.
pub fn violations(records: &[Record], now_ms: u64) -> Vec<String> {
    let mut partitions: BTreeMap<&str, Rows> = BTreeMap::new();
    for record in records {
        let rows = partitions.entry(&record.key.partition).or_default();
        rows.0.insert(record.key.sort.clone(), record.clone());
    }
    let mut broken = Vec::new();
    let mut due: BTreeSet<(Group, u64, String)> = BTreeSet::new();
    for (partition, rows) in &partitions {
        let Some(session) = partition.strip_prefix("S/") else {
            continue;
        };
        let mut check = Check {
            session,
            rows,
            now_ms,
            broken: Vec::new(),
        };
        check.all(&partitions, &mut due);
        broken.extend(check.broken);
    }
    for (partition, rows) in &partitions {
        let group = match partition.strip_prefix("A/") {
            Some(rest) if rest.starts_with("execute/") => Group::Execute,
            Some(_) => Group::Deliver,
            None => continue,
        };
        for sort in rows.0.keys() {
            match keys::parse_agenda(sort) {
                Some((at, session)) if due.remove(&(group, at, session.to_string())) => {}
                _ => broken.push(format!("{partition} {sort}: no head knows this entry")),
            }
        }
    }
    broken.extend(
        due.iter()
            .map(|(group, at, session)| format!("{session}: no {group:?} entry at {at}")),
    );
    broken
}

/// Records as text, for failures.
pub fn shown(records: &[Record]) -> String {
    records
        .iter()
        .map(|r| {
            let value = String::from_utf8_lossy(&r.value);
            format!("{} v{} {value}\n", r.key, r.version)
        })
        .collect()
}

/// Rows of one partition.
#[derive(Default)]
pub struct Rows(BTreeMap<String, Record>);

impl Rows {
    /// One row, decoded.
    pub fn get<T: DeserializeOwned>(&self, sort: &str) -> Option<T> {
        let record = self.0.get(sort)?;
        Some(serde_json::from_slice(&record.value).unwrap_or_else(|e| panic!("{sort}: {e}")))
    }

    /// Rows behind a prefix, by the number in their key.
    pub fn numbered<T: DeserializeOwned>(&self, prefix: &str) -> BTreeMap<u64, T> {
        self.behind(prefix)
            .filter_map(|(sort, _)| Some((keys::number(sort, prefix)?, self.get(sort)?)))
            .collect()
    }

    /// Rows behind a prefix.
    pub fn behind<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Record)> {
        self.0
            .iter()
            .filter(move |(sort, _)| sort.starts_with(prefix))
            .map(|(sort, record)| (sort.as_str(), record))
    }
}

struct Check<'a> {
    session: &'a str,
    rows: &'a Rows,
    now_ms: u64,
    broken: Vec<String>,
}

impl Check<'_> {
    fn must(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            let what = what();
            self.broken.push(format!("{}: {what}", self.session));
        }
    }

    fn all(&mut self, partitions: &BTreeMap<&str, Rows>, due: &mut BTreeSet<(Group, u64, String)>) {
        let Some(head) = self.rows.get::<Head>(keys::HEAD) else {
            self.must(false, || "rows without a head".into());
            return;
        };
        let record = &self.rows.0[keys::HEAD];
        let size_bytes = record.value.len();
        self.must(size_bytes < HEAD_BYTES, || {
            format!("the head has {size_bytes} bytes")
        });
        self.must(record.version == head.revision, || {
            format!("revision {} at version {}", head.revision, record.version)
        });
        let entries = [
            (
                Group::Execute,
                head.agenda.execute,
                head.execution_due(self.now_ms),
            ),
            (Group::Deliver, head.agenda.deliver, outbox::due(&head)),
        ];
        for (group, entry, owed) in entries {
            self.must(entry.is_some() == owed.is_some(), || {
                format!("{group:?}: due {owed:?}, entry {entry:?}")
            });
            // Early is fine, late is not.
            self.must(entry <= owed, || {
                format!("{group:?}: due {owed:?}, but its entry says {entry:?}")
            });
            due.extend(entry.map(|at| (group, at, self.session.to_owned())));
        }
        let owner = keys::owner_partition(&head.owner);
        let listed = partitions.get(owner.as_str()).is_some_and(|rows| {
            let by_time = keys::session_by_time(head.created_ms, self.session);
            rows.0.contains_key(&by_time) && rows.0.contains_key(&keys::session_by_id(self.session))
        });
        self.must(listed == head.deleted_ms.is_none(), || {
            format!("listed: {listed}, deleted: {:?}", head.deleted_ms)
        });
        // What is being erased may be half gone.
        if head.deleted_ms.is_none() {
            self.turns(&head);
            self.inputs(&head);
            self.items(&head);
            self.journal(&head);
            self.runs(&head);
            let broken = outbox::violations(self.rows, &head);
            for what in broken {
                self.must(false, || what);
            }
        }
    }

    fn turns(&mut self, head: &Head) {
        let turns = self.rows.numbered::<TurnRow>("turn/");
        self.numbers(&turns, head.next.turn, "turn");
        let active = head.turn.as_ref().map(|turn| turn.number);
        let queued: Vec<u64> = head.queue.iter().map(|queued| queued.number).collect();
        self.must(head.queue.is_sorted_by_key(|queued| queued.input), || {
            format!("the queue is out of order: {:?}", head.queue)
        });
        self.must(head.queue.is_empty() || active.is_some(), || {
            "turns are queued behind nothing".into()
        });
        for queued in &head.queue {
            let starts = head
                .pending
                .iter()
                .any(|p| p.input == queued.input && p.turn == queued.number);
            self.must(starts, || format!("nothing starts queued {queued:?}"));
        }
        for (number, row) in &turns {
            let number = *number;
            let ended = matches!(
                row.status,
                TurnStatus::Completed | TurnStatus::Failed | TurnStatus::Cancelled
            );
            let open = active == Some(number) || queued.contains(&number);
            self.must(ended != open, || {
                format!("turn {number} is {:?} and open: {open}", row.status)
            });
            self.must(row.completed_ms.is_some() == ended, || {
                format!(
                    "turn {number} is {:?} with {:?}",
                    row.status, row.completed_ms
                )
            });
            self.must(
                row.usage.is_some() == ended && row.end_item.is_some() == ended,
                || format!("turn {number} is {:?}: {row:?}", row.status),
            );
            self.must(
                row.error.is_some() == (row.status == TurnStatus::Failed),
                || format!("turn {number} is {:?} with {:?}", row.status, row.error),
            );
            if let Some(turn) = head.turn.as_ref().filter(|turn| turn.number == number) {
                self.must(row.status == turn.status, || {
                    format!(
                        "turn {number} is {:?}, the head says {:?}",
                        row.status, turn.status
                    )
                });
            }
            self.artifacts(number, row, open);
        }
    }

    fn artifacts(&mut self, number: u64, row: &TurnRow, open: bool) {
        let counted = row.capture.as_ref().map_or(0, |capture| capture.artifacts);
        let prefix = format!("artifact/{number:010}/");
        let stored = self.rows.behind(&prefix).count() as u64;
        let all = (0..counted).all(|n| self.rows.0.contains_key(&keys::artifact(number, n)));
        self.must(all && (open || stored == counted), || {
            format!("turn {number} counts {counted} artifacts, {stored} are stored")
        });
    }

    fn numbers<T>(&mut self, rows: &BTreeMap<u64, T>, next: u64, what: &str) {
        let whole = rows.keys().copied().eq(1..next);
        self.must(whole, || {
            let numbers: Vec<u64> = rows.keys().copied().collect();
            format!("{what} rows are {numbers:?}, the next is {next}")
        });
    }

    fn inputs(&mut self, head: &Head) {
        let inputs = self.rows.numbered::<InputRow>("input/");
        let ends = self.rows.numbered::<EndRow>("end/");
        let items = self.rows.numbered::<ItemRow>("item/");
        self.numbers(&inputs, head.next.input, "input");
        self.must(head.pending.len() <= MAX_PENDING, || {
            format!("{} inputs wait", head.pending.len())
        });
        self.must(head.pending.is_sorted_by(|a, b| a.input < b.input), || {
            format!("inputs wait out of order: {:?}", head.pending)
        });
        let mut waiting: BTreeSet<u64> = BTreeSet::new();
        for pending in &head.pending {
            waiting.insert(pending.input);
            let open = head.turn.iter().any(|turn| turn.number == pending.turn)
                || head
                    .queue
                    .iter()
                    .any(|queued| queued.number == pending.turn);
            self.must(open, || format!("{pending:?} waits for no open turn"));
            self.must(pending.claimed <= head.fence.generation, || {
                format!("{pending:?} is claimed by a generation to come")
            });
            let message = inputs
                .get(&pending.input)
                .is_some_and(|row| matches!(row.submission, Submission::Message { .. }));
            self.must(message, || format!("{pending:?} is no message"));
        }
        for call in head.turn.iter().flat_map(|turn| &turn.calls) {
            waiting.extend(call.answer);
        }
        for (number, row) in &inputs {
            let end = ends.get(number).map(|end| &end.state);
            let waits = waiting.contains(number);
            let last = end.unwrap_or(&row.state);
            let ended = !matches!(last, InputState::Accepted | InputState::Claimed);
            self.must(ended != waits, || {
                format!("input {number} waits: {waits}, and is {last:?}")
            });
            self.must(end.is_none() || row.state == InputState::Accepted, || {
                format!("input {number} ended twice: {row:?}, {end:?}")
            });
            self.shown_once(*number, row, last, &items, head);
        }
    }

    /// A delivered input is in the transcript once, in its Turn; one that was not delivered is not, unless it waits there.
    fn shown_once(
        &mut self,
        number: u64,
        row: &InputRow,
        last: &InputState,
        items: &BTreeMap<u64, ItemRow>,
        head: &Head,
    ) {
        let shows: Vec<(u64, u64)> = items
            .iter()
            .filter(|(_, item)| match &item.body {
                ItemBody::User { input } | ItemBody::FunctionOutput { input, .. } => {
                    *input == number
                }
                _ => false,
            })
            .map(|(n, item)| (*n, item.turn))
            .collect();
        let pending = head.pending.iter().find(|p| p.input == number);
        let fine = match (last, pending) {
            (InputState::Delivered { turn }, _) => {
                shows.len() == 1 && shows[0].1 == *turn && row.submission != Submission::Cancel
            }
            (_, Some(pending)) => {
                shows.len() <= 1 && shows.first().map(|(item, _)| *item) == pending.item
            }
            _ => shows.is_empty(),
        };
        self.must(fine, || {
            format!("input {number} is {last:?} and shown in {shows:?}")
        });
    }

    fn items(&mut self, head: &Head) {
        let items = self.rows.numbered::<ItemRow>("item/");
        let turns = self.rows.numbered::<TurnRow>("turn/");
        self.numbers(&items, head.next.item, "item");
        let active = head.turn.as_ref();
        for (number, row) in &items {
            let number = *number;
            let Some(turn) = turns.get(&row.turn) else {
                self.must(false, || format!("item {number} of no turn"));
                continue;
            };
            let inside = turn.first_item.is_some_and(|first| first <= number)
                && turn.end_item.is_none_or(|end| number < end);
            self.must(inside, || {
                format!("item {number} is outside its turn {turn:?}")
            });
            let (runs, waits) = match &row.body {
                ItemBody::Call { state, .. } => (*state == CallState::Running, false),
                ItemBody::Function { status, .. } => (false, *status == CallStatus::InProgress),
                _ => (false, false),
            };
            let of_active = active.filter(|turn| turn.number == row.turn);
            let known = of_active.is_some_and(|turn| turn.running.contains(&number));
            self.must(runs == known, || {
                format!("item {number} runs: {runs}, in the head: {known}")
            });
            let open = of_active.is_some_and(|turn| turn.calls.iter().any(|c| c.item == number));
            self.must(waits == open, || {
                format!("item {number} waits: {waits}, in the head: {open}")
            });
        }
    }

    fn journal(&mut self, head: &Head) {
        let journal = self.rows.numbered::<JournalRow>("journal/");
        let items = self.rows.numbered::<ItemRow>("item/");
        let turns = self.rows.numbered::<TurnRow>("turn/");
        let mut added = Vec::new();
        let mut done = Vec::new();
        let mut turned: BTreeMap<u64, Vec<TurnStatus>> = BTreeMap::new();
        let mut status = None;
        let mut environment = None;
        for (revision, row) in &journal {
            self.must(*revision <= head.revision, || {
                format!("journal {revision} is ahead of the head")
            });
            for event in &row.events {
                match event {
                    Entry::Created => {
                        self.must(*revision == 1, || format!("created at revision {revision}"))
                    }
                    Entry::Session { s } => {
                        self.must(status != Some(*s), || {
                            format!("journal {revision} says {s:?} again")
                        });
                        status = Some(*s);
                    }
                    Entry::Turn { t, s } => turned.entry(*t).or_default().push(*s),
                    Entry::Added { i } => added.push(*i),
                    Entry::Done { i } => done.push(*i),
                    Entry::Environment { s, .. } => {
                        self.must(environment != Some(*s), || {
                            format!("journal {revision} says that the environment is {s:?} again")
                        });
                        environment = Some(*s);
                    }
                    Entry::Reset { .. } => {}
                }
            }
        }
        self.must(environment == head.environment_status, || {
            format!("the environment was told to be {environment:?}")
        });
        self.must(added.iter().copied().eq(1..head.next.item), || {
            format!("items were announced as {added:?}")
        });
        let finals: Vec<u64> = items
            .iter()
            .filter(|(_, row)| row.output_index.is_some() && row.body.is_final())
            .map(|(number, _)| *number)
            .collect();
        done.sort_unstable();
        self.must(done == finals, || {
            format!("items {finals:?} are final, announced are {done:?}")
        });
        if let Some(status) = status {
            self.must(status == head.status(), || {
                format!(
                    "the journal ends with {status:?}, the head says {:?}",
                    head.status()
                )
            });
        }
        for (number, row) in &turns {
            let told = turned.remove(number).unwrap_or_default();
            let fine = told.first() == Some(&TurnStatus::Queued)
                && told.last() == Some(&row.status)
                && told.is_sorted_by(|a, b| a != b);
            self.must(fine, || {
                format!("turn {number} is {:?}, told as {told:?}", row.status)
            });
        }
        self.must(turned.is_empty(), || format!("turns of no row: {turned:?}"));
    }

    fn runs(&mut self, head: &Head) {
        for (sort, _) in self.rows.behind("run/") {
            let generation = keys::number(sort, "run/").unwrap_or(u64::MAX);
            self.must(generation <= head.fence.generation, || {
                format!("{sort} is ahead of the fence")
            });
        }
        if head.fence.lease.is_some() {
            let row = keys::run(head.fence.generation);
            let live = self
                .rows
                .get::<rat_things::engine::fence::RunRow>(&row)
                .is_some_and(|run| run.ended_ms.is_none());
            self.must(live, || format!("{row} holds the lease and is over"));
        }
        let mut taken: BTreeSet<u64> = BTreeSet::new();
        let receipts: Vec<(String, ReceiptRow)> = self
            .rows
            .behind("receipt/")
            .filter_map(|(sort, _)| Some((sort.to_owned(), self.rows.get(sort)?)))
            .collect();
        for (sort, receipt) in receipts {
            for at in 0..receipt.outcomes.len() as u64 {
                let input = receipt.first_input + at;
                let fresh = taken.insert(input) && input < head.next.input;
                self.must(fresh, || {
                    format!("{sort} names input {input} again, or none")
                });
            }
        }
    }
}
