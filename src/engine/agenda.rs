//! The agenda: which Sessions owe work, by when. Its entries follow from the heads; what is here finds them and removes those
//! that no head knows.

use super::core::Core;
use super::error::EngineError;
use super::ids::SessionId;
use super::keys::{self, Group};
use super::ports::{Change, Commit, CommitId, Guard, Key, Range, Write};
use super::session::Agenda;

impl Agenda {
    /// When the entry of this group is due.
    pub fn of(&self, group: Group) -> Option<u64> {
        match group {
            Group::Execute => self.execute,
            Group::Deliver => self.deliver,
        }
    }
}

/// One entry of the agenda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Whose.
    pub session: SessionId,
    /// Since, or from, when. Unix ms.
    pub due_ms: u64,
}

impl Core {
    /// Entries of a shard behind `from` in the order of their due times, and the sort key to go on behind, if there is more.
    pub(super) async fn agenda_page(
        &self,
        group: Group,
        shard: u32,
        from: &str,
        limit: usize,
    ) -> Result<(Vec<Due>, Option<String>), EngineError> {
        let range = Range {
            partition: keys::agenda_partition(group, shard),
            from: from.to_owned(),
            until: None,
            reverse: false,
            limit,
        };
        let page = self.store.range(&range).await?;
        let entries = page.records.iter().filter_map(|record| {
            let (due_ms, session) = keys::parse_agenda(&record.key.sort)?;
            Some(Due { session, due_ms })
        });
        let last = page.records.last().filter(|_| page.more);
        let next = last.map(|record| format!("{}\0", record.key.sort));
        Ok((entries.collect(), next))
    }

    /// Removes an entry that no head knows.
    pub(super) async fn drop_stray(
        &self,
        group: Group,
        session: &SessionId,
        due_ms: u64,
    ) -> Result<(), EngineError> {
        // The head is checked in the same commit: an entry that became true meanwhile stays.
        let head = Key::new(keys::session_partition(session), keys::HEAD);
        let guard = match self.load(session).await? {
            Some(loaded) if loaded.head.agenda.of(group) == Some(due_ms) => return Ok(()),
            Some(loaded) => Guard::Version(loaded.version),
            None => Guard::Absent,
        };
        let writes = vec![
            Write {
                key: head,
                guard,
                change: Change::Check,
            },
            Write {
                key: keys::agenda(group, session, due_ms),
                guard: Guard::Any,
                change: Change::Delete,
            },
        ];
        let id = CommitId::random(&*self.ids);
        self.commit_once(Commit {
            id,
            writes: writes.into(),
        })
        .await?;
        Ok(())
    }
}
