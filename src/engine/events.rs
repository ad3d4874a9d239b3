//! Public events, made from the journal: in order, and each once (I16).

use super::core::{Core, decode};
use super::environment;
use super::error::EngineError;
use super::ids;
use super::item::ItemRow;
use super::journal::{Entry, JournalRow};
use super::keys;
use super::ports::{Key, Range};
use super::position::{Position, Written};
use super::read::SessionRead;
use super::steps::{self, Place};
use super::view;
use super::weight::json_bytes;
use crate::api::{
    AgentSession, EnvironmentResetEvent, Event, Item, ItemAddedEvent, ItemDoneEvent,
    MessageContent, SessionEvent, SessionStatus, TurnEndEvent, TurnEvent, TurnStatus,
};

/// Texts of the events that are read at once; a longer one comes alone.
const TEXT_BYTES: usize = 1 << 20;

/// An Item that was read.
struct Shown {
    number: u64,
    row: ItemRow,
    item: Item,
}

/// Events as they are read, behind where the reader stands.
struct Telling<'a> {
    core: &'a Core,
    read: &'a SessionRead,
    at: Position,
    /// Most Items are told twice in a row.
    shown: Option<Shown>,
}

impl Core {
    /// Where somebody stands who has been told everything up to the head as it was read.
    ///
    /// # Errors
    /// The store's.
    pub async fn last_position(&self, read: &SessionRead) -> Result<Position, EngineError> {
        let mut until = keys::journal(read.head.revision + 1);
        loop {
            let range = Range {
                partition: keys::session_partition(&read.id),
                from: keys::journal(0),
                until: Some(until),
                reverse: true,
                limit: 1,
            };
            let page = self.store.range(&range).await?;
            let Some(record) = page.records.first() else {
                return Ok(Position::START);
            };
            let row: JournalRow = decode(record)?;
            let revision = keys::number(&record.key.sort, "journal/").unwrap_or_default();
            if let Some(last) = row.events.iter().rposition(is_told) {
                return Ok(Position::behind(Position::entry_number(revision, last)));
            }
            until = record.key.sort.clone();
        }
    }

    /// Events behind `after` (from the first without it) up to the head as it was read, and whether more of them follow. At most
    /// `limit`, and fewer when they are long.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when `after` is no event of this Session.
    pub async fn list_events(
        &self,
        read: &SessionRead,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Event>, bool), EngineError> {
        let at = match after {
            None => Position::START,
            Some(id) => {
                Position::parse(&read.id, id).ok_or_else(|| EngineError::not_found("event", id))?
            }
        };
        self.events_behind(read, at, limit).await
    }

    /// The same for somebody who stands at `at`.
    ///
    /// # Errors
    /// The store's, and a record that can't be read.
    pub async fn events_behind(
        &self,
        read: &SessionRead,
        at: Position,
        limit: usize,
    ) -> Result<(Vec<Event>, bool), EngineError> {
        let mut from = keys::journal(at.revision());
        let mut telling = Telling {
            core: self,
            read,
            at,
            shown: None,
        };
        let mut events: Vec<Event> = Vec::new();
        let mut text_bytes = 0;
        loop {
            let range = Range {
                partition: keys::session_partition(&read.id),
                from,
                until: Some(keys::journal(read.head.revision + 1)),
                reverse: false,
                limit: limit.clamp(1, 256),
            };
            let page = self.store.range(&range).await?;
            for record in &page.records {
                let Some(revision) = keys::number(&record.key.sort, "journal/") else {
                    continue;
                };
                let row: JournalRow = decode(record)?;
                for (place, entry) in row.events.iter().enumerate() {
                    let number = Position::entry_number(revision, place);
                    if telling.at.has_told(number) {
                        continue;
                    }
                    let rest = &row.events[place + 1..];
                    for event in telling.entry(number, entry, rest).await? {
                        if events.len() == limit || text_bytes >= TEXT_BYTES {
                            return Ok((events, true));
                        }
                        text_bytes += text_bytes_of(&event);
                        events.push(event);
                    }
                }
            }
            match page.records.last() {
                Some(last) if page.more => from = format!("{}\0", last.key.sort),
                _ => return Ok((events, false)),
            }
        }
    }
}

/// Whether an entry is an event of the wire. It has none for a Turn that waits: the Session's own `requires_action` follows.
fn is_told(entry: &Entry) -> bool {
    !matches!(
        entry,
        Entry::Turn {
            s: TurnStatus::Waiting,
            ..
        }
    )
}

/// About how much text an event carries; nothing of the small ones.
fn text_bytes_of(event: &Event) -> usize {
    let of_item = |item: &Item| match item {
        Item::Message(message) => {
            let parts = message.content.iter().map(|part| match part {
                MessageContent::InputText { text } | MessageContent::OutputText { text } => {
                    text.len()
                }
                MessageContent::InputImage { image_url } => image_url.len(),
            });
            parts.sum()
        }
        Item::CommandExecution(command) => command.output.as_ref().map_or(0, String::len),
        Item::McpCall(call) => json_bytes(&call.output),
        Item::Reasoning(reasoning) => reasoning.summary.iter().map(|part| part.text.len()).sum(),
        // What a client sent or a model wrote in one call is bounded by those.
        _ => 0,
    };
    match event {
        Event::ItemAdded(event) => of_item(&event.item),
        Event::ItemDone(event) => of_item(&event.item),
        Event::OutputTextDone(event) => event.text.len(),
        Event::ContentPartDone(event) => event.part.text.len(),
        Event::ReasoningSummaryTextDone(event) => event.text.len(),
        Event::ReasoningSummaryPartDone(event) => event.part.text.len(),
        _ => 0,
    }
}

