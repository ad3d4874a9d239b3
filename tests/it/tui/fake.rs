//! A deployment with any number of Sessions, all made up when they are asked for.

use async_trait::async_trait;
use rat_things::api::{
    Agent, AgentCreateParams, AgentSession, AgentUpdateParams, Event, HasId, InputEvent, Item,
    Page, SessionArtifact, SessionCreateParams, SessionUpdateParams, Subagent,
};
use rat_things::engine::ports::{
    Content, Deployment, DeploymentError, EventStream, Matches, Named, Submitted, Told, TurnRead,
    Watch,
};
use rat_things::engine::read::{ListQuery, SessionFilter};

use super::samples;

/// See the module.
pub struct Fake {
    pub sessions: usize,
    pub items: usize,
}

impl Fake {
    pub fn new(sessions: usize, items: usize) -> Fake {
        Fake { sessions, items }
    }
}

fn lacks<T>() -> Told<T> {
    Err(DeploymentError::Lacks {
        message: "this is not part of the test".into(),
        instead: String::new(),
    })
}

/// A page of rows that are numbered from 0 in ascending order.
fn page<T: HasId>(
    query: &ListQuery,
    all: usize,
    number: impl Fn(&str) -> usize,
    make: impl Fn(usize) -> T,
) -> Page<T> {
    let after = query.after.as_deref().map(number);
    let rows: Vec<usize> = match query.ascending {
        true => (after.map_or(0, |n| n + 1)..all)
            .take(query.limit + 1)
            .collect(),
        false => (0..after.unwrap_or(all))
            .rev()
            .take(query.limit + 1)
            .collect(),
    };
    let more = rows.len() > query.limit;
    Page::new(rows.into_iter().take(query.limit).map(make).collect(), more)
}

fn number(id: &str) -> usize {
    let (_, digits) = id.split_once('_').expect("an id of ours");
    digits.parse().expect("an id of ours")
}

#[async_trait]
impl Deployment for Fake {
    async fn create_agent(&self, _: &AgentCreateParams) -> Told<Agent> {
        lacks()
    }
    async fn list_agents(&self, _: &ListQuery) -> Told<Page<Agent>> {
        lacks()
    }
    async fn agent(&self, _: &str) -> Told<Agent> {
        lacks()
    }
    async fn update_agent(&self, _: &str, _: &AgentUpdateParams) -> Told<Agent> {
        lacks()
    }
    async fn delete_agent(&self, _: &str) -> Told<()> {
        lacks()
    }
    async fn create_session(&self, _: &str, _: &SessionCreateParams) -> Told<AgentSession> {
        lacks()
    }
    async fn list_sessions(
        &self,
        query: &ListQuery,
        _: &SessionFilter,
    ) -> Told<Page<AgentSession>> {
        Ok(page(
            query,
            self.sessions,
            number,
            samples::numbered_session,
        ))
    }
    async fn session(&self, id: &str) -> Told<AgentSession> {
        Ok(samples::numbered_session(number(id)))
    }
    async fn update_session(&self, _: &str, _: &SessionUpdateParams) -> Told<AgentSession> {
        lacks()
    }
    async fn delete_session(&self, _: &str) -> Told<()> {
        lacks()
    }
    async fn imports(&self, _: &str) -> Told<bool> {
        lacks()
    }
    async fn abandon_import(&self, _: &str) -> Told<bool> {
        lacks()
    }
    async fn send(&self, _: &str, _: &str, _: &[InputEvent]) -> Told<Submitted> {
        lacks()
    }
    async fn answered_call(
        &self,
        _: &str,
        _: &str,
        _: Option<&str>,
    ) -> Told<Option<(String, String)>> {
        lacks()
    }
    async fn list_turns(&self, _: &str, _: &ListQuery) -> Told<Page<TurnRead>> {
        Ok(Page::new(
            vec![TurnRead {
                turn: samples::turn("turn_1", "completed"),
                row: None,
            }],
            false,
        ))
    }
    async fn turn(&self, _: &str, id: &str) -> Told<TurnRead> {
        Ok(TurnRead {
            turn: samples::turn(id, "completed"),
            row: None,
        })
    }
    async fn list_items(&self, _: &str, _: Option<&str>, query: &ListQuery) -> Told<Page<Item>> {
        let make =
            |n: usize| samples::message(&format!("msg_{n:07}"), "turn_1", &format!("line {n}"));
        Ok(page(query, self.items, number, make))
    }
    async fn list_subagents(&self, _: &str, query: &ListQuery) -> Told<Page<Subagent>> {
        let make = |n: usize| samples::subagent(&format!("sub_{n:07}"), "active", None, "look");
        Ok(page(query, self.sessions, number, make))
    }
    async fn list_subagent_items(
        &self,
        _: &str,
        subagent: &str,
        query: &ListQuery,
    ) -> Told<Page<Item>> {
        let make = |n: usize| {
            let text = format!("line {n} of {subagent}");
            samples::message(&format!("msg_{n:07}"), "turn_9", &text)
        };
        Ok(page(query, self.items, number, make))
    }
    async fn list_artifacts(
        &self,
        _: &str,
        _: Option<&str>,
        _: &ListQuery,
    ) -> Told<Page<SessionArtifact>> {
        lacks()
    }
    async fn artifact(&self, _: &str, _: &str) -> Told<Content> {
        lacks()
    }
    async fn delete_artifact(&self, _: &str, _: &str) -> Told<()> {
        lacks()
    }
    async fn list_events(&self, _: &str, _: Option<&str>, _: usize) -> Told<(Vec<Event>, bool)> {
        lacks()
    }
    async fn stream_events(&self, _: &str, _: Option<String>) -> Told<Box<dyn EventStream>> {
        lacks()
    }
    async fn watch(&self, _: &str, _: bool) -> Told<Box<dyn Watch>> {
        lacks()
    }
    fn has_other_ids(&self) -> bool {
        false
    }
    async fn ids(&self, _: Named<'_>, _: &str, _: usize) -> Told<Matches> {
        lacks()
    }
}
