//! Deployment: everything that commands ask of the place where Sessions live, in the words of the Agents API.
//!
//! The engine embedded in this very process answers it, and so does a server somewhere else; who asks does not see which. It is
//! not the store: what only an operator with the records at hand may do (Runs, the agenda, archives, access keys) is not here.

use async_trait::async_trait;
use tokio::io::AsyncRead;

use super::LivePart;
use crate::api::{
    Agent, AgentCreateParams, AgentSession, AgentUpdateParams, Event, InputEvent, Item, Page,
    Receipt, SessionArtifact, SessionCreateParams, SessionUpdateParams, Subagent, Turn,
};
use crate::engine::error::EngineError;
use crate::engine::overhear::Joins;
use crate::engine::read::{ListQuery, SessionFilter};
use crate::engine::turn::TurnRow;

/// An answer of a deployment.
pub type Told<T> = Result<T, DeploymentError>;

/// Why a deployment did not do what it was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeploymentError {
    /// As the engine says, wherever it is.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Whoever asks is not known there, or may not. Nothing happened.
    #[error("{0}")]
    Denied(String),
    /// The deployment does not have what was asked for. Nothing happened.
    #[error("{message}")]
    Lacks {
        /// What it does not have.
        message: String,
        /// What can be done instead.
        instead: String,
    },
    /// It may have happened, and repeating it could do it twice.
    #[error("it is unknown whether this happened: {why}")]
    Uncertain {
        /// What went wrong.
        why: String,
        /// How to find out.
        find_out: String,
    },
}

/// A Turn, and what only its record tells.
#[derive(Clone, Debug)]
pub struct TurnRead {
    /// The resource.
    pub turn: Turn,
    /// Its record; `None` where only the resource is told.
    pub row: Option<TurnRow>,
}

/// What a submission led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The proof.
    pub receipt: Receipt,
    /// Where it goes, so that it can be followed.
    pub goes: Goes,
}

/// The Turn that a submission goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goes {
    /// To this one.
    To(String),
    /// To the one behind this one (or the first of all), which is not known yet.
    Behind(Option<String>),
    /// To none.
    Nowhere,
}

/// An Artifact and its bytes.
pub struct Content {
    /// The resource.
    pub artifact: SessionArtifact,
    /// Digest of all bytes in lower-case hexadecimal, if it is told.
    pub sha256: Option<String>,
    /// The bytes. Only a good end says that they were the right ones: their number, and their digest where it is told.
    pub bytes: Box<dyn AsyncRead + Send + Unpin>,
}

/// What an id that was typed in part can be the id of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'a> {
    /// A Session.
    Session,
    /// A saved Agent.
    Agent,
    /// A Turn of this Session.
    Turn(&'a str),
    /// An Artifact of this Session.
    Artifact(&'a str),
}

/// Ids that begin with what was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// Whole ids.
    pub found: Vec<String>,
    /// Not all were looked at, only so many of the newest.
    pub gave_up_behind: Option<usize>,
}

/// A piece of text that is being written, as far as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Of which Item.
    pub item_id: String,
    /// Which of its texts.
    pub part: LivePart,
    /// The piece.
    pub text: String,
    /// How it goes with what was shown of the same text.
    pub joins: Joins,
}

/// What came while a Session was watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// Text that is being written.
    pub written: Vec<Written>,
    /// What a person should know of the watching itself: a connection was lost, or is there again.
    pub notes: Vec<String>,
}

/// Watches a Session for changes. Everything that changed is read elsewhere: a sign that is lost delays, and no more.
#[async_trait]
pub trait Watch: Send {
    /// Waits until something may have changed, or for a while.
    async fn changed(&mut self) -> Told<Signs>;
}

/// What a stream of events gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The next event.
    Event(Box<Event>),
    /// What a person should know of the stream itself.
    Note(String),
}

/// Events as they come, each once and in order.
#[async_trait]
pub trait EventStream: Send {
    /// The next; `None` when the Session owes nothing any more, or waits for a client.
    async fn next(&mut self) -> Told<Option<Step>>;
}

