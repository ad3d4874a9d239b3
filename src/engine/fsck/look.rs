//! One Session in one piece: its rows and what is around it, read between two looks at the same head.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Fsck;
use crate::engine::archive::{Marker, unfinished};
use crate::engine::check::{Around, Finding, Invariant, Repair, SessionFacts};
use crate::engine::core::backoff;
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;
use crate::engine::keys::{self, Group};
use crate::engine::ports::{Key, Range, Record, StoreError, StoreFault};
use crate::engine::session::Head;

/// Rows read at once.
const PAGE_ROWS: usize = 256;
/// Times a Session is read because it changed meanwhile.
const LOOKS: u32 = 40;

/// A Session as it was at one moment.
pub(super) struct Seen {
    pub(super) facts: SessionFacts,
    pub(super) around: Around,
    /// The head's version; `None`: there is no head.
    pub(super) version: Option<u64>,
    /// The marker of an import that is not over, and its version.
    pub(super) import: Option<(Marker, u64)>,
    pub(super) rows: u64,
    /// Rows that can't be read at all.
    pub(super) broken: Option<Finding>,
}

impl Seen {
    /// Whether there is nothing of it.
    pub(super) fn is_nothing(&self) -> bool {
        self.rows == 0
            && self.around.agenda.is_empty()
            && !self.around.listed_by_id
            && !self.around.listed_by_time
    }

    /// The head's own owner.
    pub(super) fn owner(&self) -> Option<&str> {
        self.facts.head().map(|head| head.owner.as_str())
    }
}

/// What tells two moments apart.
type Moment = (Option<u64>, Option<u64>);

impl Fsck<'_> {
    /// Reads a Session, again and again until nothing changed meanwhile. `strays`: agenda entries that no head may know. `None`:
    /// it never stood still.
    pub(super) async fn look(
        &self,
        session: &SessionId,
        strays: &[(Group, u64)],
    ) -> Result<Option<Seen>, EngineError> {
        for attempt in 0..LOOKS {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt).min(Duration::from_millis(250))).await;
            }
            let (before, head) = self.moment(session).await?;
            let mut seen = self.rows(session).await?;
            let head = head.and_then(|head| serde_json::from_slice::<Head>(&head.value).ok());
            seen.around = self.around(session, head.as_ref(), strays).await?;
            let (after, _) = self.moment(session).await?;
            if before == after {
                seen.version = before.0;
                return Ok(Some(seen));
            }
        }
        Ok(None)
    }

    /// Versions of the head and of the import's marker: one of them changes with every change.
    async fn moment(&self, session: &SessionId) -> Result<(Moment, Option<Record>), EngineError> {
        let key = |sort: &str| Key::new(keys::session_partition(session), sort);
        let both = [key(keys::HEAD), key(keys::IMPORT)];
        let mut found = self.core.store.get_many(&both).await?.into_iter();
        let (head, marker) = (found.next().flatten(), found.next().flatten());
        let version = |record: &Option<Record>| record.as_ref().map(|r| r.version);
        Ok(((version(&head), version(&marker)), head))
    }

    async fn rows(&self, session: &SessionId) -> Result<Seen, EngineError> {
        let mut seen = Seen {
            facts: SessionFacts::new(),
            around: Around::default(),
            version: None,
            import: None,
            rows: 0,
            broken: None,
        };
        let mut range = Range {
            partition: keys::session_partition(session),
            from: String::new(),
            until: None,
            reverse: false,
            limit: PAGE_ROWS,
        };
        loop {
            let page = match self.core.store.range(&range).await {
                Ok(page) => page,
                Err(StoreError::Broken {
                    fault: StoreFault::Corrupt,
                    message,
                }) => {
                    seen.rows += 1;
                    seen.broken = Some(Finding {
                        invariant: Invariant::Form,
                        key: Key::new(range.partition, range.from),
                        what: format!("it and the rows behind it can't be read: {message}"),
                        repair: Repair::ByHand,
                    });
                    return Ok(seen);
                }
                Err(error) => return Err(error.into()),
            };
            for record in &page.records {
                seen.rows += 1;
                match unfinished(record) {
                    Ok(Some(marker)) => seen.import = Some((marker, record.version)),
                    // A marker that can't be read is a row like any other that can't.
                    Ok(None) | Err(_) => seen.facts.take(record),
                }
            }
            match page.records.last() {
                Some(last) if page.more => range.from = format!("{}\0", last.key.sort),
                _ => return Ok(seen),
            }
        }
    }

    /// The lists and the agenda, as far as they are about this Session.
    async fn around(
        &self,
        session: &SessionId,
        head: Option<&Head>,
        strays: &[(Group, u64)],
    ) -> Result<Around, EngineError> {
        let mut around = Around::default();
        match head {
            Some(head) => {
                let partition = keys::owner_partition(&head.owner);
                let by_time = keys::session_by_time(head.created_ms, session.as_str());
                let lists = [
                    Key::new(partition.clone(), by_time),
                    Key::new(partition, keys::session_by_id(session.as_str())),
                ];
                let found = self.core.store.get_many(&lists).await?;
                around.listed_by_time = found.first().is_some_and(Option::is_some);
                around.listed_by_id = found.get(1).is_some_and(Option::is_some);
            }
            // Nobody says whose it is: it may be in anybody's list.
            None => {
                for owner in &self.owners {
                    let by_id = keys::session_by_id(session.as_str());
                    let key = Key::new(keys::owner_partition(owner), by_id);
                    around.listed_by_id |= self.core.store.get(&key).await?.is_some();
                }
            }
        }
        let named = [Group::Execute, Group::Deliver]
            .into_iter()
            .filter_map(|group| Some((group, head?.agenda.of(group)?)));
        let entries: BTreeSet<(Group, u64)> = named.chain(strays.iter().copied()).collect();
        for (group, due_ms) in entries {
            let key = keys::agenda(group, session, due_ms);
            if self.core.store.get(&key).await?.is_some() {
                around.agenda.insert((group, due_ms));
            }
        }
        Ok(around)
    }
}
