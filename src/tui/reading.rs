//! What the screens beside the list and the transcript read: asked for as data, read in one place.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::{mpsc, oneshot};

use super::picture::{IMAGE_BYTES, Picture, decode};
use super::preview::{HEAD_BYTES, is_image};
use super::records::Check;
use super::window::{Chunk, Where};
use super::world::{chunk, missing_turns, query};
use crate::api::{
    Agent, AgentSession, Environment, HasId, Item, Page, SessionArtifact, Subagent, Turn,
};
use crate::engine::error::EngineError;
use crate::engine::ports::{
    DeliveryRead, Deployment, DeploymentError, EnvironmentRead, Operator, OwedRead, RunRead, Told,
    WorkspaceFiles,
};
use crate::engine::read::ListQuery;
use crate::text::size;

/// Saved Agents that can be chosen from.
const AGENTS: usize = 100;
/// What is looked into beside the records themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether all is in order where the Sessions live.
    Health,
    /// Why this Session does or does not move.
    Explain(String),
    /// Nothing is asked: this Session is to be written to an archive in this directory. What is found is the file.
    Export(String, String),
}

/// What came of it, or in words why nothing did.
pub type Found = Result<Vec<Check>, String>;

/// Answers questions.
pub type Doctor = mpsc::Sender<(Question, oneshot::Sender<Found>)>;

/// Files of a workspace that are shown.
const FILES: usize = 1_000;
/// Turns of a Session among which the one at work is looked for.
const NEWEST_TURNS: usize = 20;
/// A person who looks at one row for so long rests on it.
const REST: Duration = Duration::from_millis(80);
/// Entries of the agenda that are shown.
const OWED: usize = 200;
/// Rows of a list read at once.
const ROWS: usize = 100;
/// Turns without an Item that are passed over on the way to one that has some.
const EMPTY_TURNS: usize = 20;

/// What is read; a newer request replaces an older one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadAsk {
    /// The newest saved Agents.
    Agents,
    /// Turns of a Session, newest first.
    Turns {
        /// The Session.
        session: String,
        /// Which.
        at: Where,
    },
    /// Where a Turn begins in the transcript.
    TurnPlace {
        /// The Session.
        session: String,
        /// Which.
        turn: WhichTurn,
    },
    /// The Turn at work in each of these Sessions, or the one that is named.
    TurnsAtWork {
        /// Sessions, and Turns that are meant.
        of: Vec<(String, Option<String>)>,
    },
    /// Subagents of a Session, in the order in which they were started.
    Subagents {
        /// The Session.
        session: String,
        /// Which.
        at: Where,
    },
    /// Items of a subagent, in order.
    SubagentItems {
        /// The Session.
        session: String,
        /// The subagent.
        subagent: String,
        /// Which.
        at: Where,
    },
    /// Artifacts of a Session, newest first.
    Artifacts {
        /// The Session.
        session: String,
        /// Which.
        at: Where,
    },
    /// The first bytes of an Artifact.
    Head {
        /// The Session.
        session: String,
        /// The Artifact.
        artifact: String,
        /// Only when a person rests on it: who goes on to the next one before that reads nothing.
        rests: bool,
        /// An image is decoded.
        picture: bool,
    },
    /// Runs of a Session, newest first.
    Runs {
        /// The Session.
        session: String,
        /// Which.
        at: Where,
    },
    /// Deliveries of a Session by id.
    Deliveries {
        /// The Session.
        session: String,
        /// Which.
        at: Where,
    },
    /// What all Sessions owe, soonest first.
    Owed,
    /// The environment of a Session.
    Environment {
        /// The Session.
        session: String,
    },
    /// The files of a Session's environment.
    Files {
        /// The Session.
        session: String,
    },
    /// Whether all is in order where the Sessions live.
    Health,
    /// Why a Session does or does not move.
    Explain {
        /// The Session.
        session: String,
    },
}

/// A Turn, told by one that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhichTurn {
    /// This one.
    This(String),
    /// The one before it that has Items.
    Before(String),
    /// The one behind it that has Items.
    Behind(String),
}

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// Saved Agents, newest first, and whether there are more.
    Agents(Vec<Agent>, bool),
    /// Turns.
    Turns(Chunk<Turn>),
    /// Where a Turn begins, in this Session.
    TurnPlace(String, Box<TurnPlace>),
    /// Turns by their Sessions, or in words why one could not be read.
    TurnsAtWork(Vec<(String, Result<Option<Turn>, String>)>),
    /// Subagents.
    Subagents(Chunk<Subagent>),
    /// Items of a subagent.
    SubagentItems(Chunk<Item>),
    /// Artifacts.
    Artifacts(Chunk<SessionArtifact>),
    /// The first bytes of an Artifact.
    Head(Head),
    /// Runs.
    Runs(Chunk<RunRead>),
    /// Deliveries.
    Deliveries(Chunk<DeliveryRead>),
    /// What is owed.
    Owed(Chunk<OwedRead>),
    /// A Session, and what the records tell of its environment.
    Environment(Box<AgentSession>, EnvironmentRead),
    /// Files of a workspace; `None`: the Session has none.
    Files(Option<WorkspaceFiles>),
    /// Checks, or causes.
    Checks(Vec<Check>),
}

