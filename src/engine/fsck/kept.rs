//! What owners keep in no Session (files, …): the bytes that its rows name, scopes that no row names, and chores.

use super::Fsck;
use crate::engine::check::{Finding, Invariant, OwnerFacts, Repair};
use crate::engine::chores::{Chore, scope_of};
use crate::engine::core::decode;
use crate::engine::error::EngineError;
use crate::engine::ids::{Kind, well_formed};
use crate::engine::keys;
use crate::engine::ports::{BlobScope, Key, Range};

/// Rows read at once.
const PAGE_ROWS: usize = 256;

impl Fsck<'_> {
    /// What is wrong with the bytes that an owner's rows name.
    pub(super) async fn kept_bytes(
        &self,
        owner: &str,
        facts: &OwnerFacts,
    ) -> Result<Vec<Finding>, EngineError> {
        let mut found = Vec::new();
        for (sort, named) in facts.scopes() {
            let scope = scope_of(owner, &named.scope);
            for blob in &named.blobs {
                if let Some(why) = self.problem(&scope, blob).await? {
                    found.push(Finding {
                        invariant: Invariant::Form,
                        key: Key::new(keys::owner_partition(owner), sort),
                        what: format!("it names bytes with digest {}, which {why}", blob.sha256),
                        repair: Repair::ByHand,
                    });
                }
            }
        }
        Ok(found)
    }

    /// Counts what was looked at, and remembers which scopes belong to somebody.
    pub(super) fn count_kept(&mut self, owner: &str, facts: &OwnerFacts) {
        for (_, named) in facts.scopes() {
            self.kept.insert(scope_of(owner, &named.scope));
            self.outcome.tally.blobs += named.blobs.len() as u64;
            let bytes = named.blobs.iter().map(|blob| blob.size_bytes);
            self.outcome.tally.blob_bytes += bytes.sum::<u64>();
        }
        if !facts.is_readable() {
            self.unsure.insert(owner.to_owned());
        }
    }

    /// Bytes in a scope that is no Session's and that no row named when the owners were looked at. They are old: whoever stored them
    /// would have named them long ago.
    pub(super) async fn own_scope(&mut self, scope: &BlobScope) -> Result<(), EngineError> {
        let name = &scope.session;
        let is_ours = [Kind::File, Kind::Seal]
            .into_iter()
            .any(|kind| well_formed(kind, name));
        if !is_ours || self.kept.contains(scope) || self.unsure.contains(&scope.owner) {
            return Ok(());
        }
        let old = self.old_bytes(scope).await?;
        let Some(first) = old.first() else {
            return Ok(());
        };
        let finding = Finding {
            invariant: Invariant::I14,
            key: Key::new(keys::owner_partition(&scope.owner), name),
            what: format!("no record names the bytes with digest {}", first.sha256),
            repair: Repair::RemoveBlob,
        };
        let mut repaired = self.options.repair;
        if repaired {
            let before_ms = self.orphans_before_ms();
            for blob in &old {
                let removed = self.inventory.remove_blob(scope, &blob.sha256, before_ms);
                repaired &= removed.await?;
            }
        }
        self.outcome.add(finding, repaired);
        Ok(())
    }

    /// Chores: each says what it is.
    pub(super) async fn chores(&mut self) -> Result<(), EngineError> {
        let mut range = Range {
            partition: keys::CHORES.to_owned(),
            from: String::new(),
            until: None,
            reverse: false,
            limit: PAGE_ROWS,
        };
        loop {
            let page = self.core.store.range(&range).await?;
            for record in &page.records {
                let named = keys::parse_chore(&record.key.sort).is_some();
                let chore = decode::<Chore>(record);
                if let Ok(Chore::Superseded { session, sha256s }) = &chore {
                    let given_up = self.given_up.entry(session.clone()).or_default();
                    given_up.extend(sha256s.iter().cloned());
                }
                if !named || chore.is_err() {
                    let finding = Finding {
                        invariant: Invariant::Form,
                        key: record.key.clone(),
                        what: "this is nothing that can be done".to_owned(),
                        repair: Repair::ByHand,
                    };
                    self.outcome.add(finding, false);
                }
            }
            match page.records.last() {
                Some(last) if page.more => range.from = format!("{}\0", last.key.sort),
                _ => return Ok(()),
            }
        }
    }
}
