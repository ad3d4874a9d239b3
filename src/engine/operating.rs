//! The engine in this very process as an [`Operator`], and what commands and screens make of Runs and of the agenda.

use std::sync::Arc;

use async_trait::async_trait;

use super::core::{Core, decode};
use super::error::EngineError;
use super::fence::{RunRow, RunState};
use super::ids::{Kind, SessionId, derived, number_of};
use super::keys::{self, AGENDA_SHARDS, Group, agenda_partition, parse_agenda};
use super::outbox::Reconcile;
use super::ports::{
    AnewRead, DeliveryRead, EnvironmentRead, Environments, FilesQuery, Operator, OwedRead, Range,
    RunPhase, RunRead, Told, WorkspaceFiles,
};
use super::read::ListQuery;
use super::session::Head;
use super::view::turn_id;
use crate::api::Page;

/// Where a workspace is, as its agent sees it.
const WORKSPACE: &str = "/workspace";
/// Agenda rows read at once.
const STEP_ROWS: usize = 256;

/// Whether the process that has this identity exists; `None`: it can't be told.
pub type Alive = fn(&str) -> Option<bool>;

/// The id of a Session's Run.
pub fn run_id(session: &SessionId, generation: u64) -> String {
    derived(Kind::Run, session, generation)
}

/// The process in an execution's name.
pub fn process_of(execution: &str) -> &str {
    execution
        .split_once('#')
        .map_or(execution, |(process, _)| process)
}

impl RunRead {
    /// A Run's row with what the head says about it.
    pub fn of(
        session: &SessionId,
        head: &Head,
        generation: u64,
        row: RunRow,
        alive: Alive,
    ) -> RunRead {
        let fence = &head.fence;
        let lease = fence
            .lease
            .as_ref()
            .filter(|lease| fence.generation == generation && lease.execution == row.execution);
        let quarantine = fence
            .quarantine
            .as_ref()
            // The generation was raised when the quarantine began, so that the Run is the one before.
            .filter(|q| q.execution == row.execution && generation + 1 == fence.generation);
        let state = match (lease, quarantine) {
            (Some(_), _) => RunPhase::Live,
            (None, Some(_)) => RunPhase::Quarantined,
            (None, None) => RunPhase::Ended,
        };
        RunRead {
            id: run_id(session, generation),
            object: "rat_things.run",
            session_id: session.to_string(),
            generation,
            state,
            turn_id: turn_id(session, row.turn),
            process_alive: alive(process_of(&row.execution.0)),
            program: row.program,
            began_anew: row.began_anew.map(|anew| AnewRead {
                turn_id: turn_id(session, anew.turn),
                reason: anew.why,
            }),
            started_ms: row.started_ms,
            ended_ms: row.ended_ms,
            end: match (state, row.end) {
                (RunPhase::Ended, None) => Some("lost".to_owned()),
                (_, end) => end,
            },
            lease_until_ms: lease.map(|lease| lease.until_ms),
            quarantined_ms: quarantine.map(|quarantine| quarantine.since_ms),
            execution: row.execution.0,
        }
    }
}

/// One entry of the agenda, with the head that wrote it.
pub struct Due {
    /// Which work group.
    pub group: Group,
    /// Unix ms.
    pub due_ms: u64,
    /// Whose.
    pub session: SessionId,
    /// The Session's head when it was read.
    pub head: Head,
}

/// Why a Session has an entry.
pub fn why(head: &Head, group: Group) -> String {
    if group == Group::Deliver {
        return "a notification is to be sent".to_owned();
    }
    if head.deleted_ms.is_some() {
        return "deleted; its rows and files are to be erased".to_owned();
    }
    if head.expiry.is_some() && head.fence.state() == RunState::Free {
        return match head.turn {
            Some(_) => "its environment expired; its turn is to be ended".to_owned(),
            None => "its environment expired; its files are to be erased".to_owned(),
        };
    }
    let turn = match &head.turn {
        Some(turn) if turn.cancel.is_some() => "a turn is being cancelled",
        Some(turn) if turn.begun => "a turn goes on",
        Some(_) => "a turn is queued",
        None => "no turn; the entry is about to go",
    };
    match head.fence.state() {
        RunState::Quarantined => "in quarantine; its worker is asked about again".to_owned(),
        RunState::Leased => {
            "a worker is at it; its lease ends then unless it is renewed".to_owned()
        }
        RunState::Free => match head.turn.as_ref().map_or(0, |turn| turn.attempts) {
            0 => turn.to_owned(),
            lost => format!("{turn}; workers lost over it: {lost}"),
        },
    }
}

