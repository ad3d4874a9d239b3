//! Owners: their lists agree with each other, and each Session in them exists.

use std::collections::BTreeSet;

use super::Fsck;
use crate::engine::check::{Finding, OwnerFacts};
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;
use crate::engine::keys;
use crate::engine::ports::{Key, Range};

/// Rows read at once.
const PAGE_ROWS: usize = 256;
/// Times lists are read before what is found in them each time counts.
const LOOKS: usize = 3;

impl Fsck<'_> {
    /// Checks an owner's records, and answers Sessions in its lists that were not there when they were looked for.
    pub(super) async fn owner(&mut self, owner: &str) -> Result<BTreeSet<SessionId>, EngineError> {
        let facts = self.owner_facts(owner).await?;
        let missing = self.missing(&facts).await?;
        // Lists have no head that tells whether they changed while they were read. What changed is not found twice.
        let mut found = facts.findings(owner);
        found.extend(self.kept_bytes(owner, &facts).await?);
        for _ in 1..LOOKS {
            if found.is_empty() {
                break;
            }
            let facts = self.owner_facts(owner).await?;
            let mut again = facts.findings(owner);
            again.extend(self.kept_bytes(owner, &facts).await?);
            found.retain(|finding: &Finding| again.contains(finding));
        }
        self.count_kept(owner, &facts);
        for finding in found {
            self.outcome.add(finding, false);
        }
        self.outcome.tally.owners += 1;
        (self.progress)(&self.outcome.tally);
        Ok(missing)
    }

    async fn owner_facts(&self, owner: &str) -> Result<OwnerFacts, EngineError> {
        let mut facts = OwnerFacts::new();
        let mut range = Range {
            partition: keys::owner_partition(owner),
            from: String::new(),
            until: None,
            reverse: false,
            limit: PAGE_ROWS,
        };
        loop {
            let page = self.core.store.range(&range).await?;
            page.records.iter().for_each(|record| facts.take(record));
            match page.records.last() {
                Some(last) if page.more => range.from = format!("{}\0", last.key.sort),
                _ => return Ok(facts),
            }
        }
    }

    async fn missing(&self, facts: &OwnerFacts) -> Result<BTreeSet<SessionId>, EngineError> {
        let listed: Vec<SessionId> = facts.sessions().filter_map(SessionId::parse).collect();
        let mut missing = BTreeSet::new();
        for some in listed.chunks(PAGE_ROWS) {
            let heads: Vec<Key> = some
                .iter()
                .map(|session| Key::new(keys::session_partition(session), keys::HEAD))
                .collect();
            let found = self.core.store.get_many(&heads).await?;
            let gone = some.iter().zip(found).filter(|(_, head)| head.is_none());
            missing.extend(gone.map(|(session, _)| session.clone()));
        }
        Ok(missing)
    }
}
