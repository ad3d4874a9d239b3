//! What is asked of a deployment, as calls of the Agents API.

use async_trait::async_trait;
use futures_util::stream::{self, TryStreamExt};
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::AsyncRead;
use tokio::time::Instant;
use tokio_util::io::StreamReader;

use super::Remote;
use super::call::{Call, Repeat};
use super::events::Streaming;
use super::failure::Failure;
use super::feed::{Came, Ended};
use super::watch::Watching;
use crate::api::{
    Agent, AgentCreateParams, AgentSession, AgentUpdateParams, Delivery, Event, EventCreateParams,
    Extension, InputEvent, Item, Page, RECEIPT_HEADER, Receipt, ReceiptObject, SessionArtifact,
    SessionCreateParams, SessionUpdateParams, Subagent, Turn,
};
use crate::backend::outbound::causes;
use crate::backend::verified::Verified;
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;
use crate::engine::ports::{
    BlobRef, Content, Deployment, DeploymentError, EventStream, Goes, Matches, Named, Submitted,
    Told, TurnRead, Watch,
};
use crate::engine::position::Position;
use crate::engine::read::{ListQuery, SessionFilter};

/// Pages of Items in which an answered call is looked for.
const PAGES_FOR_CALLS: usize = 5;
/// What helps when a change that comes out the same may have happened.
const REPEAT_IT: &str = "repeat the command: it comes out the same";

/// JSON of a request. Requests always serialise: their maps have texts for keys.
fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// A key is a header's value on its way.
fn check_key(key: &str) -> Told<()> {
    match key
        .bytes()
        .all(|byte| byte.is_ascii_graphic() || byte == b' ')
    {
        true => Ok(()),
        false => {
            let message = "a server takes ASCII characters only";
            Err(EngineError::invalid("--idempotency-key", message).into())
        }
    }
}

impl Remote {
    async fn read<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, Failure> {
        self.fetch(&Call::get(path)).await
    }

