//! The demo world as the port that screens and commands use.

use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use super::shown::{self, AGENTS};
use super::watching::Watching;
use super::{Demo, Here, Shared};
use crate::api::{
    Agent, AgentCreateParams, AgentSession, AgentUpdateParams, Event, InputEvent, Item, Page,
    SessionArtifact, SessionCreateParams, SessionUpdateParams, Subagent,
};
use crate::engine::error::EngineError;
use crate::engine::ids::{self, Kind};
use crate::engine::ports::{
    Content, Deployment, DeploymentError, EventStream, Matches, Named, Submitted, Told, TurnRead,
    Watch,
};
use crate::engine::read::{ListQuery, SessionFilter};

/// Sessions whose ids are compared with what was typed.
const IDS_LOOKED_AT: u64 = 100_000;

fn lacks<T>(what: &str) -> Told<T> {
    Err(DeploymentError::Lacks {
        message: format!("a made-up world has no {what}"),
        instead: "without --demo there is one".to_owned(),
    })
}

/// Numbers from `from` up to `end`, or down from there, behind `after`, those that `is_one`, one more than a page has.
fn numbers(
    query: &ListQuery,
    all: std::ops::Range<u64>,
    after: Option<u64>,
    is_one: impl Fn(u64) -> bool,
) -> (Vec<u64>, bool) {
    let mut found: Vec<u64> = match query.ascending {
        true => {
            let from = after.map_or(all.start, |at| at + 1);
            let numbers = from..all.end;
            numbers
                .filter(|n| is_one(*n))
                .take(query.limit + 1)
                .collect()
        }
        false => {
            let numbers = all.start..after.unwrap_or(all.end);
            let numbers = numbers.rev().filter(|n| is_one(*n));
            numbers.take(query.limit + 1).collect()
        }
    };
    let more = found.len() > query.limit;
    found.truncate(query.limit);
    (found, more)
}

impl Shared {
    /// The number of a saved Agent.
    pub(super) fn agent_number(&self, id: &str) -> Result<u64, EngineError> {
        ids::number_of(Kind::Agent, &self.root, id)
            .filter(|number| *number < AGENTS)
            .ok_or_else(|| EngineError::not_found("agent", id))
    }

    fn list(&self, query: &ListQuery, filter: &SessionFilter) -> Told<Page<AgentSession>> {
        self.count_page();
        let meanwhile = self.meanwhile();
        let after = query.after.as_deref();
        let after = after.map(|id| self.number(&meanwhile, id)).transpose()?;
        let is_wanted = |number: u64| {
            if meanwhile.deleted.contains(&number) {
                return false;
            }
            if *filter == SessionFilter::default() {
                return true;
            }
            let here = self.here(&meanwhile, number);
            let by_status = filter.status.is_empty() || filter.status.contains(&here.status());
            by_status && {
                let shown = here.session(self);
                let metadata = &shown.metadata;
                filter
                    .agent_id
                    .as_ref()
                    .is_none_or(|id| *id == shown.agent.id)
                    && filter
                        .metadata
                        .iter()
                        .all(|(k, v)| metadata.get(k) == Some(v))
            }
        };
        let (found, more) = numbers(query, 0..self.end(&meanwhile), after, is_wanted);
        let rows = found
            .into_iter()
            .map(|number| self.here(&meanwhile, number).session(self));
        Ok(Page::new(rows.collect(), more))
    }

    fn turn_number(&self, here: &Here, id: &str) -> Result<u64, EngineError> {
        ids::number_of(Kind::Turn, &here.id, id)
            .filter(|turn| (1..=here.turns()).contains(turn))
            .ok_or_else(|| EngineError::not_found("turn", id))
    }

    fn files(&self, session: &str) -> Result<Vec<(SessionArtifact, Vec<u8>)>, EngineError> {
        let mut files = self.find(session)?.artifacts(self);
        let meanwhile = self.meanwhile();
        files.retain(|(file, _)| !meanwhile.files_deleted.contains(&file.id));
        Ok(files)
    }

    fn file(&self, session: &str, id: &str) -> Result<(SessionArtifact, Vec<u8>), EngineError> {
        let files = self.files(session)?;
        let found = files.into_iter().find(|(file, _)| file.id == id);
        found.ok_or_else(|| EngineError::not_found("artifact", id))
    }
}

