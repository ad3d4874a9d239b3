//! The engine in this very process as a [`Deployment`]: one owner's Sessions over one [`Core`].
//!
//! It adds nothing to what the engine does. Ids come as texts here, so one that can't be an id of ours is simply not found.

use std::collections::VecDeque;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::archive::ArchiveError;
use super::core::Core;
use super::error::EngineError;
use super::ids::{self, Kind, SessionId};
use super::overhearing::{Overhearing, ring_of};
use super::ports::{
    Content, Deployment, DeploymentError, EventStream, Goes, LivePart, Matches, Named, Signs, Step,
    Submitted, Told, TurnRead, Watch, Written,
};
use super::position::Position;
use super::read::{ListQuery, SessionFilter, SessionRead};
use super::view;
use super::writing::Writing;
use crate::api::{
    Agent, AgentCreateParams, AgentSession, AgentUpdateParams, Event, InputEvent, Item, Page,
    SessionArtifact, SessionCreateParams, SessionStatus, SessionUpdateParams, Subagent,
};

/// Without a ring, a Session is looked at this often.
const LOOK: Duration = Duration::from_millis(500);
/// Events read at once when they are streamed.
const STEP: usize = 100;
/// Rows of a page when all of them are looked at.
const PAGE: usize = 100;

/// See the module.
#[derive(Clone)]
pub struct Embedded {
    core: Core,
    owner: String,
}

impl Embedded {
    /// This owner's Sessions.
    pub fn new(core: Core, owner: String) -> Embedded {
        Embedded { core, owner }
    }

    async fn read(&self, session: &str) -> Result<SessionRead, EngineError> {
        let id = session_id(session)?;
        self.core.read_session(&self.owner, &id).await
    }

    /// The number of the Turn, if one is named.
    fn turn_number(
        &self,
        read: &SessionRead,
        turn: Option<&str>,
    ) -> Result<Option<u64>, EngineError> {
        turn.map(|id| self.core.turn_number(read, id)).transpose()
    }
}

fn session_id(session: &str) -> Result<SessionId, EngineError> {
    SessionId::parse(session).ok_or_else(|| EngineError::not_found("session", session))
}

#[async_trait]
impl Deployment for Embedded {
    async fn create_agent(&self, params: &AgentCreateParams) -> Told<Agent> {
        Ok(self.core.create_agent(&self.owner, params).await?)
    }

    async fn list_agents(&self, query: &ListQuery) -> Told<Page<Agent>> {
        Ok(self.core.list_agents(&self.owner, query).await?)
    }

    async fn agent(&self, id: &str) -> Told<Agent> {
        Ok(self.core.agent(&self.owner, id).await?.1)
    }

    async fn update_agent(&self, id: &str, params: &AgentUpdateParams) -> Told<Agent> {
        Ok(self.core.update_agent(&self.owner, id, params).await?)
    }

    async fn delete_agent(&self, id: &str) -> Told<()> {
        Ok(self.core.delete_agent(&self.owner, id).await?)
    }

    async fn create_session(&self, key: &str, params: &SessionCreateParams) -> Told<AgentSession> {
        let (core, owner) = (&self.core, &self.owner);
        let created = core.create_session(owner, Some(key), params).await?;
        Ok(core.get_session(owner, &created.session).await?)
    }

    async fn list_sessions(
        &self,
        query: &ListQuery,
        filter: &SessionFilter,
    ) -> Told<Page<AgentSession>> {
        Ok(self.core.list_sessions(&self.owner, query, filter).await?)
    }

    async fn session(&self, id: &str) -> Told<AgentSession> {
        Ok(self.core.get_session(&self.owner, &session_id(id)?).await?)
    }

    async fn update_session(&self, id: &str, params: &SessionUpdateParams) -> Told<AgentSession> {
        let id = session_id(id)?;
        self.core.update_session(&self.owner, &id, params).await?;
        Ok(self.core.get_session(&self.owner, &id).await?)
    }

    async fn delete_session(&self, id: &str) -> Told<()> {
        let id = session_id(id)?;
        Ok(self.core.delete_session(&self.owner, &id).await?)
    }

    async fn imports(&self, id: &str) -> Told<bool> {
        match SessionId::parse(id) {
            Some(id) => Ok(self.core.imports(&self.owner, &id).await?),
            None => Ok(false),
        }
    }

    async fn abandon_import(&self, id: &str) -> Told<bool> {
        let Some(id) = SessionId::parse(id) else {
            return Ok(false);
        };
        let given_up = self.core.abandon_import(&self.owner, &id).await;
        given_up.map_err(|error| match error {
            ArchiveError::Engine(error) => error.into(),
            other => DeploymentError::Engine(EngineError::Unavailable(other.to_string())),
        })
    }

