//! Reads: they need the store and nothing else, so they work with every worker and daemon unreachable (I11).

use super::artifact::{ArtifactRow, of_id_number};
use super::core::{Core, decode};
use super::error::EngineError;
use super::ids::{self, Kind, SessionId};
use super::input::{InputRow, Submission};
use super::item::{ItemBody, ItemRow};
use super::keys;
use super::ports::{Key, Range, Record};
use super::receipt::ReceiptRow;
use super::session::Head;
use super::sessions::Config;
use super::subagent;
use super::turn::TurnRow;
use super::view;
use crate::api::{Agent, AgentSession, Item, Metadata, Page, SessionArtifact, SessionStatus, Turn};

/// Which part of a list is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// Rows at most, 1 to 100.
    pub limit: usize,
    /// Continue behind this id.
    pub after: Option<String>,
    /// Oldest first instead of newest first.
    pub ascending: bool,
}

impl Default for ListQuery {
    fn default() -> Self {
        ListQuery {
            limit: 20,
            after: None,
            ascending: false,
        }
    }
}

/// Which Sessions are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Created from this saved Agent.
    pub agent_id: Option<String>,
    /// All of these names and values.
    pub metadata: Metadata,
    /// In one of these states; empty: in any.
    pub status: Vec<SessionStatus>,
}

/// Rows read per step of a filtered list.
const STEP_ROWS: usize = 128;

/// A Session as it was read.
pub struct SessionRead {
    /// Its id.
    pub id: SessionId,
    /// Its head.
    pub head: Head,
    /// Its configuration.
    pub config: Config,
}

impl Core {
    /// The function call that was answered under this key, if one was: its call id and its Turn's number. With it the same
    /// answer can be given again when the call is long over, and finds its receipt.
    pub async fn answered_call(
        &self,
        session: &SessionId,
        key: &str,
    ) -> Result<Option<(String, u64)>, EngineError> {
        let receipt = keys::receipt(&keys::key_hash(key));
        let Some(receipt) = self.row::<ReceiptRow>(session, receipt).await? else {
            return Ok(None);
        };
        let input = keys::input(receipt.first_input);
        let input: Option<InputRow> = self.row(session, input).await?;
        Ok(input.and_then(|row| match row.submission {
            Submission::ToolResult { call_id, .. } => Some((call_id, row.turn?)),
            Submission::Message { .. } | Submission::Cancel => None,
        }))
    }

    /// A Session's head and configuration.
    pub async fn read_session(
        &self,
        owner: &str,
        session: &SessionId,
    ) -> Result<SessionRead, EngineError> {
        let loaded = self.load_owned(owner, session).await?;
        let missing = || EngineError::not_found("session", session.as_str());
        let config = self.config(session).await?.ok_or_else(missing)?;
        Ok(SessionRead {
            id: session.clone(),
            head: loaded.head,
            config,
        })
    }

    /// A Session as its resource.
    pub async fn get_session(
        &self,
        owner: &str,
        session: &SessionId,
    ) -> Result<AgentSession, EngineError> {
        let read = self.read_session(owner, session).await?;
        let actions = self.required_actions(session, &read.head).await?;
        Ok(view::session(session, &read.head, &read.config, actions))
    }

    /// Sessions by creation time.
    pub async fn list_sessions(
        &self,
        owner: &str,
        query: &ListQuery,
        filter: &SessionFilter,
    ) -> Result<Page<AgentSession>, EngineError> {
        let partition = keys::owner_partition(owner);
        let after = match &query.after {
            None => None,
            Some(id) => {
                let key = Key::new(partition.clone(), keys::session_by_id(id));
                let record = self.store.get(&key).await?;
                let record =
                    record.ok_or_else(|| EngineError::not_found("session", id.as_str()))?;
                Some(keys::session_by_time(decode(&record)?, id))
            }
        };
        let mut cursor = Cursor::new(partition, "sessions/", after, query);
        let mut found = Vec::new();
        loop {
            let want = query.limit + 1 - found.len();
            let step = if *filter == SessionFilter::default() {
                want
            } else {
                STEP_ROWS
            };
            let (records, more) = cursor.next(self, step).await?;
            let ids = records
                .iter()
                .filter_map(|r| SessionId::parse(r.key.sort.rsplit('/').next()?));
            for read in self.read_many(ids.collect()).await? {
                if matches(&read, filter) {
                    found.push(read);
                }
            }
            if found.len() > query.limit || !more {
                break;
            }
        }
        let has_more = found.len() > query.limit;
        found.truncate(query.limit);
        let mut data = Vec::with_capacity(found.len());
        for read in found {
            let actions = self.required_actions(&read.id, &read.head).await?;
            data.push(view::session(&read.id, &read.head, &read.config, actions));
        }
        Ok(Page::new(data, has_more))
    }

