//! Bytes: those that rows name are there and are what they should be; those that no row names are left over.

use std::collections::BTreeMap;

use super::look::Seen;
use super::{Fsck, ORPHANS_AFTER_MS, StoredBlob};
use crate::engine::check::{Finding, Invariant, Repair};
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;
use crate::engine::keys;
use crate::engine::ports::{BlobRef, BlobScope, Key};
use crate::engine::session::Head;

impl Fsck<'_> {
    /// What is wrong with the bytes that the rows name. They are read when contents are asked for.
    pub(super) async fn named_bytes(
        &mut self,
        session: &SessionId,
        seen: &Seen,
    ) -> Result<Vec<Finding>, EngineError> {
        let Some(owner) = seen.owner() else {
            return Ok(Vec::new());
        };
        if seen.facts.head().is_some_and(is_deleted) {
            // They are being removed.
            return Ok(Vec::new());
        }
        let scope = self.core.scope(owner, session);
        let mut found = Vec::new();
        let mut known: BTreeMap<&str, Option<String>> = BTreeMap::new();
        for (sort, blob) in seen.facts.blobs() {
            if !known.contains_key(blob.sha256.as_str()) {
                let problem = self.problem(&scope, blob).await?;
                self.outcome.tally.blobs += 1;
                self.outcome.tally.blob_bytes += blob.size_bytes;
                (self.progress)(&self.outcome.tally);
                known.insert(&blob.sha256, problem);
            }
            if let Some(Some(problem)) = known.get(blob.sha256.as_str()) {
                found.push(Finding::bad_blob(session, sort, blob, problem));
            }
        }
        Ok(found)
    }

    /// What is wrong with these bytes, if something is.
    pub(super) async fn problem(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
    ) -> Result<Option<String>, EngineError> {
        match self.options.contents {
            true => self.core.blob_problem(scope, blob).await,
            false => self.core.blob_absence(scope, blob).await,
        }
    }

    /// Bytes in the Session's own scope that were stored long ago. They are listed before rows are read, so that what a row names
    /// by then is never taken for left over.
    pub(super) async fn old_bytes(
        &self,
        scope: &BlobScope,
    ) -> Result<Vec<StoredBlob>, EngineError> {
        let before_ms = self.orphans_before_ms();
        let mut stored = self.inventory.blobs(scope).await?;
        stored.retain(|blob| blob.written_ms < before_ms);
        Ok(stored)
    }

    /// Removes those of `old` that the rows do not name, if that is asked for and nothing else is wrong with the Session (`sound`);
    /// the finding about them.
    pub(super) async fn orphans(
        &self,
        session: &SessionId,
        seen: &Seen,
        scope: &BlobScope,
        old: &[StoredBlob],
        sound: bool,
    ) -> Result<Option<(Finding, bool)>, EngineError> {
        // A row that can't be read may name any of them.
        if seen.broken.is_some() || seen.facts.unreadable().next().is_some() {
            return Ok(None);
        }
        let ours = seen.owner() == Some(scope.owner.as_str());
        if seen.facts.head().is_some_and(is_deleted) || seen.import.is_some() {
            return Ok(None);
        }
        let named: BTreeMap<&str, ()> = match ours {
            true => seen
                .facts
                .blobs()
                .map(|(_, blob)| (blob.sha256.as_str(), ()))
                .collect(),
            false => BTreeMap::new(),
        };
        let left_over: Vec<&StoredBlob> = old
            .iter()
            .filter(|blob| !named.contains_key(blob.sha256.as_str()))
            .filter(|blob| !self.is_given_up(session, &blob.sha256))
            .collect();
        let Some(first) = left_over.first() else {
            return Ok(None);
        };
        let finding = match left_over.len() {
            1 => Finding::orphan_blob(session, &first.sha256),
            many => Finding {
                invariant: Invariant::I14,
                key: Key::new(keys::session_partition(session), ""),
                what: format!(
                    "no record names {many} of its blobs; the first has the digest {}",
                    first.sha256
                ),
                repair: Repair::RemoveBlob,
            },
        };
        let mut repaired = self.options.repair && sound;
        if repaired {
            for blob in left_over {
                let before_ms = self.orphans_before_ms();
                let removed = self
                    .inventory
                    .remove_blob(scope, &blob.sha256, before_ms)
                    .await?;
                repaired &= removed;
            }
        }
        Ok(Some((finding, repaired)))
    }

    /// Whether a chore says that they are removed, and when.
    fn is_given_up(&self, session: &SessionId, sha256: &str) -> bool {
        let given_up = self.given_up.get(session);
        given_up.is_some_and(|digests| digests.contains(sha256))
    }

    pub(super) fn orphans_before_ms(&self) -> u64 {
        self.core.clock.now_ms().saturating_sub(ORPHANS_AFTER_MS)
    }
}

pub(super) fn is_deleted(head: &Head) -> bool {
    head.deleted_ms.is_some()
}