    /// Deletes, and is content to find that an attempt without an answer has done it.
    async fn delete(&self, path: &[&str]) -> Result<(), Failure> {
        let call = Call {
            method: Method::DELETE,
            repeat: Repeat::Same,
            find_out: REPEAT_IT,
            ..Call::get(path)
        };
        match self.call(&call).await {
            Ok(_) => Ok(()),
            Err(Failure::Refused {
                error,
                behind_doubt: true,
            }) if error.status == 404 => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    async fn newest_turn(&self, session: &str) -> Told<Option<Turn>> {
        let query = ListQuery {
            limit: 1,
            ..ListQuery::default()
        };
        let page = self.list_turns(session, &query).await?;
        Ok(page.data.into_iter().next().map(|read| read.turn))
    }
}

#[async_trait]
impl Deployment for Remote {
    async fn create_agent(&self, params: &AgentCreateParams) -> Told<Agent> {
        let path = ["agents"];
        let mut call = Call::post(&path, json(params), Repeat::Not);
        call.find_out = "`rat-things agents list` shows whether it was created";
        let created = self.fetch(&call).await;
        created.map_err(|failure| failure.about("agent", ""))
    }

    async fn list_agents(&self, query: &ListQuery) -> Told<Page<Agent>> {
        let page = self.page(&["agents"], query, &[]).await;
        page.map_err(|failure| failure.about("agent", query.after.as_deref().unwrap_or("")))
    }

    async fn agent(&self, id: &str) -> Told<Agent> {
        let read = self.read(&["agents", id]).await;
        read.map_err(|failure| failure.about("agent", id))
    }

    async fn update_agent(&self, id: &str, params: &AgentUpdateParams) -> Told<Agent> {
        let path = ["agents", id];
        let mut call = Call::post(&path, json(params), Repeat::Same);
        call.find_out = REPEAT_IT;
        let updated = self.fetch(&call).await;
        updated.map_err(|failure| failure.about("agent", id))
    }

    async fn delete_agent(&self, id: &str) -> Told<()> {
        let deleted = self.delete(&["agents", id]).await;
        deleted.map_err(|failure| failure.about("agent", id))
    }

    async fn create_session(&self, key: &str, params: &SessionCreateParams) -> Told<AgentSession> {
        check_key(key)?;
        let path = ["agents", "sessions"];
        let once = Repeat::KeyedBy(Extension::SessionKey);
        let mut call = Call::post(&path, json(params), once);
        call.key = Some(key);
        call.find_out = "`rat-things sessions list` shows whether it was created: this server does not say that it creates a session once per key, so nothing was repeated";
        let created = self.fetch(&call).await;
        // The only thing of its own that a creation names.
        let agent = params.agent_id.as_deref().unwrap_or_default();
        created.map_err(|failure| failure.about("agent", agent))
    }

    async fn list_sessions(
        &self,
        query: &ListQuery,
        filter: &SessionFilter,
    ) -> Told<Page<AgentSession>> {
        let path = ["agents", "sessions"];
        let agent = filter.agent_id.iter();
        let agent = agent.map(|id| ("agent_id".to_owned(), id.clone()));
        let metadata = filter.metadata.iter();
        let metadata = metadata.map(|(name, value)| (format!("metadata[{name}]"), value.clone()));
        let more: Vec<(String, String)> = agent.chain(metadata).collect();
        let page = match filter.status.is_empty() {
            true => self.page(&path, query, &more).await,
            // The API has no such filter.
            false => {
                let passes = |session: &AgentSession| filter.status.contains(&session.status);
                self.filtered(&path, query, &more, passes).await
            }
        };
        page.map_err(|failure| failure.about("session", query.after.as_deref().unwrap_or("")))
    }

    async fn session(&self, id: &str) -> Told<AgentSession> {
        let read = self.read(&["agents", "sessions", id]).await;
        read.map_err(|failure| failure.about("session", id))
    }

    async fn update_session(&self, id: &str, params: &SessionUpdateParams) -> Told<AgentSession> {
        let path = ["agents", "sessions", id];
        let mut call = Call::post(&path, json(params), Repeat::Same);
        call.find_out = REPEAT_IT;
        let updated = self.fetch(&call).await;
        updated.map_err(|failure| failure.about("session", id))
    }

    async fn delete_session(&self, id: &str) -> Told<()> {
        let deleted = self.delete(&["agents", "sessions", id]).await;
        deleted.map_err(|failure| failure.about("session", id))
    }

    async fn imports(&self, _id: &str) -> Told<bool> {
        Ok(false)
    }

    async fn abandon_import(&self, _id: &str) -> Told<bool> {
        Ok(false)
    }

    async fn send(&self, session: &str, key: &str, events: &[InputEvent]) -> Told<Submitted> {
        check_key(key)?;
        // A server without receipts does not say where an input goes: that is seen from what was there before.
        let mut before = None;
        if self.has(Extension::Receipt) != Some(true) {
            before = self.newest_turn(session).await?;
        }
        let path = ["agents", "sessions", session, "events"];
        let params = EventCreateParams {
            events: events.to_vec(),
        };
        let mut call = Call::post(&path, json(&params), Repeat::Keyed);
        call.key = Some(key);
        call.accept = "*/*";
        let sent = self.call(&call).await;
        let sent = sent.map_err(|failure| refused_input(failure, session, events))?;
        let told = sent.response.headers().get(RECEIPT_HEADER);
        if let Some(receipt) = told.and_then(|told| serde_json::from_slice(told.as_bytes()).ok()) {
            let receipt: Receipt = receipt;
            let turn = receipt.turn_id().map(str::to_owned);
            return Ok(Submitted {
                goes: turn.map_or(Goes::Nowhere, Goes::To),
                receipt,
            });
        }
        Ok(Submitted {
            goes: goes(events, before),
            receipt: Receipt {
                id: key.to_owned(),
                object: ReceiptObject::Only,
                session_id: session.to_owned(),
                accepted_at: None,
                digest: None,
                repeated: None,
                outcomes: Vec::new(),
            },
        })
    }

    async fn answered_call(
        &self,
        session: &str,
        _key: &str,
        call: Option<&str>,
    ) -> Told<Option<(String, String)>> {
        // Which call was answered under a key, no server tells; that a named one was answered, its Items do.
        let Some(call) = call else { return Ok(None) };
        let mut query = ListQuery {
            limit: 100,
            ..ListQuery::default()
        };
        for _ in 0..PAGES_FOR_CALLS {
            let page = self.list_items(session, None, &query).await?;
            let answered = page.data.iter().find_map(|item| match item {
                Item::FunctionCallOutput(output) if output.call_id == call => {
                    Some(output.turn_id.clone())
                }
                _ => None,
            });
            if let Some(turn) = answered {
                return Ok(Some((call.to_owned(), turn)));
            }
            query.after = super::lists::behind(&page);
            if query.after.is_none() {
                break;
            }
        }
        Ok(None)
    }

    async fn list_turns(&self, session: &str, query: &ListQuery) -> Told<Page<TurnRead>> {
        let path = ["agents", "sessions", session, "turns"];
        let page: Result<Page<Turn>, Failure> = self.page(&path, query, &[]).await;
        let page = page.map_err(|failure| in_session(failure, session, "turn", query))?;
        let turns = page.data.into_iter();
        Ok(Page {
            object: page.object,
            data: turns.map(|turn| TurnRead { turn, row: None }).collect(),
            has_more: page.has_more,
            first_id: page.first_id,
            last_id: page.last_id,
        })
    }

    async fn turn(&self, session: &str, id: &str) -> Told<TurnRead> {
        let read = self
            .read(&["agents", "sessions", session, "turns", id])
            .await;
        let turn = read.map_err(|failure| failure.about("turn", id))?;
        Ok(TurnRead { turn, row: None })
    }

    async fn list_items(
        &self,
        session: &str,
        turn: Option<&str>,
        query: &ListQuery,
    ) -> Told<Page<Item>> {
        let page = match turn {
            None => {
                let path = ["agents", "sessions", session, "items"];
                self.page(&path, query, &[]).await
            }
            Some(turn) => {
                let path = ["agents", "sessions", session, "turns", turn, "items"];
                self.page(&path, query, &[]).await
            }
        };
        page.map_err(|failure| in_session(failure, session, "item", query))
    }

    async fn list_subagents(&self, session: &str, query: &ListQuery) -> Told<Page<Subagent>> {
        let path = ["agents", "sessions", session, "subagents"];
        let page = self.page(&path, query, &[]).await;
        page.map_err(|failure| in_session(failure, session, "subagent", query))
    }

    async fn list_subagent_items(
        &self,
        session: &str,
        subagent: &str,
        query: &ListQuery,
    ) -> Told<Page<Item>> {
        let path = [
            "agents",
            "sessions",
            session,
            "subagents",
            subagent,
            "items",
        ];
        let page = self.page(&path, query, &[]).await;
        page.map_err(|failure: Failure| failure.about("subagent", subagent))
    }

    async fn list_artifacts(
        &self,
        session: &str,
        turn: Option<&str>,
        query: &ListQuery,
    ) -> Told<Page<SessionArtifact>> {
        let path = ["agents", "sessions", session, "artifacts"];
        let page = match turn {
            None => self.page(&path, query, &[]).await,
            // The API has no such filter.
            Some(turn) => {
                let passes = |artifact: &SessionArtifact| artifact.turn_id == turn;
                self.filtered(&path, query, &[], passes).await
            }
        };
        page.map_err(|failure| in_session(failure, session, "artifact", query))
    }

    async fn delete_artifact(&self, session: &str, id: &str) -> Told<()> {
        let path = ["agents", "sessions", session, "artifacts", id];
        let deleted = self.delete(&path).await;
        deleted.map_err(|failure| failure.about("artifact", id))
    }

    async fn artifact(&self, session: &str, id: &str) -> Told<Content> {
        let missing = |failure: Failure| failure.about("artifact", id);
        let path = ["agents", "sessions", session, "artifacts", id];
        let artifact: SessionArtifact = self.read(&path).await.map_err(missing)?;
        let path = ["agents", "sessions", session, "artifacts", id, "content"];
        let mut call = Call::get(&path);
        call.accept = "application/octet-stream";
        let response = self.call(&call).await.map_err(missing)?.response;
        let digest = response.headers().get("repr-digest");
        let sha256 = digest.and_then(|value| sha256(value.to_str().ok()?));
        let from = reader(response, self.0.timeout);
        let size_bytes = artifact.size_bytes;
        let bytes: Box<dyn AsyncRead + Send + Unpin> = match &sha256 {
            Some(sha256) => {
                let blob = BlobRef {
                    sha256: sha256.clone(),
                    size_bytes,
                };
                Box::new(Verified::new(from, &blob, 0))
            }
            None => Box::new(Verified::length_of(from, id, size_bytes)),
        };
        Ok(Content {
            artifact,
            sha256,
            bytes,
        })
    }

    async fn list_events(
        &self,
        session: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Told<(Vec<Event>, bool)> {
        // Nothing of the past is asked for without a Session.
        self.session(session).await?;
        let start = SessionId::parse(session).map(|id| Position::START.id(&id));
        let Some(start) = after.map(str::to_owned).or(start) else {
            return Err(no_past());
        };
        let query = [("follow", "false"), ("after", start.as_str())];
        let feed = self.open_feed(session, &query, None).await;
        let mut feed = feed.map_err(|failure| refused_past(self, failure, session, after))?;
        if self.has(Extension::EventsSoFar) != Some(true) {
            return Err(no_past());
        }
        let mut events = Vec::new();
        loop {
            match feed.next(Instant::now() + self.0.timeout).await {
                Came::Event(_) if events.len() == limit => return Ok((events, true)),
                Came::Event(event) => events.push(*event),
                Came::Over(Ended::Closed) => return Ok((events, false)),
                Came::Over(Ended::Broke(why)) => return Err(EngineError::Unavailable(why).into()),
                Came::Over(Ended::Silent) | Came::Quiet => {
                    let why = format!("{} stopped in the middle of its answer", self.0.shown);
                    return Err(EngineError::Unavailable(why).into());
                }
            }
        }
    }

    async fn stream_events(
        &self,
        session: &str,
        after: Option<String>,
    ) -> Told<Box<dyn EventStream>> {
        let streaming = Streaming::begin(self.clone(), session.to_owned(), after).await?;
        Ok(Box::new(streaming))
    }

    async fn watch(&self, session: &str, writing: bool) -> Told<Box<dyn Watch>> {
        let watching = Watching::new(self.clone(), session.to_owned(), writing);
        Ok(Box::new(watching))
    }

    fn has_other_ids(&self) -> bool {
        true
    }

    async fn ids(&self, of: Named<'_>, prefix: &str, limit: usize) -> Told<Matches> {
        let found = match of {
            Named::Session => {
                let path = ["agents", "sessions"];
                self.matches::<AgentSession>(&path, prefix, limit).await
            }
            Named::Agent => self.matches::<Agent>(&["agents"], prefix, limit).await,
            Named::Turn(session) => {
                let path = ["agents", "sessions", session, "turns"];
                self.matches::<Turn>(&path, prefix, limit).await
            }
            Named::Artifact(session) => {
                let path = ["agents", "sessions", session, "artifacts"];
                self.matches::<SessionArtifact>(&path, prefix, limit).await
            }
        };
        let what = match of {
            Named::Agent => ("agent", prefix),
            Named::Session => ("session", prefix),
            Named::Turn(session) | Named::Artifact(session) => ("session", session),
        };
        let mut found = found.map_err(|failure| failure.about(what.0, what.1))?;
        // A whole id of another make may be older than what was looked at.
        if found.gave_up_behind.is_some() && found.found.is_empty() {
            let there = match of {
                Named::Session => self.session(prefix).await.map(drop),
                Named::Agent => self.agent(prefix).await.map(drop),
                Named::Turn(session) => self.turn(session, prefix).await.map(drop),
                Named::Artifact(_) => return Ok(found),
            };
            if there.is_ok() {
                found.found = vec![prefix.to_owned()];
                found.gave_up_behind = None;
            }
        }
        Ok(found)
    }
}

/// The bytes of an answer as a reader. A server that stops in the middle is not waited for.
fn reader(
    response: reqwest::Response,
    patience: std::time::Duration,
) -> impl AsyncRead + Send + Unpin {
    let chunks = stream::try_unfold(response, move |mut response| async move {
        match tokio::time::timeout(patience, response.chunk()).await {
            Ok(Ok(chunk)) => Ok(chunk.map(|chunk| (chunk, response))),
            Ok(Err(error)) => {
                let why = causes(&error.without_url());
                Err(std::io::Error::new(
                    std::io::ErrorKind::ConnectionAborted,
                    why,
                ))
            }
            Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
        }
    });
    StreamReader::new(Box::pin(chunks.into_stream()))
}

/// The digest of a `Repr-Digest` header, in hexadecimal.
fn sha256(header: &str) -> Option<String> {
    let member = header
        .split(',')
        .find_map(|member| member.trim().strip_prefix("sha-256=:"))?;
    let digest = data_encoding::BASE64
        .decode(member.strip_suffix(':')?.as_bytes())
        .ok()?;
    (digest.len() == 32).then(|| data_encoding::HEXLOWER.encode(&digest))
}

/// In a list of a Session, what is not found is the Session, or what the list was to go on behind.
fn in_session(
    failure: Failure,
    session: &str,
    what: &'static str,
    query: &ListQuery,
) -> DeploymentError {
    match (&failure, &query.after) {
        (Failure::Refused { error, .. }, Some(after)) if !error.message.contains(session) => {
            failure.about(what, after)
        }
        _ => failure.about("session", session),
    }
}

/// Where an input goes, by what it is and by the newest Turn before it.
fn goes(events: &[InputEvent], before: Option<Turn>) -> Goes {
    let active = before.as_ref().filter(|turn| !turn.status.is_terminal());
    let active = active.map(|turn| turn.id.clone());
    let behind = before.as_ref().map(|turn| turn.id.clone());
    match (events.first(), active) {
        (Some(InputEvent::ToolResult(result)), _) => Goes::To(result.turn_id.clone()),
        (Some(InputEvent::Cancel(_)), Some(active)) => Goes::To(active),
        (Some(InputEvent::Message(message)), Some(active)) if message.delivery.is_none() => {
            Goes::To(active)
        }
        (Some(InputEvent::Message(_)), _) => Goes::Behind(behind),
        _ => Goes::Nowhere,
    }
}

/// A field that only some servers know, and this one named as one that it does not.
fn refused_input(failure: Failure, session: &str, events: &[InputEvent]) -> DeploymentError {
    let names = |field: &str| match &failure {
        Failure::Refused { error, .. } => {
            let param = error.param.as_deref().unwrap_or(&error.message);
            matches!(error.status, 400 | 422)
                && (param.ends_with(field) || param.contains(&format!("{field}'")))
        }
        Failure::Failed(_) => false,
    };
    let queues = events.iter().any(|event| {
        matches!(event, InputEvent::Message(message) if message.delivery == Some(Delivery::NextTurn))
    });
    let guards = events
        .iter()
        .any(|event| matches!(event, InputEvent::Cancel(cancel) if cancel.turn_id.is_some()));
    if queues && names("delivery") {
        return DeploymentError::Lacks {
            message: "this server can't queue a message behind the turn that runs (--queue); nothing was sent".to_owned(),
            instead: format!("wait first: rat-things sessions wait {session}"),
        };
    }
    if guards && names("turn_id") {
        return DeploymentError::Lacks {
            message: "this server can't cancel a named turn only (--turn); nothing was cancelled"
                .to_owned(),
            instead: "without --turn, the turn that is active then is cancelled".to_owned(),
        };
    }
    failure.about("session", session)
}

/// The past of a Session that a server does not tell.
fn no_past() -> DeploymentError {
    DeploymentError::Lacks {
        message: "this server does not tell events that have happened".to_owned(),
        instead:
            "`sessions events --follow` prints them as they come, `sessions items` the transcript"
                .to_owned(),
    }
}

/// Why a server did not tell them: it can't, or the event that it should begin behind is none.
pub(super) fn refused_past(
    remote: &Remote,
    failure: Failure,
    session: &str,
    after: Option<&str>,
) -> DeploymentError {
    let Failure::Refused { error, .. } = &failure else {
        return failure.about("session", session);
    };
    let param = error.param.as_deref().unwrap_or_default();
    match (error.status, param, after) {
        (400 | 422, "after", Some(after)) if remote.has(Extension::EventsAfter) == Some(true) => {
            EngineError::not_found("event", after).into()
        }
        (400 | 422, "after" | "follow", _) => no_past(),
        _ => failure.about("session", session),
    }
}