    async fn send(&self, session: &str, key: &str, events: &[InputEvent]) -> Told<Submitted> {
        let id = session_id(session)?;
        let accepted = self.core.send(&self.owner, &id, key, events).await?;
        let receipt = view::receipt(&id, &accepted);
        let turn = receipt.turn_id().map(str::to_owned);
        Ok(Submitted {
            goes: turn.map_or(Goes::Nowhere, Goes::To),
            receipt,
        })
    }

    async fn answered_call(
        &self,
        session: &str,
        key: &str,
        call: Option<&str>,
    ) -> Told<Option<(String, String)>> {
        let id = session_id(session)?;
        let earlier = self.core.answered_call(&id, key).await?;
        let earlier = earlier.filter(|(answered, _)| call.is_none_or(|call| call == answered));
        Ok(earlier.map(|(call, turn)| (call, view::turn_id(&id, turn))))
    }

    async fn list_turns(&self, session: &str, query: &ListQuery) -> Told<Page<TurnRead>> {
        let read = self.read(session).await?;
        let (page, rows) = self.core.list_turns(&read, query).await?;
        let turns = page.data.into_iter().zip(rows);
        let turns = turns.map(|(turn, row)| TurnRead {
            turn,
            row: Some(row),
        });
        Ok(Page::new(turns.collect(), page.has_more))
    }

    async fn turn(&self, session: &str, id: &str) -> Told<TurnRead> {
        let read = self.read(session).await?;
        let number = self.core.turn_number(&read, id)?;
        let (turn, row) = self.core.get_turn(&read, number).await?;
        Ok(TurnRead {
            turn,
            row: Some(row),
        })
    }

    async fn list_items(
        &self,
        session: &str,
        turn: Option<&str>,
        query: &ListQuery,
    ) -> Told<Page<Item>> {
        let read = self.read(session).await?;
        let turn = self.turn_number(&read, turn)?;
        Ok(self.core.list_items(&read, turn, query).await?)
    }

    async fn list_subagents(&self, session: &str, query: &ListQuery) -> Told<Page<Subagent>> {
        let read = self.read(session).await?;
        Ok(self.core.list_subagents(&read, query).await?)
    }

    async fn list_subagent_items(
        &self,
        session: &str,
        subagent: &str,
        query: &ListQuery,
    ) -> Told<Page<Item>> {
        let read = self.read(session).await?;
        let number = self.core.subagent_number(&read, subagent)?;
        let items = self.core.list_subagent_items(&read, number, None, query);
        Ok(items.await?)
    }

    async fn list_artifacts(
        &self,
        session: &str,
        turn: Option<&str>,
        query: &ListQuery,
    ) -> Told<Page<SessionArtifact>> {
        let read = self.read(session).await?;
        let turn = self.turn_number(&read, turn)?;
        Ok(self.core.list_artifacts(&read, turn, query).await?)
    }

    async fn artifact(&self, session: &str, id: &str) -> Told<Content> {
        let read = self.read(session).await?;
        let (artifact, row) = self.core.get_artifact(&read, id).await?;
        let scope = self.core.scope(&self.owner, &read.id);
        let opened = self.core.blobs.open(&scope, &row.blob, 0).await;
        Ok(Content {
            artifact,
            bytes: opened.map_err(EngineError::from)?,
            sha256: Some(row.blob.sha256),
        })
    }

    async fn delete_artifact(&self, session: &str, id: &str) -> Told<()> {
        let session = session_id(session)?;
        let deleted = self.core.delete_artifact(&self.owner, &session, id);
        Ok(deleted.await?)
    }