/// The first bytes of an Artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// There are no more.
    pub whole: bool,
    /// The image that all bytes are, or why it can't be shown; `None`: it is none, or nobody wants to see it.
    pub picture: Option<Result<Picture, String>>,
}

/// Where a Turn begins in the transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnPlace {
    /// The Turn; `None`: there is no such one.
    pub turn: Option<Turn>,
    /// Its first Item and those behind it; `None`: it has none.
    pub items: Option<Chunk<Item>>,
    /// Other Turns of those Items.
    pub turns: Vec<Turn>,
}

/// Reads it.
///
/// # Errors
/// As the deployment says; that it lacks what is asked for, if only an operator has it and there is none.
pub async fn read(
    of: &dyn Deployment,
    operator: Option<&dyn Operator>,
    doctor: Option<&Doctor>,
    ask: ReadAsk,
) -> Told<Seen> {
    let operator = || operator.ok_or_else(lacks);
    Ok(match ask {
        ReadAsk::Runs { session, at } => {
            let (query, backwards) = query(&at, ROWS, false);
            let page = operator()?.runs(&session, &query).await?;
            Seen::Runs(chunk(at, page, backwards))
        }
        ReadAsk::Deliveries { session, at } => {
            let (query, backwards) = query(&at, ROWS, true);
            // Their ids are in no order that means anything, and can be gone through one way only.
            let query = ListQuery {
                ascending: true,
                ..query
            };
            let page = operator()?.deliveries(&session, &query).await?;
            Seen::Deliveries(chunk(at, page, backwards))
        }
        ReadAsk::Owed => {
            let rows = operator()?.owed(OWED).await?;
            Seen::Owed(Chunk {
                at: Where::Start,
                scanned: rows.len(),
                rows,
                more: false,
                cursor: None,
            })
        }
        ReadAsk::Environment { session } => {
            let read = operator()?.environment(&session).await?;
            Seen::Environment(Box::new(of.session(&session).await?), read)
        }
        ReadAsk::Files { session } => {
            let operator = operator()?;
            Seen::Files(match of.session(&session).await?.environment {
                Environment::OpenaiHosted(managed) => {
                    Some(operator.files(&managed.id, FILES).await?)
                }
                Environment::None | Environment::SelfHosted(_) => None,
            })
        }
        ReadAsk::Health => Seen::Checks(look_into(doctor, Question::Health).await?),
        ReadAsk::Explain { session } => {
            operator()?;
            Seen::Checks(look_into(doctor, Question::Explain(session)).await?)
        }
        ReadAsk::Agents => {
            let query = ListQuery {
                limit: AGENTS,
                after: None,
                ascending: false,
            };
            let page = of.list_agents(&query).await?;
            Seen::Agents(page.data, page.has_more)
        }
        ReadAsk::Turns { session, at } => {
            let (query, backwards) = query(&at, ROWS, false);
            let page = of.list_turns(&session, &query).await?;
            let turns = page.data.into_iter().map(|read| read.turn).collect();
            let page = Page::new(turns, page.has_more);
            Seen::Turns(chunk(at, page, backwards))
        }
        ReadAsk::TurnsAtWork { of: sessions } => {
            let mut read = Vec::new();
            for (session, turn) in sessions {
                let at_work = turn_at_work(of, &session, turn).await;
                read.push((session, at_work.map_err(|error| error.to_string())));
            }
            Seen::TurnsAtWork(read)
        }
        ReadAsk::Subagents { session, at } => {
            let (query, backwards) = query(&at, ROWS, true);
            let page = of.list_subagents(&session, &query).await?;
            Seen::Subagents(chunk(at, page, backwards))
        }
        ReadAsk::SubagentItems {
            session,
            subagent,
            at,
        } => {
            let (query, backwards) = query(&at, ROWS, true);
            let page = of.list_subagent_items(&session, &subagent, &query).await?;
            Seen::SubagentItems(chunk(at, page, backwards))
        }
        ReadAsk::Artifacts { session, at } => {
            let (query, backwards) = query(&at, ROWS, false);
            let page = of.list_artifacts(&session, None, &query).await?;
            Seen::Artifacts(chunk(at, page, backwards))
        }
        ReadAsk::Head {
            session,
            artifact,
            rests,
            picture,
        } => {
            if rests {
                tokio::time::sleep(REST).await;
            }
            Seen::Head(head(of, &session, &artifact, picture).await?)
        }
        ReadAsk::TurnPlace { session, turn } => {
            let place = turn_place(of, &session, turn).await?;
            Seen::TurnPlace(session, Box::new(place))
        }
    })
}

