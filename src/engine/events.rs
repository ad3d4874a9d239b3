//! Public events, made from the journal: in order, and each once (I16).

use super::core::{Core, decode};
use super::environment;
use super::error::EngineError;
use super::ids::{self, Kind};
use super::journal::{Entry, JournalRow};
use super::keys;
use super::ports::Range;
use super::read::SessionRead;
use super::view;
use crate::api::{
    AgentSession, EnvironmentResetEvent, Event, ItemAddedEvent, ItemDoneEvent, SessionEvent,
    SessionStatus, TurnEndEvent, TurnEvent, TurnStatus,
};

/// Events of one revision at most; part of an event's number.
const PER_REVISION: u64 = 1 << 12;

/// The id behind which everything is newer than the head as it was read. It may be no event's own.
pub fn position(read: &SessionRead) -> String {
    let last = (read.head.revision + 1) * PER_REVISION - 1;
    ids::derived(Kind::Event, &read.id, last)
}

/// The id behind which every event of a Session is. It is no event's own.
pub fn beginning(session: &ids::SessionId) -> String {
    ids::derived(Kind::Event, session, 0)
}

/// Whether events can be asked for behind this id in this Session.
pub fn is_position(read: &SessionRead, id: &str) -> bool {
    ids::number_of(Kind::Event, &read.id, id).is_some()
}

impl Core {
    /// Events behind `after` (from the first without it), and whether more follow.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when `after` is no event of this Session.
    pub async fn list_events(
        &self,
        read: &SessionRead,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Event>, bool), EngineError> {
        let position = match after {
            None => 0,
            Some(id) => ids::number_of(Kind::Event, &read.id, id)
                .ok_or_else(|| EngineError::not_found("event", id))?,
        };
        let mut events = Vec::new();
        let mut from = keys::journal(position / PER_REVISION);
        loop {
            let range = Range {
                partition: keys::session_partition(&read.id),
                from,
                until: Some(keys::journal(u64::MAX / PER_REVISION)),
                reverse: false,
                limit: limit.clamp(1, 256),
            };
            let page = self.store.range(&range).await?;
            for record in &page.records {
                let Some(revision) = keys::number(&record.key.sort, "journal/") else {
                    continue;
                };
                let row: JournalRow = decode(record)?;
                for (at, entry) in row.events.iter().enumerate() {
                    let number = revision * PER_REVISION + at as u64 + 1;
                    if number <= position {
                        continue;
                    }
                    if events.len() == limit {
                        return Ok((events, true));
                    }
                    events.extend(self.event(read, number, entry).await?);
                }
            }
            match page.records.last() {
                Some(last) if page.more => from = format!("{}\0", last.key.sort),
                _ => return Ok((events, false)),
            }
        }
    }

    async fn event(
        &self,
        read: &SessionRead,
        number: u64,
        entry: &Entry,
    ) -> Result<Option<Event>, EngineError> {
        let event_id = ids::derived(Kind::Event, &read.id, number);
        let session_id = read.id.to_string();
        Ok(match entry {
            Entry::Created => Some(Event::SessionCreated(
                self.session_event(read, event_id, None).await?,
            )),
            Entry::Session { s } => {
                let event = self.session_event(read, event_id, Some(*s)).await?;
                Some(match s {
                    SessionStatus::Idle => Event::SessionIdle(event),
                    SessionStatus::InProgress => Event::SessionInProgress(event),
                    SessionStatus::RequiresAction => Event::SessionRequiresAction(event),
                    SessionStatus::Failed => Event::SessionFailed(event),
                    SessionStatus::BudgetReached => Event::SessionBudgetReached(event),
                })
            }
            Entry::Turn { t, s } => self.turn_event(read, event_id, *t, *s).await?,
            Entry::Added { i } => self.item_event(read, event_id, *i, false).await?,
            Entry::Done { i } => self.item_event(read, event_id, *i, true).await?,
            Entry::Environment { s, t, w } => Some(environment::event(
                &read.id,
                environment_id(read),
                event_id,
                (*s, *t, w.as_ref()),
            )),
            Entry::Reset { n } => Some(Event::EnvironmentReset(EnvironmentResetEvent {
                environment_id: environment_id(read),
                event_id,
                reset_count: u64::from(*n),
                session_id,
                turn_id: None,
                obfuscation: None,
            })),
        })
    }

