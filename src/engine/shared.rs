//! Shared work: what agents of a Session did to one another, and its subagents, as the Agents API shows them.

use super::core::{Core, decode};
use super::error::EngineError;
use super::history::as_text;
use super::ids::{self, Kind};
use super::item::{Delegation, ItemRow};
use super::keys;
use super::read::{Cursor, ListQuery, SessionRead, item_number};
use super::subagent::{self, SubagentRow, SubagentState, split, within};
use super::turn::TurnRow;
use super::view;
use crate::api::{
    AgentContent, AgentMessageItem, CallStatus, CreateSubagentCallItem, Event, Item, Page,
    SendSubagentInputCallItem, Subagent, SubagentCallItem, SubagentEvent, SubagentObject,
    SubagentStatus, Turn, WaitForSubagentsCallItem,
};

/// The id of an agent: the root one, which is 0, or a subagent.
fn agent_id(read: &SessionRead, number: u64) -> String {
    match number {
        0 => read.config.agent.id.clone(),
        subagent => ids::derived(Kind::Subagent, &read.id, subagent),
    }
}

fn parts(text: Option<String>) -> Vec<AgentContent> {
    let text = text.map(|text| AgentContent::OutputText { text });
    text.into_iter().collect()
}

/// What another agent told the one whose Item `number` is.
pub(super) fn message(
    read: &SessionRead,
    number: u64,
    id: String,
    (from, text): (u64, String),
    turn_id: String,
) -> Item {
    Item::AgentMessage(AgentMessageItem {
        id,
        content: parts(Some(text)),
        recipient_agent_id: agent_id(read, subagent::of(number)),
        sender_agent_id: agent_id(read, from),
        turn_id,
    })
}

/// A call that does something to other agents; `told` is its text.
pub(super) fn call(
    read: &SessionRead,
    number: u64,
    id: String,
    (what, told, status): (&Delegation, Option<String>, CallStatus),
    turn_id: String,
) -> Item {
    let by = agent_id(read, subagent::of(number));
    let content = parts(told);
    match what {
        Delegation::Create { model, effort, .. } => {
            Item::CreateSubagentCall(CreateSubagentCallItem {
                id,
                agent_id: by,
                content,
                model: model.clone(),
                reasoning_effort: effort.clone(),
                status,
                turn_id,
            })
        }
        Delegation::Send { to, .. } => Item::SendSubagentInputCall(SendSubagentInputCallItem {
            id,
            content,
            recipient_agent_id: to.clone(),
            sender_agent_id: by,
            status,
            turn_id,
        }),
        Delegation::Wait { to } => Item::WaitForSubagentsCall(WaitForSubagentsCallItem {
            id,
            recipient_agent_ids: to.clone(),
            sender_agent_id: by,
            status,
            turn_id,
        }),
        Delegation::Resume { to } => {
            Item::ResumeSubagentCall(one_call(id, to, by, status, turn_id))
        }
        Delegation::Interrupt { to } => {
            Item::InterruptSubagentCall(one_call(id, to, by, status, turn_id))
        }
        Delegation::Close { to } => Item::CloseSubagentCall(one_call(id, to, by, status, turn_id)),
    }
}

fn one_call(
    id: String,
    to: &str,
    by: String,
    status: CallStatus,
    turn_id: String,
) -> SubagentCallItem {
    SubagentCallItem {
        id,
        recipient_agent_id: to.to_owned(),
        sender_agent_id: by,
        status,
        turn_id,
    }
}

impl Core {
    async fn subagent_view(
        &self,
        read: &SessionRead,
        number: u64,
        row: &SubagentRow,
    ) -> Result<Subagent, EngineError> {
        let instructions = match &row.instructions {
            Some(body) => {
                let scope = self.scope(&read.head.owner, &read.id);
                let text = as_text(self.fetch(&scope, body).await?);
                Some(parts(Some(text)))
            }
            None => None,
        };
        Ok(Subagent {
            id: agent_id(read, number),
            closed_at: row.closed_ms.map(|ms| ms / 1000),
            instructions,
            name: row.name.clone(),
            object: SubagentObject::Only,
            opened_at: row.opened_ms / 1000,
            parent_agent_id: agent_id(read, row.parent),
            session_id: read.id.to_string(),
            status: match row.closed_ms {
                Some(_) => SubagentStatus::Closed,
                None => SubagentStatus::Active,
            },
        })
    }

    /// The number of a subagent, if the id is one of this Session's.
    ///
    /// # Errors
    /// [`EngineError::NotFound`].
    pub fn subagent_number(&self, read: &SessionRead, id: &str) -> Result<u64, EngineError> {
        ids::number_of(Kind::Subagent, &read.id, id)
            .filter(|n| *n >= 1 && *n < read.head.next.subagent)
            .ok_or_else(|| EngineError::not_found("subagent", id))
    }

    async fn subagent_row(
        &self,
        read: &SessionRead,
        number: u64,
    ) -> Result<SubagentRow, EngineError> {
        let row = self.row(&read.id, keys::subagent(number)).await?;
        row.ok_or_else(|| EngineError::not_found("subagent", number.to_string()))
    }