impl Telling<'_> {
    /// The events of the next entry; `rest` are those behind it in its revision.
    async fn entry(
        &mut self,
        number: u64,
        entry: &Entry,
        rest: &[Entry],
    ) -> Result<Vec<Event>, EngineError> {
        if let Entry::Added { i } = entry
            && let Some((kind, steps)) = self.steps(*i).await?
        {
            self.at = self.at.told(number, entry, Some(kind));
            return Ok(steps);
        }
        let at = self.at.told(number, entry, None);
        let event = self.event(at.id(&self.read.id), entry, rest).await?;
        if event.is_some() {
            self.at = at;
        }
        Ok(event.into_iter().collect())
    }

    /// What an Item begins with that is told in steps, without those that were told before; `None` for other Items.
    async fn steps(&mut self, number: u64) -> Result<Option<(Written, Vec<Event>)>, EngineError> {
        let (at, read) = (self.at, self.read);
        let Shown { row, item, .. } = self.show(number).await?;
        let Some(kind) = Written::of(&row.body) else {
            return Ok(None);
        };
        let id = ids::derived(row.body.id_kind(), &read.id, number);
        let place = Place {
            session: &read.id,
            turn: row.turn,
            ahead: 0,
            item: &id,
            output_index: row.output_index.unwrap_or_default(),
        };
        let told = usize::try_from(at.steps(0, kind)).unwrap_or(usize::MAX);
        let steps = steps::steps(at, &place, item).into_iter();
        Ok(Some((kind, steps.skip(told).collect())))
    }

    /// An Item as it is now.
    async fn show(&mut self, number: u64) -> Result<&Shown, EngineError> {
        let shown = match self.shown.take() {
            Some(shown) if shown.number == number => shown,
            _ => self.core.shown_item(self.read, number).await?,
        };
        Ok(self.shown.insert(shown))
    }

    async fn event(
        &mut self,
        event_id: String,
        entry: &Entry,
        rest: &[Entry],
    ) -> Result<Option<Event>, EngineError> {
        let read = self.read;
        let session_id = read.id.to_string();
        Ok(match entry {
            Entry::Created => Some(Event::SessionCreated(
                self.core.session_event(read, event_id, None).await?,
            )),
            Entry::Session { s } => {
                let event = self.core.session_event(read, event_id, Some(*s)).await?;
                Some(match s {
                    SessionStatus::Idle => Event::SessionIdle(event),
                    SessionStatus::InProgress => Event::SessionInProgress(event),
                    SessionStatus::RequiresAction => Event::SessionRequiresAction(event),
                    SessionStatus::Failed => Event::SessionFailed(event),
                    SessionStatus::BudgetReached => Event::SessionBudgetReached(event),
                })
            }
            Entry::Turn { t, s } => self.core.turn_event(read, event_id, *t, *s).await?,
            Entry::Added { i } => {
                let ended = rest.contains(&Entry::Done { i: *i });
                self.added(event_id, *i, ended).await?
            }
            Entry::Done { i } => self.done(event_id, *i).await?,
            Entry::Subagent { n, s } => {
                Some(self.core.subagent_event(read, event_id, *n, *s).await?)
            }
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

    /// An Item that is told at once appeared; `ended`: it was over in the same moment.
    async fn added(
        &mut self,
        event_id: String,
        number: u64,
        ended: bool,
    ) -> Result<Option<Event>, EngineError> {
        let session = &self.read.id;
        let Shown { row, item, .. } = self.show(number).await?;
        Ok(Some(Event::ItemAdded(ItemAddedEvent {
            event_id,
            item: Box::new(steps::as_begun(item.clone(), ended)),
            output_index: row.output_index,
            session_id: session.to_string(),
            turn_id: Some(view::turn_id(session, row.turn)),
            obfuscation: None,
        })))
    }

    /// An Item is whole: told only of what an agent made.
    async fn done(&mut self, event_id: String, number: u64) -> Result<Option<Event>, EngineError> {
        let session = &self.read.id;
        let Shown { row, item, .. } = self.show(number).await?;
        let Some(output_index) = row.output_index else {
            return Ok(None);
        };
        Ok(Some(Event::ItemDone(ItemDoneEvent {
            event_id,
            item: Box::new(item.clone()),
            output_index,
            session_id: session.to_string(),
            turn_id: Some(view::turn_id(session, row.turn)),
            obfuscation: None,
        })))
    }
}

impl Core {
    async fn shown_item(&self, read: &SessionRead, number: u64) -> Result<Shown, EngineError> {
        let missing = || {
            let key = Key::new(keys::session_partition(&read.id), keys::item(number));
            EngineError::damaged(&key, "it is missing")
        };
        let row: Option<ItemRow> = self.row(&read.id, keys::item(number)).await?;
        let row = row.ok_or_else(missing)?;
        let views = self.item_views(read, vec![(number, row.clone())]).await?;
        let item = views.into_iter().next().ok_or_else(missing)?;
        Ok(Shown { number, row, item })
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
        session.error = session
            .error
            .filter(|_| session.status == SessionStatus::Failed);
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