/// The Turn that is named, or the one at work: the oldest that is not over, of the newest.
async fn turn_at_work(
    of: &dyn Deployment,
    session: &str,
    named: Option<String>,
) -> Told<Option<Turn>> {
    if let Some(id) = named {
        return Ok(Some(of.turn(session, &id).await?.turn));
    }
    let query = ListQuery {
        limit: NEWEST_TURNS,
        after: None,
        ascending: false,
    };
    let page = of.list_turns(session, &query).await?;
    let turns = page.data.into_iter().rev().map(|read| read.turn);
    Ok(turns.into_iter().find(|turn| !turn.status.is_terminal()))
}

pub(super) async fn look_into(doctor: Option<&Doctor>, question: Question) -> Told<Vec<Check>> {
    let doctor = doctor.ok_or_else(lacks)?;
    let (answer, answered) = oneshot::channel();
    // Whoever looks is gone only when the screen is being left.
    let _ = doctor.send((question, answer)).await;
    let found = answered.await.unwrap_or_else(|_| Ok(Vec::new()));
    found.map_err(|words| EngineError::Unavailable(words).into())
}

fn lacks() -> DeploymentError {
    DeploymentError::Lacks {
        message: "this is told by the records themselves, and a server of the Agents API does not show them"
            .to_owned(),
        instead: "choose a profile of kind \"local\" or \"aws\" where the records are".to_owned(),
    }
}

async fn head(of: &dyn Deployment, session: &str, artifact: &str, picture: bool) -> Told<Head> {
    let content = of.artifact(session, artifact).await?;
    let mut bytes = Vec::new();
    // One byte more tells whether these are all.
    let mut first = content.bytes.take(HEAD_BYTES as u64 + 1);
    first
        .read_to_end(&mut bytes)
        .await
        .map_err(|error| EngineError::Unavailable(format!("its bytes can't be read: {error}")))?;
    let whole = bytes.len() <= HEAD_BYTES;
    let picture = match picture && is_image(&bytes) {
        true => Some(decoded(bytes.clone(), first.into_inner()).await),
        false => None,
    };
    bytes.truncate(HEAD_BYTES);
    Ok(Head {
        bytes,
        whole,
        picture,
    })
}

/// The image whose first bytes these are.
async fn decoded(
    mut bytes: Vec<u8>,
    rest: impl tokio::io::AsyncRead + Unpin,
) -> Result<Picture, String> {
    let left = IMAGE_BYTES.saturating_sub(bytes.len()) as u64;
    let read = rest.take(left + 1).read_to_end(&mut bytes).await;
    read.map_err(|error| format!("its bytes can't be read: {error}"))?;
    if bytes.len() > IMAGE_BYTES {
        return Err(format!("it has more than {}", size(IMAGE_BYTES as u64)));
    }
    let decoded = tokio::task::spawn_blocking(move || decode(&bytes)).await;
    decoded.unwrap_or_else(|_| Err("it can't be decoded".to_owned()))
}

async fn turn_place(of: &dyn Deployment, session: &str, which: WhichTurn) -> Told<TurnPlace> {
    let (mut candidates, is_named) = match which {
        WhichTurn::This(id) => (vec![of.turn(session, &id).await?.turn], true),
        WhichTurn::Before(ref id) | WhichTurn::Behind(ref id) => {
            let query = ListQuery {
                limit: EMPTY_TURNS,
                after: Some(id.clone()),
                ascending: matches!(which, WhichTurn::Behind(_)),
            };
            let page = of.list_turns(session, &query).await?;
            let turns = page.data.into_iter().map(|read| read.turn);
            (turns.collect(), false)
        }
    };
    let mut last = None;
    candidates.reverse();
    while let Some(turn) = candidates.pop() {
        let items = first_items(of, session, &turn.id).await?;
        last = Some(turn);
        let Some(items) = items else {
            continue;
        };
        let known = last.iter().map(|turn| turn.id.clone()).collect();
        let turns = missing_turns(of, session, items.rows.iter(), &known).await?;
        return Ok(TurnPlace {
            turn: last,
            items: Some(items),
            turns,
        });
    }
    Ok(TurnPlace {
        turn: last.filter(|_| is_named),
        ..TurnPlace::default()
    })
}

/// The first Items of a Turn, and those behind them of whichever Turn.
async fn first_items(of: &dyn Deployment, session: &str, turn: &str) -> Told<Option<Chunk<Item>>> {
    let first = ListQuery {
        limit: 1,
        after: None,
        ascending: true,
    };
    let mut rows = of.list_items(session, Some(turn), &first).await?.data;
    let Some(id) = rows.iter().find_map(HasId::id).map(str::to_owned) else {
        return Ok(None);
    };
    let at = Where::After(id);
    let (query, backwards) = query(&at, ROWS, true);
    let page = of.list_items(session, None, &query).await?;
    let mut chunk = chunk(at, page, backwards);
    rows.append(&mut chunk.rows);
    let last = rows.iter().rev().find_map(HasId::id).map(str::to_owned);
    Ok(Some(Chunk {
        rows,
        cursor: chunk.cursor.or(last),
        ..chunk
    }))
}