    async fn read_many(&self, sessions: Vec<SessionId>) -> Result<Vec<SessionRead>, EngineError> {
        let wanted: Vec<Key> = sessions
            .iter()
            .flat_map(|session| {
                let partition = keys::session_partition(session);
                [
                    Key::new(partition.clone(), keys::HEAD),
                    Key::new(partition, keys::CONFIG),
                ]
            })
            .collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut records = self.store.get_many(&wanted).await?.into_iter();
        let mut reads = Vec::with_capacity(sessions.len());
        for id in sessions {
            // Deleted a moment ago: no longer listed.
            if let (Some(Some(head)), Some(Some(config))) = (records.next(), records.next()) {
                reads.push(SessionRead {
                    id,
                    head: decode(&head)?,
                    config: decode(&config)?,
                });
            }
        }
        reads.retain(|read| read.head.deleted_ms.is_none());
        Ok(reads)
    }

    /// Complete ids of Sessions that start with `prefix`, at most `limit`.
    pub async fn session_ids(
        &self,
        owner: &str,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, EngineError> {
        let sort = keys::session_by_id(prefix);
        self.ids_behind(owner, &sort, limit).await
    }

    /// Complete ids of saved Agents that start with `prefix`, at most `limit`.
    pub async fn agent_ids(
        &self,
        owner: &str,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, EngineError> {
        let sort = keys::agent(prefix);
        self.ids_behind(owner, &sort, limit).await
    }

    async fn ids_behind(
        &self,
        owner: &str,
        sort: &str,
        limit: usize,
    ) -> Result<Vec<String>, EngineError> {
        let range = Range::prefix(keys::owner_partition(owner), sort, limit);
        let page = self.store.range(&range).await?;
        let ids = page
            .records
            .iter()
            .filter_map(|r| r.key.sort.rsplit('/').next());
        Ok(ids.map(str::to_owned).collect())
    }

    /// Saved Agents by creation time.
    pub async fn list_agents(
        &self,
        owner: &str,
        query: &ListQuery,
    ) -> Result<Page<Agent>, EngineError> {
        let partition = keys::owner_partition(owner);
        let after = match &query.after {
            None => None,
            Some(id) => {
                let created = self.agent_created_ms(owner, id).await?;
                created.map(|ms| keys::agent_by_time(ms, id))
            }
        };
        let mut cursor = Cursor::new(partition.clone(), "agents/", after, query);
        let (records, more) = cursor.next(self, query.limit).await?;
        let wanted: Vec<Key> = records
            .iter()
            .filter_map(|r| r.key.sort.rsplit('/').next())
            .map(|id| Key::new(partition.clone(), keys::agent(id)))
            .collect();
        let mut agents = Vec::with_capacity(wanted.len());
        if !wanted.is_empty() {
            for record in self.store.get_many(&wanted).await?.into_iter().flatten() {
                agents.push(decode(&record)?);
            }
        }
        Ok(Page::new(agents, more))
    }

    /// A Turn's number, if the id is one of this Session's.
    pub fn turn_number(&self, read: &SessionRead, id: &str) -> Result<u64, EngineError> {
        ids::number_of(Kind::Turn, &read.id, id)
            .filter(|n| *n >= 1 && *n < read.head.next.turn)
            .ok_or_else(|| EngineError::not_found("turn", id))
    }

    /// A Turn and its row.
    pub async fn get_turn(
        &self,
        read: &SessionRead,
        number: u64,
    ) -> Result<(Turn, TurnRow), EngineError> {
        let row: TurnRow = self
            .row(&read.id, keys::turn(number))
            .await?
            .ok_or_else(|| EngineError::not_found("turn", number.to_string()))?;
        Ok((view::turn(&read.id, &read.config, number, &row), row))
    }

    /// Turns in order of creation.
    pub async fn list_turns(
        &self,
        read: &SessionRead,
        query: &ListQuery,
    ) -> Result<(Page<Turn>, Vec<TurnRow>), EngineError> {
        let after = match &query.after {
            None => None,
            Some(id) => Some(keys::turn(self.turn_number(read, id)?)),
        };
        let mut cursor = Cursor::new(keys::session_partition(&read.id), keys::TURNS, after, query);
        let (records, more) = cursor.next(self, query.limit).await?;
        let mut turns = Vec::with_capacity(records.len());
        let mut rows = Vec::with_capacity(records.len());
        for record in &records {
            let number = keys::number(&record.key.sort, keys::TURNS).unwrap_or_default();
            let row: TurnRow = decode(record)?;
            turns.push(view::turn(&read.id, &read.config, number, &row));
            rows.push(row);
        }
        Ok((Page::new(turns, more), rows))
    }

    /// Items in order, of the whole Session or of one Turn.
    pub async fn list_items(
        &self,
        read: &SessionRead,
        turn: Option<u64>,
        query: &ListQuery,
    ) -> Result<Page<Item>, EngineError> {
        let after = match &query.after {
            None => None,
            // What a subagent did is in its own list.
            Some(id) => match item_number(&read.id, id)? {
                number if subagent::of(number) == 0 => Some(keys::item(number)),
                _ => return Err(EngineError::not_found("item", id)),
            },
        };
        let mut cursor = Cursor::new(keys::session_partition(&read.id), "item/", after, query);
        if let Some(number) = turn {
            let (_, row) = self.get_turn(read, number).await?;
            let Some(first) = row.first_item else {
                return Ok(Page::new(Vec::new(), false));
            };
            cursor.narrow(keys::item(first), row.end_item.map(keys::item));
        }
        let mut found: Vec<(u64, ItemRow)> = Vec::new();
        loop {
            let (records, more) = cursor.next(self, query.limit + 1 - found.len()).await?;
            for record in &records {
                let row: ItemRow = decode(record)?;
                if turn.is_none_or(|number| row.turn == number) {
                    found.push((
                        keys::number(&record.key.sort, "item/").unwrap_or_default(),
                        row,
                    ));
                }
            }
            if found.len() > query.limit || !more {
                break;
            }
        }
        let has_more = found.len() > query.limit;
        found.truncate(query.limit);
        Ok(Page::new(self.item_views(read, found).await?, has_more))
    }

    /// Items by number, those that exist.
    pub async fn items(
        &self,
        read: &SessionRead,
        numbers: &[u64],
    ) -> Result<Vec<Item>, EngineError> {
        let rows: Vec<ItemRow> = self
            .rows(&read.id, numbers.iter().map(|&n| keys::item(n)))
            .await?;
        self.item_views(read, numbers.iter().copied().zip(rows).collect())
            .await
    }

    pub(super) async fn item_views(
        &self,
        read: &SessionRead,
        rows: Vec<(u64, ItemRow)>,
    ) -> Result<Vec<Item>, EngineError> {
        let shown = |row: &ItemRow| match row.body {
            ItemBody::User { input } | ItemBody::FunctionOutput { input, .. } => Some(input),
            ItemBody::Message { .. }
            | ItemBody::Reasoning { .. }
            | ItemBody::Call { .. }
            | ItemBody::WebSearch { .. }
            | ItemBody::Function { .. }
            | ItemBody::FromAgent { .. } => None,
        };
        let inputs: Vec<u64> = rows.iter().filter_map(|(_, row)| shown(row)).collect();
        let mut input_rows = self
            .rows::<InputRow>(&read.id, inputs.into_iter().map(keys::input))
            .await?
            .into_iter();
        let scope = self.scope(&read.head.owner, &read.id);
        let mut items = Vec::with_capacity(rows.len());
        for (number, row) in &rows {
            let input = shown(row).and_then(|_| input_rows.next());
            items.push(
                self.item_view(read, &scope, *number, row, input.as_ref())
                    .await?,
            );
        }
        Ok(items)
    }

    /// Artifacts of ended Turns, of the whole Session or of one Turn.
    pub async fn list_artifacts(
        &self,
        read: &SessionRead,
        turn: Option<u64>,
        query: &ListQuery,
    ) -> Result<Page<SessionArtifact>, EngineError> {
        let after = match &query.after {
            None => None,
            Some(id) => {
                let (turn, n) = artifact_number(&read.id, id)?;
                Some(keys::artifact(turn, n))
            }
        };
        let mut cursor = Cursor::new(keys::session_partition(&read.id), "artifact/", after, query);
        if let Some(turn) = turn {
            cursor.narrow(keys::artifact(turn, 0), Some(keys::artifact(turn + 1, 0)));
        }
        let mut found = Vec::new();
        let mut published: Option<(u64, u64)> = None;
        loop {
            let (records, more) = cursor.next(self, query.limit + 1 - found.len()).await?;
            for record in &records {
                let Some((turn, n)) = artifact_position(&record.key.sort) else {
                    continue;
                };
                if published.is_none_or(|(known, _)| known != turn) {
                    published = Some((turn, self.published(read, turn).await?));
                }
                let row: Option<ArtifactRow> = decode(record)?;
                if let Some(row) = row
                    && published.is_some_and(|(_, count)| n < count)
                {
                    found.push(view::artifact(&read.id, turn, n, &row));
                }
            }
            if found.len() > query.limit || !more {
                break;
            }
        }
        let has_more = found.len() > query.limit;
        found.truncate(query.limit);
        Ok(Page::new(found, has_more))
    }

    /// Artifacts that a Turn published.
    async fn published(&self, read: &SessionRead, turn: u64) -> Result<u64, EngineError> {
        let row: Option<TurnRow> = self.row(&read.id, keys::turn(turn)).await?;
        Ok(row
            .and_then(|row| row.capture)
            .map_or(0, |capture| capture.artifacts))
    }

    /// One Artifact and where its bytes are.
    pub async fn get_artifact(
        &self,
        read: &SessionRead,
        id: &str,
    ) -> Result<(SessionArtifact, ArtifactRow), EngineError> {
        let (turn, n) = artifact_number(&read.id, id)?;
        let missing = || EngineError::not_found("artifact", id);
        if n >= self.published(read, turn).await? {
            return Err(missing());
        }
        let row: Option<Option<ArtifactRow>> = self.row(&read.id, keys::artifact(turn, n)).await?;
        let row = row.flatten().ok_or_else(missing)?;
        Ok((view::artifact(&read.id, turn, n, &row), row))
    }
}

fn matches(read: &SessionRead, filter: &SessionFilter) -> bool {
    let agent = filter
        .agent_id
        .as_ref()
        .is_none_or(|id| read.config.agent.id == *id);
    let status = filter.status.is_empty() || filter.status.contains(&read.head.status());
    let metadata = filter
        .metadata
        .iter()
        .all(|(k, v)| read.config.metadata.get(k) == Some(v));
    agent && status && metadata
}

/// The number of an Item's id, whatever its kind.
pub fn item_number(session: &SessionId, id: &str) -> Result<u64, EngineError> {
    [
        Kind::Message,
        Kind::Reasoning,
        Kind::Command,
        Kind::McpCall,
        Kind::WebSearch,
        Kind::FunctionCall,
        Kind::FunctionOutput,
        Kind::SubagentCall,
    ]
    .into_iter()
    .find_map(|kind| ids::number_of(kind, session, id))
    .ok_or_else(|| EngineError::not_found("item", id))
}

pub(super) fn artifact_number(session: &SessionId, id: &str) -> Result<(u64, u64), EngineError> {
    ids::number_of(Kind::Artifact, session, id)
        .map(of_id_number)
        .ok_or_else(|| EngineError::not_found("artifact", id))
}

fn artifact_position(sort: &str) -> Option<(u64, u64)> {
    let (turn, n) = sort.strip_prefix("artifact/")?.split_once('/')?;
    Some((turn.parse().ok()?, n.parse().ok()?))
}

/// Walks the rows behind a prefix, in either direction, from behind a row.
pub(super) struct Cursor {
    partition: String,
    from: String,
    until: Option<String>,
    reverse: bool,
}

impl Cursor {
    pub(super) fn new(
        partition: String,
        prefix: &str,
        after: Option<String>,
        query: &ListQuery,
    ) -> Cursor {
        let all = Range::prefix(partition, prefix, 1);
        let mut cursor = Cursor {
            partition: all.partition,
            from: all.from,
            until: all.until,
            reverse: !query.ascending,
        };
        if let Some(after) = after {
            cursor.pass(&after);
        }
        cursor
    }

    /// Only rows within these bounds, too.
    pub(super) fn narrow(&mut self, from: String, until: Option<String>) {
        if self.from < from {
            self.from = from;
        }
        if let Some(until) = until
            && self.until.as_ref().is_none_or(|now| *now > until)
        {
            self.until = Some(until);
        }
    }

    fn pass(&mut self, sort: &str) {
        match self.reverse {
            true => self.until = Some(sort.to_owned()),
            false => self.from = format!("{sort}\0"),
        }
    }

    pub(super) async fn next(
        &mut self,
        core: &Core,
        limit: usize,
    ) -> Result<(Vec<Record>, bool), EngineError> {
        let range = Range {
            partition: self.partition.clone(),
            from: self.from.clone(),
            until: self.until.clone(),
            reverse: self.reverse,
            limit: limit.max(1),
        };
        let page = core.store.range(&range).await?;
        if let Some(last) = page.records.last() {
            let sort = last.key.sort.clone();
            self.pass(&sort);
        }
        Ok((page.records, page.more))
    }
}