    /// An Item that appeared, or that is `done`; the latter is only told of what an agent made.
    async fn item_event(
        &self,
        read: &SessionRead,
        event_id: String,
        number: u64,
        done: bool,
    ) -> Result<Option<Event>, EngineError> {
        let Some(item) = self.items(read, &[number]).await?.into_iter().next() else {
            return Ok(None);
        };
        let row: super::item::ItemRow = self
            .row(&read.id, keys::item(number))
            .await?
            .ok_or_else(|| EngineError::not_found("item", number.to_string()))?;
        let (session_id, turn_id) = (read.id.to_string(), Some(view::turn_id(&read.id, row.turn)));
        let (output_index, item) = (row.output_index, Box::new(item));
        if !done {
            return Ok(Some(Event::ItemAdded(ItemAddedEvent {
                event_id,
                item,
                output_index,
                session_id,
                turn_id,
                obfuscation: None,
            })));
        }
        Ok(output_index.map(|output_index| {
            Event::ItemDone(ItemDoneEvent {
                event_id,
                item,
                output_index,
                session_id,
                turn_id,
                obfuscation: None,
            })
        }))
    }

    /// The Session as it is, with the status that the event is about.
    async fn session_event(
        &self,
        read: &SessionRead,
        event_id: String,
        status: Option<SessionStatus>,
    ) -> Result<SessionEvent, EngineError> {
        let actions = match status {
            Some(SessionStatus::RequiresAction) => {
                self.required_actions(&read.id, &read.head).await?
            }
            _ => Vec::new(),
        };
        let mut session: AgentSession = view::session(&read.id, &read.head, &read.config, actions);
        session.status = status.unwrap_or(SessionStatus::Idle);
        Ok(SessionEvent {
            event_id,
            session: Box::new(session),
            obfuscation: None,
        })
    }

    async fn turn_event(
        &self,
        read: &SessionRead,
        event_id: String,
        number: u64,
        status: TurnStatus,
    ) -> Result<Option<Event>, EngineError> {
        let (mut turn, _) = self.get_turn(read, number).await?;
        if turn.status != status {
            // The row has moved on since: what it says now was not true yet.
            turn.status = status;
            turn.completed_at = None;
            turn.error = None;
            turn.usage = None;
            if status == TurnStatus::Queued {
                turn.started_at = None;
            }
        }
        let (session_id, turn_id, usage) = (read.id.to_string(), turn.id.clone(), turn.usage);
        let turn = Box::new(turn);
        let ended = |turn, turn_id, session_id, event_id| TurnEndEvent {
            event_id,
            session_id,
            turn,
            turn_id,
            usage,
            obfuscation: None,
        };
        Ok(match status {
            TurnStatus::Queued => Some(Event::TurnCreated(TurnEvent {
                event_id,
                session_id,
                turn,
                turn_id,
                obfuscation: None,
            })),
            TurnStatus::InProgress => Some(Event::TurnInProgress(TurnEvent {
                event_id,
                session_id,
                turn,
                turn_id,
                obfuscation: None,
            })),
            // The wire has no event for it: the Session's own `requires_action` follows.
            TurnStatus::Waiting => None,
            TurnStatus::Completed => Some(Event::TurnCompleted(ended(
                turn, turn_id, session_id, event_id,
            ))),
            TurnStatus::Failed => Some(Event::TurnFailed(ended(
                turn, turn_id, session_id, event_id,
            ))),
            TurnStatus::Cancelled => Some(Event::TurnCancelled(ended(
                turn, turn_id, session_id, event_id,
            ))),
        })
    }
}

fn environment_id(read: &SessionRead) -> String {
    let environment = read.config.environment.as_ref();
    environment.map_or_else(String::new, |environment| environment.id.clone())
}