/// The place where Sessions live, as its owner sees it.
#[async_trait]
pub trait Deployment: Send + Sync {
    /// Saves a new Agent.
    async fn create_agent(&self, params: &AgentCreateParams) -> Told<Agent>;
    /// Saved Agents by creation time.
    async fn list_agents(&self, query: &ListQuery) -> Told<Page<Agent>>;
    /// A saved Agent.
    async fn agent(&self, id: &str) -> Told<Agent>;
    /// Changes a saved Agent; Sessions that exist keep theirs.
    async fn update_agent(&self, id: &str, params: &AgentUpdateParams) -> Told<Agent>;
    /// Forgets a saved Agent.
    async fn delete_agent(&self, id: &str) -> Told<()>;

    /// Creates a Session, once under its key.
    async fn create_session(&self, key: &str, params: &SessionCreateParams) -> Told<AgentSession>;
    /// Sessions by creation time.
    async fn list_sessions(
        &self,
        query: &ListQuery,
        filter: &SessionFilter,
    ) -> Told<Page<AgentSession>>;
    /// A Session.
    async fn session(&self, id: &str) -> Told<AgentSession>;
    /// Changes what an update may change.
    async fn update_session(&self, id: &str, params: &SessionUpdateParams) -> Told<AgentSession>;
    /// Deletes a Session.
    async fn delete_session(&self, id: &str) -> Told<()>;
    /// Whether a Session is on its way in from an archive, and so not there yet.
    async fn imports(&self, id: &str) -> Told<bool>;
    /// Gives up such an import; `false` if there was none.
    async fn abandon_import(&self, id: &str) -> Told<bool>;

    /// Submits inputs, once under their key.
    async fn send(&self, session: &str, key: &str, events: &[InputEvent]) -> Told<Submitted>;
    /// The function call that was answered under this key, if one was: its call id and its Turn. `call` is the one that is meant.
    async fn answered_call(
        &self,
        session: &str,
        key: &str,
        call: Option<&str>,
    ) -> Told<Option<(String, String)>>;

    /// Turns in order of creation.
    async fn list_turns(&self, session: &str, query: &ListQuery) -> Told<Page<TurnRead>>;
    /// One Turn.
    async fn turn(&self, session: &str, id: &str) -> Told<TurnRead>;
    /// Items in order, of the whole Session or of one Turn.
    async fn list_items(
        &self,
        session: &str,
        turn: Option<&str>,
        query: &ListQuery,
    ) -> Told<Page<Item>>;
    /// Subagents in the order in which they were started, closed ones, too.
    async fn list_subagents(&self, session: &str, query: &ListQuery) -> Told<Page<Subagent>>;
    /// Items of a subagent, in order.
    async fn list_subagent_items(
        &self,
        session: &str,
        subagent: &str,
        query: &ListQuery,
    ) -> Told<Page<Item>>;
    /// Artifacts, of the whole Session or of one Turn.
    async fn list_artifacts(
        &self,
        session: &str,
        turn: Option<&str>,
        query: &ListQuery,
    ) -> Told<Page<SessionArtifact>>;
    /// An Artifact, ready to be read.
    async fn artifact(&self, session: &str, id: &str) -> Told<Content>;
    /// Deletes an Artifact. The file in the environment stays.
    async fn delete_artifact(&self, session: &str, id: &str) -> Told<()>;

    /// Events behind `after` (from the first without it), and whether more follow.
    async fn list_events(
        &self,
        session: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Told<(Vec<Event>, bool)>;
    /// The same, and then what happens, until the Session owes nothing or waits for a client.
    async fn stream_events(
        &self,
        session: &str,
        after: Option<String>,
    ) -> Told<Box<dyn EventStream>>;
    /// Begins to watch a Session; with text that is being written, if that has a place.
    async fn watch(&self, session: &str, writing: bool) -> Told<Box<dyn Watch>>;

    /// Whether ids there may be of another make than ours.
    fn has_other_ids(&self) -> bool;
    /// Ids that begin with `prefix`, at most `limit`.
    async fn ids(&self, of: Named<'_>, prefix: &str, limit: usize) -> Told<Matches>;
}

impl crate::api::HasId for TurnRead {
    fn id(&self) -> Option<&str> {
        Some(&self.turn.id)
    }
}
