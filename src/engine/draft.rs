//! A draft: one change of a Session, gathered as data and sealed into one commit that includes the head.
//!
//! Everything a commit must always contain is added here and nowhere else: the head under its compare-and-swap, the next
//! revision, the journal row, the Session's status event, and the agenda entries that follow from the new head. So no stage can
//! forget to leave work where the next one finds it (I13).

use serde::Serialize;

use super::core::{Loaded, encode};
use super::ids::SessionId;
use super::journal::{Entry, JournalRow};
use super::keys::{self, Group};
use super::ports::{Change, Commit, CommitId, Guard, Ids, Key, Write};
use super::session::{Agenda, Head};
use crate::api::SessionStatus;

/// One change in the making.
pub struct Draft {
    /// Whose.
    pub session: SessionId,
    /// The head as it will be.
    pub head: Head,
    /// When this is decided. Unix ms.
    pub now_ms: u64,
    before: Option<Before>,
    writes: Vec<Write>,
    events: Vec<Entry>,
    exact: Vec<Group>,
    anchored: bool,
}

/// What is needed of the head as it was read.
struct Before {
    version: u64,
    status: SessionStatus,
    agenda: Agenda,
    delivery_due: Option<u64>,
}

impl Draft {
    /// A change of an existing Session.
    pub fn of(session: &SessionId, loaded: &Loaded, now_ms: u64) -> Draft {
        Draft {
            session: session.clone(),
            head: loaded.head.clone(),
            now_ms,
            before: Some(Before {
                version: loaded.version,
                status: loaded.head.status(),
                agenda: loaded.head.agenda,
                delivery_due: loaded.head.delivery_due(),
            }),
            writes: Vec::new(),
            events: Vec::new(),
            exact: Vec::new(),
            anchored: false,
        }
    }

    /// The creation of a Session.
    pub fn create(session: &SessionId, head: Head, now_ms: u64) -> Draft {
        Draft {
            session: session.clone(),
            head,
            now_ms,
            before: None,
            writes: Vec::new(),
            events: vec![Entry::Created],
            exact: Vec::new(),
            anchored: false,
        }
    }

    /// Stores a row of the Session. It needs no guard of its own: the head's compare-and-swap orders all changes.
    pub fn put<T: Serialize>(&mut self, sort: String, row: &T) {
        let key = Key::new(keys::session_partition(&self.session), sort);
        self.write(key, Guard::Any, Change::Put(encode(row)));
    }

    /// Stores a row of the Session that must not exist.
    pub fn insert<T: Serialize>(&mut self, sort: String, row: &T) {
        let key = Key::new(keys::session_partition(&self.session), sort);
        self.write(key, Guard::Absent, Change::Put(encode(row)));
    }

    /// Removes a row of the Session.
    pub fn remove(&mut self, sort: String) {
        let key = Key::new(keys::session_partition(&self.session), sort);
        self.write(key, Guard::Any, Change::Delete);
    }

    /// Any other write that belongs to this change. A later write of the same row replaces the earlier one.
    pub fn write(&mut self, key: Key, guard: Guard, change: Change) {
        match self.writes.iter_mut().find(|write| write.key == key) {
            Some(earlier) => earlier.change = change,
            None => self.writes.push(Write { key, guard, change }),
        }
    }

    /// Adds a public event.
    pub fn note(&mut self, event: Entry) {
        self.events.push(event);
    }

    /// The commit gets a journal row even if nothing public happens in it. A row that is only ever inserted is what lets a store
    /// recognise a commit that is repeated after others have changed the head again.
    pub fn anchor(&mut self) {
        self.anchored = true;
    }

    /// The entry of execution is moved to where it is due, not left early.
    pub fn move_agenda(&mut self) {
        self.exact.push(Group::Execute);
    }

    /// The entry of a Session with a live Run is moved to `due_ms`. Whoever does this looks at the Run by then; a Run that renews its
    /// lease leaves the entry where it is, whatever its own clock says. Unix ms.
    pub fn look_at(&mut self, due_ms: u64) {
        self.head.agenda.execute = Some(due_ms);
        self.move_agenda();
    }

    /// The entry of the deliveries is moved to where it is due, not left early.
    pub fn move_deliveries(&mut self) {
        self.exact.push(Group::Deliver);
    }

    /// Rows so far, with those that sealing adds at most: head, journal, and an agenda entry out and in for each group that
    /// may have changed.
    pub fn rows(&self) -> usize {
        let known = self.before.as_ref().and_then(|b| b.delivery_due);
        let deliveries = self.exact.contains(&Group::Deliver) || self.head.delivery_due() != known;
        self.writes.len() + 4 + if deliveries { 2 } else { 0 }
    }

    /// The commit, and the head as it will be stored.
    pub fn seal(mut self, ids: &dyn Ids) -> (Commit, Head) {
        let old_agenda = self.before.as_ref().map(|b| b.agenda).unwrap_or_default();
        self.head.revision += 1;
        self.head.shorten();
        let status = self.head.status();
        let before = self
            .before
            .as_ref()
            .map_or(SessionStatus::Idle, |b| b.status);
        if before != status && self.head.deleted_ms.is_none() {
            self.events.push(Entry::Session { s: status });
        }
        let due = self.head.execution_due(self.now_ms);
        self.head.agenda.execute = self.entry(Group::Execute, old_agenda.execute, due);
        let due = self.head.delivery_due();
        self.head.agenda.deliver = self.entry(Group::Deliver, old_agenda.deliver, due);
        if self.anchored || !self.events.is_empty() {
            let row = JournalRow {
                at_ms: self.now_ms,
                events: std::mem::take(&mut self.events),
            };
            self.insert(keys::journal(self.head.revision), &row);
        }
        let guard = match &self.before {
            Some(before) => Guard::Version(before.version),
            None => Guard::Absent,
        };
        let head_key = Key::new(keys::session_partition(&self.session), keys::HEAD);
        self.writes.insert(
            0,
            Write {
                key: head_key,
                guard,
                change: Change::Put(encode(&self.head)),
            },
        );
        (
            Commit {
                id: CommitId::random(ids),
                writes: self.writes.into(),
            },
            self.head,
        )
    }

    /// Writes what turns the old agenda entry into the new one, and answers where the entry is then.
    fn entry(&mut self, group: Group, old: Option<u64>, new: Option<u64>) -> Option<u64> {
        let exact = self.exact.contains(&group);
        let keep_early = matches!((old, new), (Some(old), Some(new)) if old <= new && !exact);
        if keep_early || old == new {
            return old;
        }
        if let Some(old) = old {
            self.write(
                keys::agenda(group, &self.session, old),
                Guard::Any,
                Change::Delete,
            );
        }
        if let Some(new) = new {
            let key = keys::agenda(group, &self.session, new);
            self.write(key, Guard::Any, Change::Put(Vec::new()));
        }
        new
    }
}