impl Core {
    /// An owner's entries of both groups of the agenda, soonest first, at most `limit`.
    pub async fn due(&self, owner: &str, limit: usize) -> Result<Vec<Due>, EngineError> {
        let mut found = Vec::new();
        for group in [Group::Execute, Group::Deliver] {
            for shard in 0..AGENDA_SHARDS {
                self.due_of_shard(owner, group, shard, limit, &mut found)
                    .await?;
            }
        }
        found.sort_by_key(|due| due.due_ms);
        found.truncate(limit);
        Ok(found)
    }

    async fn due_of_shard(
        &self,
        owner: &str,
        group: Group,
        shard: u32,
        limit: usize,
        found: &mut Vec<Due>,
    ) -> Result<(), EngineError> {
        let mut from = String::new();
        let mut kept = 0;
        loop {
            let range = Range {
                partition: agenda_partition(group, shard),
                from,
                until: None,
                reverse: false,
                limit: STEP_ROWS,
            };
            let page = self.store.range(&range).await?;
            for record in &page.records {
                let Some((due_ms, session)) = parse_agenda(&record.key.sort) else {
                    continue;
                };
                // Entries of others are theirs; one without a head is about to be removed.
                let Some(loaded) = self.load(&session).await? else {
                    continue;
                };
                if loaded.head.owner != owner {
                    continue;
                }
                found.push(Due {
                    group,
                    due_ms,
                    session,
                    head: loaded.head,
                });
                kept += 1;
            }
            match page.records.last() {
                Some(last) if page.more && kept < limit => from = format!("{}\0", last.key.sort),
                _ => return Ok(()),
            }
        }
    }

    /// A Session's Runs by generation, with what its head says about them.
    pub async fn list_runs(
        &self,
        session: &SessionId,
        head: &Head,
        query: &ListQuery,
        alive: Alive,
    ) -> Result<Page<RunRead>, EngineError> {
        let partition = keys::session_partition(session);
        let mut range = Range::prefix(partition, "run/", query.limit);
        range.reverse = !query.ascending;
        if let Some(after) = &query.after {
            let generation = number_of(Kind::Run, session, after)
                .ok_or_else(|| EngineError::not_found("run", after.as_str()))?;
            match query.ascending {
                true => range.from = keys::run(generation + 1),
                false => range.until = Some(keys::run(generation)),
            }
        }
        let page = self.store.range(&range).await?;
        let mut runs = Vec::with_capacity(page.records.len());
        for record in &page.records {
            let generation = keys::number(&record.key.sort, "run/").unwrap_or_default();
            let row = decode(record)?;
            runs.push(RunRead::of(session, head, generation, row, alive));
        }
        Ok(Page::new(runs, page.more))
    }
}

/// One owner's records over one [`Core`].
pub struct Operating {
    core: Core,
    owner: String,
    alive: Alive,
    environments: Option<Arc<dyn Environments>>,
}

impl Operating {
    /// This owner's records. `alive` knows the processes of this machine.
    pub fn new(core: Core, owner: String, alive: Alive) -> Operating {
        Operating {
            core,
            owner,
            alive,
            environments: None,
        }
    }

    /// The same, where the workspaces are.
    pub fn with_environments(self, environments: Option<Arc<dyn Environments>>) -> Operating {
        Operating {
            environments,
            ..self
        }
    }

    async fn head(&self, session: &str) -> Result<(SessionId, Head), EngineError> {
        let missing = || EngineError::not_found("session", session);
        let id = SessionId::parse(session).ok_or_else(missing)?;
        let loaded = self.core.load_owned(&self.owner, &id).await?;
        Ok((id, loaded.head))
    }
}

#[async_trait]
impl Operator for Operating {
    async fn runs(&self, session: &str, query: &ListQuery) -> Told<Page<RunRead>> {
        let (id, head) = self.head(session).await?;
        Ok(self.core.list_runs(&id, &head, query, self.alive).await?)
    }

    async fn release(&self, session: &str, run: &str) -> Told<()> {
        let (id, head) = self.head(session).await?;
        // The one in quarantine has the generation before that of the fence.
        let quarantined = head.fence.quarantine.as_ref();
        let is_it = quarantined.is_some_and(|_| {
            let generation = head.fence.generation.checked_sub(1);
            generation.is_some_and(|generation| run_id(&id, generation) == run)
        });
        if !is_it {
            let words = format!("{run} is not in quarantine; there is nothing to release");
            return Err(EngineError::Conflict(words).into());
        }
        Ok(self.core.release_quarantine(&self.owner, &id).await?)
    }

    async fn deliveries(&self, session: &str, query: &ListQuery) -> Told<Page<DeliveryRead>> {
        let id = self.head(session).await?.0;
        let read = self.core.read_session(&self.owner, &id).await?;
        let after = query.after.as_deref();
        let listed = self.core.list_deliveries(&read, after, query.limit).await?;
        let (rows, more) = listed;
        let rows = rows.into_iter().map(|(id, row)| DeliveryRead { id, row });
        Ok(Page::new(rows.collect(), more))
    }

