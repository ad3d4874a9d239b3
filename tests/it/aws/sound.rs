//! The records of an account held against every rule, when nobody works any more.

use std::collections::{BTreeMap, BTreeSet};

use rat_things::engine::check::{Around, OwnerFacts, SessionFacts};
use rat_things::engine::core::Core;
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys::{self, AGENDA_SHARDS, Group};
use rat_things::engine::ports::{Range, Record, Store};

/// Rows of a partition, all of them.
pub(super) async fn partition(store: &dyn Store, partition: String) -> Vec<Record> {
    let mut range = Range {
        partition,
        from: String::new(),
        until: None,
        reverse: false,
        limit: 1_000,
    };
    let mut rows = Vec::new();
    loop {
        let page = store.range(&range).await.expect("a page");
        rows.extend(page.records);
        match rows.last() {
            Some(last) if page.more => range.from = format!("{}\0", last.key.sort),
            _ => return rows,
        }
    }
}

/// Entries of both groups that some Session is to be looked at under.
pub(super) async fn agenda(core: &Core) -> BTreeSet<(SessionId, Group, u64)> {
    let mut entries = BTreeSet::new();
    for group in [Group::Execute, Group::Deliver] {
        for shard in 0..AGENDA_SHARDS {
            let rows = partition(&*core.store, keys::agenda_partition(group, shard)).await;
            let parsed = rows
                .iter()
                .filter_map(|row| keys::parse_agenda(&row.key.sort));
            entries.extend(parsed.map(|(due_ms, session)| (session, group, due_ms)));
        }
    }
    entries
}

/// Every rule that is broken in these Sessions of one owner, in words. `now_ms`: later than anything that was written.
pub(super) async fn broken(
    core: &Core,
    owner: &str,
    sessions: &[SessionId],
    now_ms: u64,
) -> Vec<String> {
    let mut lists = OwnerFacts::new();
    for row in partition(&*core.store, keys::owner_partition(owner)).await {
        lists.take(&row);
    }
    let mut around: BTreeMap<&SessionId, Around> = sessions
        .iter()
        .map(|session| (session, Around::default()))
        .collect();
    for (session, group, due_ms) in agenda(core).await {
        if let Some(around) = around.get_mut(&session) {
            around.agenda.insert((group, due_ms));
        }
    }
    let mut findings = lists.findings(owner);
    for (session, mut around) in around {
        let mut facts = SessionFacts::default();
        for row in partition(&*core.store, keys::session_partition(session)).await {
            facts.take(&row);
        }
        let created_ms = facts.head().map_or(0, |head| head.created_ms);
        around.listed_by_id = lists.lists_by_id(session.as_str());
        around.listed_by_time = lists.lists_by_time(session.as_str(), created_ms);
        findings.extend(facts.findings(session, &around, now_ms));
    }
    let words = findings.iter().map(|finding| {
        format!(
            "{} {}: {}",
            finding.invariant.code(),
            finding.key,
            finding.what
        )
    });
    words.collect()
}
