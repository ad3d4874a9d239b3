//! The walk over everything: owners, agenda, Sessions, and bytes that belong to none.

use std::collections::{BTreeMap, BTreeSet};

use super::bytes::is_deleted;
use super::look::Seen;
use super::report::Outcome;
use super::{Fsck, ORPHANS_AFTER_MS};
use crate::engine::check::{Finding, Invariant, Repair};
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;
use crate::engine::keys::{self, AGENDA_SHARDS, Group};
use crate::engine::ports::{BlobScope, Key, Range, StoreFault};

/// Partitions and agenda rows read at once.
const PAGE_ROWS: usize = 256;
/// Times a Session is looked at because what was found can't be told from a change.
const ROUNDS: u32 = 4;

/// Agenda entries that no head knew when they were looked at, by Session.
type Strays = BTreeMap<SessionId, Vec<(Group, u64)>>;

impl Fsck<'_> {
    /// Checks everything.
    ///
    /// # Errors
    /// Something could not be read for a reason that is no finding, or a repair could not be made.
    pub async fn run(mut self) -> Result<Outcome, EngineError> {
        let mut odd: BTreeSet<SessionId> = BTreeSet::new();
        let mut strays = self.strays().await?;
        let mut after = String::new();
        // In order: `A/…`, `E/…`, `K/…`, `O/…`, `S/…`.
        loop {
            let page = self.inventory.partitions(&after, PAGE_ROWS).await?;
            let Some(last) = page.last().cloned() else {
                break;
            };
            for partition in page {
                let (kind, name) = partition.split_once('/').unwrap_or((&partition, ""));
                match (kind, SessionId::parse(name)) {
                    ("S", Some(session)) => {
                        odd.remove(&session);
                        let strays = strays.remove(&session).unwrap_or_default();
                        self.session(&session, &strays).await?;
                    }
                    ("O", _) => {
                        self.owners.push(name.to_owned());
                        let checked = self.owner(name).await;
                        odd.extend(self.or_unreadable(&partition, checked)?);
                    }
                    ("A", _) if is_agenda(&partition) => {}
                    ("E", _) if partition == keys::CHORES => {
                        let checked = self.chores().await;
                        self.or_unreadable(&partition, checked)?;
                    }
                    // A holder without its key, or the other way round, opens nothing: there is nothing to find.
                    ("K", _) if is_digest(name) => {}
                    _ => self.stranger(&partition),
                }
            }
            after = last;
        }
        odd.extend(strays.keys().cloned());
        for session in odd {
            let strays = strays.remove(&session).unwrap_or_default();
            self.session(&session, &strays).await?;
        }
        self.scopes().await?;
        self.leftovers().await?;
        Ok(self.outcome)
    }

    /// Agenda entries that no head names, as far as one look can tell.
    async fn strays(&mut self) -> Result<Strays, EngineError> {
        let mut strays = Strays::new();
        for group in [Group::Execute, Group::Deliver] {
            for shard in 0..AGENDA_SHARDS {
                let partition = keys::agenda_partition(group, shard);
                let mut range = Range {
                    partition,
                    from: String::new(),
                    until: None,
                    reverse: false,
                    limit: PAGE_ROWS,
                };
                loop {
                    let page = self.core.store.range(&range).await?;
                    for record in &page.records {
                        let entry = keys::parse_agenda(&record.key.sort);
                        let entry = entry.filter(|(due_ms, session)| {
                            keys::agenda(group, session, *due_ms) == record.key
                        });
                        let Some((due_ms, session)) = entry else {
                            self.outcome.add(no_entry(&record.key), false);
                            continue;
                        };
                        let loaded = self.core.load(&session).await;
                        let known = loaded.is_ok_and(|loaded| {
                            loaded.is_some_and(|l| l.head.agenda.of(group) == Some(due_ms))
                        });
                        if !known {
                            strays.entry(session).or_default().push((group, due_ms));
                        }
                    }
                    match page.records.last() {
                        Some(last) if page.more => range.from = format!("{}\0", last.key.sort),
                        _ => break,
                    }
                }
            }
        }
        Ok(strays)
    }

    /// Checks one Session, with its bytes.
    async fn session(
        &mut self,
        session: &SessionId,
        strays: &[(Group, u64)],
    ) -> Result<(), EngineError> {
        let partition = keys::session_partition(session);
        let checked = self.try_session(session, strays).await;
        self.or_unreadable(&partition, checked)
    }

    /// What can't be read because the store is damaged there is a finding, and the rest is looked at all the same.
    fn or_unreadable<T: Default>(
        &mut self,
        partition: &str,
        checked: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match checked {
            Err(EngineError::Broken {
                fault: StoreFault::Corrupt,
                message,
            }) => {
                let finding = Finding {
                    invariant: Invariant::Form,
                    key: Key::new(partition, ""),
                    what: format!("it can't be read: {message}"),
                    repair: Repair::ByHand,
                };
                self.outcome.add(finding, false);
                Ok(T::default())
            }
            other => other,
        }
    }

    async fn try_session(
        &mut self,
        session: &SessionId,
        strays: &[(Group, u64)],
    ) -> Result<(), EngineError> {
        let before = self.outcome.tally;
        for _ in 0..ROUNDS {
            self.outcome.tally = before;
            let owner = match self.core.load(session).await {
                Ok(loaded) => loaded.map(|loaded| loaded.head.owner),
                // A finding, later.
                Err(EngineError::Damaged { .. } | EngineError::Broken { .. }) => None,
                Err(error) => return Err(error),
            };
            let scope = owner.map(|owner| self.core.scope(&owner, session));
            let old = match &scope {
                Some(scope) => self.old_bytes(scope).await?,
                None => Vec::new(),
            };
            let Some(seen) = self.look(session, strays).await? else {
                break;
            };
            if seen.is_nothing() {
                return Ok(());
            }
            let mut found = self.findings(session, &seen);
            let bytes = self.named_bytes(session, &seen).await?;
            if !bytes.is_empty() && self.has_changed(session, &seen).await? {
                continue;
            }
            found.extend(bytes);
            self.count(&seen);
            let sound = found.iter().all(|finding| finding.repair.is_safe());
            let orphans = match &scope {
                Some(scope) => self.orphans(session, &seen, scope, &old, sound).await?,
                None => None,
            };
            let left = match self.options.repair && found.iter().any(|f| f.repair.is_safe()) {
                true => self.repaired(session, seen, strays, &found).await?,
                false => found.clone(),
            };
            for finding in found {
                let repaired = !left.contains(&finding);
                self.outcome.add(finding, repaired);
            }
            if let Some((finding, repaired)) = orphans {
                self.outcome.add(finding, repaired);
            }
            return Ok(());
        }
        self.outcome.tally = before;
        self.outcome.restless.push(session.clone());
        Ok(())
    }

    /// What the rows show.
    fn findings(&self, session: &SessionId, seen: &Seen) -> Vec<Finding> {
        let now_ms = self.core.clock.now_ms();
        if let Some(broken) = &seen.broken {
            return vec![broken.clone()];
        }
        if let (Some((marker, _)), None) = (&seen.import, seen.version) {
            let old = marker.started_ms + ORPHANS_AFTER_MS < now_ms;
            let what = match marker.abandoned {
                true => "an import of it was given up, and what there is of it is not removed yet",
                false => "an import of it was begun more than a day ago and is not over",
            };
            let finding = Finding {
                invariant: Invariant::I14,
                key: Key::new(keys::session_partition(session), keys::IMPORT),
                what: what.to_owned(),
                repair: Repair::RemoveRows,
            };
            return old.then_some(finding).into_iter().collect();
        }
        let mut found = seen.facts.findings(session, &seen.around, now_ms);
        if seen.import.is_some() {
            found.push(Finding {
                invariant: Invariant::Form,
                key: Key::new(keys::session_partition(session), keys::IMPORT),
                what: "an import of it is marked as not over, and it has a head".to_owned(),
                repair: Repair::ByHand,
            });
        }
        let listed = seen.around.listed_by_id || seen.around.listed_by_time;
        if seen.version.is_none() && listed {
            // Whoever deletes a Session takes it from the lists first: this one was not deleted, it lost its head.
            for finding in &mut found {
                if finding.repair == Repair::RemoveRows {
                    finding.what =
                        "this and other rows have lost their session's head, and it is listed"
                            .to_owned();
                    finding.repair = Repair::ByHand;
                }
            }
        }
        found
    }

    /// Repairs, looks again, and answers what is left.
    async fn repaired(
        &self,
        session: &SessionId,
        seen: Seen,
        strays: &[(Group, u64)],
        found: &[Finding],
    ) -> Result<Vec<Finding>, EngineError> {
        let (mut seen, mut left) = (seen, found.to_vec());
        // One repair may be what shows that another is needed.
        for _ in 0..ROUNDS {
            let safe: Vec<Finding> = left
                .iter()
                .filter(|f| f.repair.is_safe())
                .cloned()
                .collect();
            if safe.is_empty() {
                break;
            }
            for finding in &safe {
                self.mend(session, &seen, finding).await?;
            }
            let Some(now) = self.look(session, strays).await? else {
                return Ok(found.to_vec());
            };
            left = self.findings(session, &now);
            seen = now;
        }
        // Whatever else is wrong with bytes is not repaired here.
        left.extend(found.iter().filter(|f| !f.repair.is_safe()).cloned());
        Ok(left)
    }

    /// Whether the Session is no longer as it was seen.
    async fn has_changed(&self, session: &SessionId, seen: &Seen) -> Result<bool, EngineError> {
        let loaded = self.core.load(session).await?;
        Ok(loaded.map(|loaded| loaded.version) != seen.version)
    }

    fn count(&mut self, seen: &Seen) {
        let tally = &mut self.outcome.tally;
        tally.rows += seen.rows;
        tally.sessions += u64::from(seen.version.is_some());
        tally.imports += u64::from(seen.import.is_some());
        (self.progress)(&self.outcome.tally);
    }

    /// Bytes in places where no Session has any.
    async fn scopes(&mut self) -> Result<(), EngineError> {
        for scope in self.inventory.scopes().await? {
            let Some(session) = SessionId::parse(&scope.session) else {
                self.own_scope(&scope).await?;
                continue;
            };
            let loaded = self.core.load(&session).await.ok();
            if loaded.is_none_or(|loaded| loaded.is_some_and(|l| l.head.owner == scope.owner)) {
                // It was checked with its Session, or its head can't be read.
                continue;
            }
            self.scope(&session, &scope).await?;
        }
        Ok(())
    }

    async fn scope(&mut self, session: &SessionId, scope: &BlobScope) -> Result<(), EngineError> {
        let old = self.old_bytes(scope).await?;
        if old.is_empty() {
            return Ok(());
        }
        let Some(seen) = self.look(session, &[]).await? else {
            return Ok(());
        };
        // The rows of a Session that lost its head still name its bytes.
        let headless = seen.version.is_none() && seen.rows > 0;
        if headless || seen.broken.is_some() || seen.facts.head().is_some_and(is_deleted) {
            return Ok(());
        }
        if let Some((finding, repaired)) = self.orphans(session, &seen, scope, &old, true).await? {
            self.outcome.add(finding, repaired);
        }
        Ok(())
    }

    fn stranger(&mut self, partition: &str) {
        let finding = Finding {
            invariant: Invariant::Form,
            key: Key::new(partition, ""),
            what: "this program knows no such partition".to_owned(),
            repair: Repair::ByHand,
        };
        self.outcome.add(finding, false);
    }
}

/// Whether a partition `K/…` is named by the digest of an access key.
fn is_digest(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_agenda(partition: &str) -> bool {
    [Group::Execute, Group::Deliver].into_iter().any(|group| {
        (0..AGENDA_SHARDS).any(|shard| keys::agenda_partition(group, shard) == partition)
    })
}

fn no_entry(key: &Key) -> Finding {
    Finding {
        invariant: Invariant::Form,
        key: key.clone(),
        what: "this is no agenda entry".to_owned(),
        repair: Repair::ByHand,
    }
}