#[async_trait]
impl Deployment for Demo {
    async fn create_agent(&self, _: &AgentCreateParams) -> Told<Agent> {
        lacks("place for new Agents")
    }

    async fn list_agents(&self, query: &ListQuery) -> Told<Page<Agent>> {
        let shared = &self.shared;
        let after = query.after.as_deref();
        let after = after.map(|id| shared.agent_number(id)).transpose()?;
        let (found, more) = numbers(query, 0..AGENTS, after, |_| true);
        let rows = found.into_iter().map(|number| shown::agent(shared, number));
        Ok(Page::new(rows.collect(), more))
    }

    async fn agent(&self, id: &str) -> Told<Agent> {
        let number = self.shared.agent_number(id)?;
        Ok(shown::agent(&self.shared, number))
    }

    async fn update_agent(&self, _: &str, _: &AgentUpdateParams) -> Told<Agent> {
        lacks("Agents that change")
    }

    async fn delete_agent(&self, _: &str) -> Told<()> {
        lacks("Agents that go")
    }

    async fn create_session(&self, key: &str, params: &SessionCreateParams) -> Told<AgentSession> {
        let number = self.shared.create(key, params)?;
        self.session(&self.shared.session_id(number)).await
    }

    async fn list_sessions(
        &self,
        query: &ListQuery,
        filter: &SessionFilter,
    ) -> Told<Page<AgentSession>> {
        self.shared.list(query, filter)
    }

    async fn session(&self, id: &str) -> Told<AgentSession> {
        Ok(self.shared.find(id)?.session(&self.shared))
    }

    async fn update_session(&self, id: &str, params: &SessionUpdateParams) -> Told<AgentSession> {
        let before = self.session(id).await?.metadata;
        let here = self.shared.change(id, |meanwhile, number| {
            let mut metadata = before;
            params.metadata.clone().apply_or_default(&mut metadata);
            meanwhile.metadata.insert(number, metadata);
        })?;
        Ok(here.session(&self.shared))
    }

    async fn delete_session(&self, id: &str) -> Told<()> {
        self.shared.change(id, |meanwhile, number| {
            meanwhile.deleted.insert(number);
        })?;
        Ok(())
    }

    async fn imports(&self, _: &str) -> Told<bool> {
        Ok(false)
    }

    async fn abandon_import(&self, _: &str) -> Told<bool> {
        Ok(false)
    }

    async fn send(&self, session: &str, key: &str, events: &[InputEvent]) -> Told<Submitted> {
        Ok(self.shared.submit(session, key, events)?)
    }

    async fn answered_call(
        &self,
        _: &str,
        _: &str,
        _: Option<&str>,
    ) -> Told<Option<(String, String)>> {
        Ok(None)
    }

    async fn list_turns(&self, session: &str, query: &ListQuery) -> Told<Page<TurnRead>> {
        let here = self.shared.find(session)?;
        let after = query.after.as_deref();
        let after = after
            .map(|id| self.shared.turn_number(&here, id))
            .transpose()?;
        let (found, more) = numbers(query, 1..here.turns() + 1, after, |_| true);
        let rows = found.into_iter().map(|turn| TurnRead {
            turn: here.turn(&self.shared, turn),
            row: None,
        });
        Ok(Page::new(rows.collect(), more))
    }

    async fn turn(&self, session: &str, id: &str) -> Told<TurnRead> {
        let here = self.shared.find(session)?;
        let turn = self.shared.turn_number(&here, id)?;
        Ok(TurnRead {
            turn: here.turn(&self.shared, turn),
            row: None,
        })
    }

    async fn list_items(
        &self,
        session: &str,
        turn: Option<&str>,
        query: &ListQuery,
    ) -> Told<Page<Item>> {
        self.shared.count_page();
        let here = self.shared.find(session)?;
        let all = match turn {
            Some(id) => here.places_of(self.shared.turn_number(&here, id)?),
            None => 0..here.items(),
        };
        let after = match query.after.as_deref() {
            Some(id) => {
                let place = here.place_of(id);
                Some(place.ok_or_else(|| EngineError::not_found("item", id))?)
            }
            None => None,
        };
        let (found, more) = numbers(query, all, after, |_| true);
        let rows = found
            .into_iter()
            .filter_map(|at| here.item(&self.shared, at));
        Ok(Page::new(rows.collect(), more))
    }

