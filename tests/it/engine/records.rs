//! What must hold of stored records after every commit, whatever happened: checked at the end of every journey, by the checker
//! that operators have too.

use std::collections::BTreeMap;

use rat_things::engine::check::{Around, OwnerFacts, SessionFacts};
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys::{self, Group};
use rat_things::engine::ports::Record;

pub use rat_things::engine::session::HEAD_BYTES;

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
    let heads = records.iter().filter(|r| r.key.sort == keys::HEAD);
    heads
        .filter_map(versioned)
        .chain(broken(records, now_ms))
        .collect()
}

/// The same of records that came from another store.
pub fn broken(records: &[Record], now_ms: u64) -> Vec<String> {
    let mut sessions: BTreeMap<SessionId, (SessionFacts, Around)> = BTreeMap::new();
    let mut owners: BTreeMap<&str, OwnerFacts> = BTreeMap::new();
    let mut broken = Vec::new();
    for record in records {
        let partition = &record.key.partition;
        let sort = &record.key.sort;
        if let Some(id) = partition.strip_prefix("S/").and_then(SessionId::parse) {
            sessions.entry(id).or_default().0.take(record);
        } else if let Some(owner) = partition.strip_prefix("O/") {
            owners.entry(owner).or_default().take(record);
        } else if partition == keys::CHORES {
            if keys::parse_chore(sort).is_none() {
                broken.push(format!("{} is nothing that can be done", record.key));
            }
        } else if let Some((due_ms, id)) = keys::parse_agenda(sort) {
            let group = match partition.starts_with("A/execute/") {
                true => Group::Execute,
                false => Group::Deliver,
            };
            let around = &mut sessions.entry(id).or_default().1;
            around.agenda.insert((group, due_ms));
        } else {
            broken.push(format!("{} is in no partition of ours", record.key));
        }
    }
    for (owner, facts) in &owners {
        broken.extend(facts.findings(owner).iter().map(ToString::to_string));
    }
    for (id, (facts, around)) in &mut sessions {
        if let Some(head) = facts.head()
            && let Some(owner) = owners.get(head.owner.as_str())
        {
            around.listed_by_id = owner.lists_by_id(id.as_str());
            around.listed_by_time = owner.lists_by_time(id.as_str(), head.created_ms);
        }
        let found = facts.findings(id, around, now_ms);
        broken.extend(found.iter().map(ToString::to_string));
    }
    broken
}

/// A store counts a head's versions as its Session counts its revisions, as long as it lives in one store.
fn versioned(record: &Record) -> Option<String> {
    let head: rat_things::engine::session::Head = serde_json::from_slice(&record.value).ok()?;
    (head.revision != record.version).then(|| {
        format!(
            "{}: revision {}, version {}",
            record.key, head.revision, record.version
        )
    })
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