    async fn reconcile(&self, session: &str, delivery: &str, how: Reconcile) -> Told<DeliveryRead> {
        let id = self.head(session).await?.0;
        let settled = self
            .core
            .reconcile_delivery(&self.owner, &id, delivery, how);
        Ok(DeliveryRead {
            id: delivery.to_owned(),
            row: settled.await?,
        })
    }

    async fn owed(&self, limit: usize) -> Told<Vec<OwedRead>> {
        let due = self.core.due(&self.owner, limit).await?;
        let owed = due.into_iter().map(|due| OwedRead {
            id: format!("{}/{}", due.group.name(), due.session),
            why: why(&due.head, due.group),
            session_id: due.session.to_string(),
            group: due.group.name(),
            due_ms: due.due_ms,
        });
        Ok(owed.collect())
    }

    async fn files(&self, environment: &str, limit: usize) -> Told<WorkspaceFiles> {
        let Some(environments) = self.environments.as_deref() else {
            let words = "workspaces are not on this machine".to_owned();
            return Err(EngineError::Unavailable(words).into());
        };
        let query = FilesQuery {
            below: WORKSPACE.to_owned(),
            limit,
            reverse: false,
            after: None,
        };
        let files = self
            .core
            .environment_files(environments, &self.owner, environment, &query);
        Ok(files.await?)
    }

    async fn environment(&self, session: &str) -> Told<EnvironmentRead> {
        let (_, head) = self.head(session).await?;
        let lease = head.fence.lease.as_ref();
        Ok(EnvironmentRead {
            resets: head.resets,
            status: head.environment_status,
            expiry: { head.expiry.as_ref() }.map(|expiry| (expiry.at_ms, expiry.why.clone())),
            pending_inputs: head.pending.len(),
            lease: lease.map(|lease| (head.fence.generation, lease.until_ms)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::expire::Expiry;
    use crate::engine::ports::ExecutionId;
    use crate::engine::session::ActiveTurn;

    fn row(execution: &str) -> RunRow {
        RunRow {
            execution: ExecutionId(execution.into()),
            turn: 1,
            started_ms: 5,
            ended_ms: None,
            end: None,
            program: None,
            began_anew: None,
        }
    }

    #[test]
    fn the_head_says_where_a_run_is() {
        let session = SessionId::parse(&format!("sess_{}", "a".repeat(26))).expect("an id");
        let mut head = Head::new("o".into(), 1);
        let read =
            |head: &Head, generation| RunRead::of(&session, head, generation, row("x"), |_| None);
        head.fence.claim(ExecutionId("x".into()), 9).expect("free");
        assert_eq!(read(&head, 1).state, RunPhase::Live);
        head.fence.lost_sight(9).expect("leased");
        assert_eq!(read(&head, 1).state, RunPhase::Quarantined);
        head.fence.operator_release().expect("in quarantine");
        head.fence.claim(ExecutionId("y".into()), 9).expect("free");
        assert_eq!(read(&head, 1).state, RunPhase::Ended);
        assert_eq!(read(&head, 1).end.as_deref(), Some("lost"));
    }

    #[test]
    fn a_process_is_the_beginning_of_an_execution() {
        assert_eq!(process_of("proc:1:2:b#7"), "proc:1:2:b");
        assert_eq!(process_of("proc:1:2:b"), "proc:1:2:b");
    }

    #[test]
    fn every_entry_says_why_it_is_there() {
        let mut head = Head::new("o".into(), 1);
        let mut said = vec![why(&head, Group::Execute), why(&head, Group::Deliver)];
        head.turn = Some(ActiveTurn::queued(1));
        said.push(why(&head, Group::Execute));
        if let Some(turn) = &mut head.turn {
            turn.attempts = 2;
            turn.begun = true;
        }
        said.push(why(&head, Group::Execute));
        head.fence.claim(ExecutionId("x".into()), 9).expect("free");
        said.push(why(&head, Group::Execute));
        head.fence.lost_sight(9).expect("leased");
        said.push(why(&head, Group::Execute));
        head.fence.operator_release().expect("in quarantine");
        head.expiry = Some(Expiry {
            at_ms: 9,
            why: "why".into(),
            erased: false,
        });
        said.push(why(&head, Group::Execute));
        head.turn = None;
        said.push(why(&head, Group::Execute));
        head.deleted_ms = Some(9);
        said.push(why(&head, Group::Execute));
        insta::assert_snapshot!(said.join("\n"));
    }
}