    async fn list_events(
        &self,
        session: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Told<(Vec<Event>, bool)> {
        let read = self.read(session).await?;
        Ok(self.core.list_events(&read, after, limit).await?)
    }

    async fn stream_events(
        &self,
        session: &str,
        after: Option<String>,
    ) -> Told<Box<dyn EventStream>> {
        let id = session_id(session)?;
        // Before the head is read: what changes after that is heard.
        let rings = self.core.bell.listen();
        let overhearing = Overhearing::begin(&self.core, &id);
        let read = self.core.read_session(&self.owner, &id).await?;
        Ok(Box::new(Streaming {
            of: self.clone(),
            at: match &after {
                None => Position::START,
                Some(id) => Position::parse(&read.id, id)
                    .ok_or_else(|| EngineError::not_found("event", id.as_str()))?,
            },
            read,
            writing: Writing::default(),
            rings,
            overhearing,
            ready: VecDeque::new(),
            then: Then::Look,
        }))
    }

    async fn watch(&self, session: &str, writing: bool) -> Told<Box<dyn Watch>> {
        let session = session_id(session)?;
        Ok(Box::new(Watching {
            rings: self.core.bell.listen(),
            overhearing: match writing {
                true => Overhearing::begin(&self.core, &session),
                false => Overhearing::nothing(),
            },
            of: self.clone(),
            session,
        }))
    }

    fn has_other_ids(&self) -> bool {
        false
    }

    async fn ids(&self, of: Named<'_>, prefix: &str, limit: usize) -> Told<Matches> {
        let (core, owner) = (&self.core, &self.owner);
        let found = match of {
            Named::Session => core.session_ids(owner, prefix, limit).await?,
            Named::Agent => core.agent_ids(owner, prefix, limit).await?,
            Named::Turn(session) => {
                let read = self.read(session).await?;
                let ids = (1..read.head.next.turn).map(|n| view::turn_id(&read.id, n));
                let ids = ids.filter(|id| id.starts_with(prefix));
                ids.take(limit).collect()
            }
            Named::Artifact(session) => self.artifact_ids(session, prefix, limit).await?,
        };
        Ok(Matches {
            found,
            gave_up_behind: None,
        })
    }
}

impl Embedded {
    async fn artifact_ids(
        &self,
        session: &str,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, EngineError> {
        let read = self.read(session).await?;
        let mut found = Vec::new();
        let mut query = ListQuery {
            limit: PAGE,
            ..ListQuery::default()
        };
        loop {
            let page = self.core.list_artifacts(&read, None, &query).await?;
            let ids = page.data.into_iter().map(|artifact| artifact.id);
            found.extend(ids.filter(|id| id.starts_with(prefix)));
            query.after = page.last_id;
            if !page.has_more || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }
}

/// A Session that is watched through its bell.
struct Watching {
    of: Embedded,
    session: SessionId,
    rings: mpsc::Receiver<String>,
    overhearing: Overhearing,
}

#[async_trait]
impl Watch for Watching {
    async fn changed(&mut self) -> Told<Signs> {
        tokio::select! {
            () = ring_of(&mut self.rings, &self.session) => return Ok(Signs::default()),
            () = tokio::time::sleep(LOOK) => return Ok(Signs::default()),
            () = self.overhearing.some() => {}
        }
        // The head is read after the text came: it says whether the text may be shown (I4).
        let loaded = self
            .of
            .core
            .load_owned(&self.of.owner, &self.session)
            .await?;
        let heard = self.overhearing.judge(&loaded.head).into_iter();
        let written = heard.map(|heard| Written {
            item_id: ids::derived(item_kind(heard.text.part), &self.session, heard.text.item),
            part: heard.text.part,
            text: heard.text.text,
            joins: heard.joins,
        });
        Ok(Signs {
            written: written.collect(),
            notes: Vec::new(),
        })
    }
}

fn item_kind(part: LivePart) -> Kind {
    match part {
        LivePart::Message => Kind::Message,
        LivePart::Summary(_) => Kind::Reasoning,
        LivePart::Output => Kind::Command,
    }
}

/// The journal as a stream, with text that is being written in between.
struct Streaming {
    of: Embedded,
    read: SessionRead,
    at: Position,
    writing: Writing,
    rings: mpsc::Receiver<String>,
    overhearing: Overhearing,
    ready: VecDeque<Event>,
    then: Then,
}

/// What a stream does when nothing is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// Look at what there is.
    Look,
    /// Wait for more.
    Wait,
    /// End.
    End,
}

#[async_trait]
impl EventStream for Streaming {
    async fn next(&mut self) -> Told<Option<Step>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(Step::Event(Box::new(event))));
            }
            match self.then {
                Then::End => return Ok(None),
                Then::Look => self.look().await?,
                Then::Wait => {
                    tokio::select! {
                        () = ring_of(&mut self.rings, &self.read.id) => {}
                        () = tokio::time::sleep(LOOK) => {}
                        () = self.overhearing.some() => {}
                    }
                    // What the head says now has its events in the journal already.
                    let (core, owner) = (&self.of.core, &self.of.owner);
                    self.read = core.read_session(owner, &self.read.id).await?;
                    self.then = Then::Look;
                }
            }
        }
    }
}

impl Streaming {
    async fn look(&mut self) -> Result<(), EngineError> {
        let (core, read) = (&self.of.core, &self.read);
        let (events, more) = core.events_behind(read, self.at, STEP).await?;
        if let Some(last) = events.last() {
            // Every event's id says where it stands.
            self.at = Position::parse(&read.id, last.event_id()).unwrap_or(self.at);
        }
        self.ready.extend(events);
        if more {
            self.then = Then::Look;
            return Ok(());
        }
        // By the head that was read after they came, and behind the events that it has: no text comes later than its Item.
        for heard in self.overhearing.judge_in_turn(&read.head) {
            let next = read.head.next.item;
            let told = self.writing.tell(&read.id, &mut self.at, next, &heard);
            self.ready.extend(told);
        }
        self.then = match read.head.status() {
            SessionStatus::InProgress => Then::Wait,
            _ => Then::End,
        };
        Ok(())
    }
}