    async fn list_subagents(&self, session: &str, _: &ListQuery) -> Told<Page<Subagent>> {
        self.shared.find(session)?;
        Ok(Page::new(Vec::new(), false))
    }

    async fn list_subagent_items(
        &self,
        session: &str,
        subagent: &str,
        _: &ListQuery,
    ) -> Told<Page<Item>> {
        self.shared.find(session)?;
        Err(EngineError::not_found("subagent", subagent).into())
    }

    async fn list_artifacts(
        &self,
        session: &str,
        turn: Option<&str>,
        query: &ListQuery,
    ) -> Told<Page<SessionArtifact>> {
        let files = self.shared.files(session)?;
        let files: Vec<SessionArtifact> = files
            .into_iter()
            .map(|(file, _)| file)
            .filter(|file| turn.is_none_or(|turn| turn == file.turn_id))
            .collect();
        let place = |id: &str| files.iter().position(|file| file.id == id);
        let after = match query.after.as_deref() {
            Some(id) => {
                let place = place(id).ok_or_else(|| EngineError::not_found("artifact", id))?;
                Some(place as u64)
            }
            None => None,
        };
        let (found, more) = numbers(query, 0..files.len() as u64, after, |_| true);
        let rows = found
            .into_iter()
            .filter_map(|at| files.get(at as usize).cloned());
        Ok(Page::new(rows.collect(), more))
    }

    async fn artifact(&self, session: &str, id: &str) -> Told<Content> {
        let (artifact, bytes) = self.shared.file(session, id)?;
        let digest = Sha256::digest(&bytes);
        Ok(Content {
            artifact,
            sha256: Some(data_encoding::HEXLOWER.encode(&digest)),
            bytes: Box::new(std::io::Cursor::new(bytes)),
        })
    }

    async fn delete_artifact(&self, session: &str, id: &str) -> Told<()> {
        self.shared.file(session, id)?;
        self.shared.meanwhile().files_deleted.insert(id.to_owned());
        Ok(())
    }

    async fn list_events(&self, _: &str, _: Option<&str>, _: usize) -> Told<(Vec<Event>, bool)> {
        lacks("events")
    }

    async fn stream_events(&self, _: &str, _: Option<String>) -> Told<Box<dyn EventStream>> {
        lacks("events")
    }

    async fn watch(&self, session: &str, _: bool) -> Told<Box<dyn Watch>> {
        self.shared.find(session)?;
        Ok(Box::new(Watching::begin(Arc::clone(&self.shared), session)))
    }

    fn has_other_ids(&self) -> bool {
        false
    }

    async fn ids(&self, of: Named<'_>, prefix: &str, limit: usize) -> Told<Matches> {
        let shared = &self.shared;
        let starts = |id: &String| id.starts_with(prefix);
        let mut matches = Matches::default();
        matches.found = match of {
            Named::Session => {
                let meanwhile = shared.meanwhile();
                let end = shared.end(&meanwhile);
                let begin = end.saturating_sub(IDS_LOOKED_AT);
                matches.gave_up_behind = (begin > 0).then_some(IDS_LOOKED_AT as usize);
                let numbers = (begin..end).rev();
                let numbers = numbers.filter(|number| !meanwhile.deleted.contains(number));
                let ids = numbers.map(|number| shared.session_id(number));
                ids.filter(starts).take(limit).collect()
            }
            Named::Agent => {
                let ids = (0..AGENTS).map(|number| shared.agent_id(number));
                ids.filter(starts).take(limit).collect()
            }
            Named::Turn(session) => {
                let here = shared.find(session)?;
                let ids = (1..=here.turns()).map(|turn| here.turn_id(turn));
                ids.filter(starts).take(limit).collect()
            }
            Named::Artifact(session) => {
                let files = shared.files(session)?;
                let ids = files.into_iter().map(|(file, _)| file.id);
                ids.filter(starts).take(limit).collect()
            }
        };
        Ok(matches)
    }
}