    /// A subagent.
    ///
    /// # Errors
    /// [`EngineError::NotFound`], and the store's.
    pub async fn get_subagent(
        &self,
        read: &SessionRead,
        number: u64,
    ) -> Result<Subagent, EngineError> {
        let row = self.subagent_row(read, number).await?;
        self.subagent_view(read, number, &row).await
    }

    /// Subagents in the order in which they were started, those that are closed, too.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the id to continue behind is none, and the store's.
    pub async fn list_subagents(
        &self,
        read: &SessionRead,
        query: &ListQuery,
    ) -> Result<Page<Subagent>, EngineError> {
        let after = match &query.after {
            None => None,
            Some(id) => Some(keys::subagent(self.subagent_number(read, id)?)),
        };
        if read.head.next.subagent == 1 {
            return Ok(Page::new(Vec::new(), false));
        }
        let partition = keys::session_partition(&read.id);
        let mut cursor = Cursor::new(partition, "subagent/", after, query);
        let (records, more) = cursor.next(self, query.limit).await?;
        let mut subagents = Vec::with_capacity(records.len());
        for record in &records {
            let number = keys::number(&record.key.sort, "subagent/").unwrap_or_default();
            let row: SubagentRow = decode(record)?;
            subagents.push(self.subagent_view(read, number, &row).await?);
        }
        Ok(Page::new(subagents, more))
    }

    /// The number of a subagent's Turn, if the id is one of its.
    ///
    /// # Errors
    /// [`EngineError::NotFound`].
    pub fn subagent_turn_number(
        &self,
        read: &SessionRead,
        subagent: u64,
        id: &str,
    ) -> Result<u64, EngineError> {
        ids::number_of(Kind::Turn, &read.id, id)
            .filter(|number| split(*number).is_some_and(|(of, n)| of == subagent && n >= 1))
            .ok_or_else(|| EngineError::not_found("turn", id))
    }

    /// A subagent's Turns in order.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the id to continue behind is none of its Turns, and the store's.
    pub async fn list_subagent_turns(
        &self,
        read: &SessionRead,
        subagent: u64,
        query: &ListQuery,
    ) -> Result<Page<Turn>, EngineError> {
        let after = match &query.after {
            None => None,
            Some(id) => Some(keys::turn(self.subagent_turn_number(read, subagent, id)?)),
        };
        let partition = keys::session_partition(&read.id);
        let mut cursor = Cursor::new(partition, keys::SUBAGENT_TURN, after, query);
        cursor.narrow(
            keys::turn(within(subagent, 0)),
            Some(keys::turn(within(subagent + 1, 0))),
        );
        let (records, more) = cursor.next(self, query.limit).await?;
        let mut turns = Vec::with_capacity(records.len());
        for record in &records {
            let number = keys::parse_turn(&record.key.sort).unwrap_or_default();
            let row: TurnRow = decode(record)?;
            turns.push(view::turn(&read.id, &read.config, number, &row));
        }
        Ok(Page::new(turns, more))
    }

    /// A subagent's Items in order; of one of its Turns, if that is named.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the Turn is not there or the id to continue behind is none of its Items, and the store's.
    pub async fn list_subagent_items(
        &self,
        read: &SessionRead,
        subagent: u64,
        turn: Option<u64>,
        query: &ListQuery,
    ) -> Result<Page<Item>, EngineError> {
        let after = match &query.after {
            None => None,
            Some(id) => match item_number(&read.id, id)? {
                number if subagent::of(number) == subagent => Some(keys::item(number)),
                _ => return Err(EngineError::not_found("item", id)),
            },
        };
        let partition = keys::session_partition(&read.id);
        let mut cursor = Cursor::new(partition, keys::SUBAGENT_ITEM, after, query);
        let (mut first, mut end) = (within(subagent, 0), within(subagent + 1, 0));
        if let Some(turn) = turn {
            let (_, row) = self.get_turn(read, turn).await?;
            first = row.first_item.unwrap_or(first);
            end = row.end_item.unwrap_or(end);
        }
        cursor.narrow(keys::item(first), Some(keys::item(end)));
        let (records, more) = cursor.next(self, query.limit).await?;
        let mut rows: Vec<(u64, ItemRow)> = Vec::with_capacity(records.len());
        for record in &records {
            let number = keys::parse_item(&record.key.sort).unwrap_or_default();
            rows.push((number, decode(record)?));
        }
        Ok(Page::new(self.item_views(read, rows).await?, more))
    }

    /// What the journal tells of a subagent.
    pub(super) async fn subagent_event(
        &self,
        read: &SessionRead,
        event_id: String,
        number: u64,
        state: SubagentState,
    ) -> Result<Event, EngineError> {
        let mut subagent = self.get_subagent(read, number).await?;
        if state != SubagentState::Closed {
            // Its row has moved on since: what it says now was not true yet.
            subagent.status = SubagentStatus::Active;
            subagent.closed_at = None;
        }
        let event = SubagentEvent {
            event_id,
            subagent,
            obfuscation: None,
        };
        Ok(match state {
            SubagentState::Created => Event::SubagentCreated(event),
            SubagentState::Active => Event::SubagentActive(event),
            SubagentState::Closed => Event::SubagentClosed(event),
        })
    }
}
