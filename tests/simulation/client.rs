//! What clients ask for and what they are told: every answer is held against the records at once, and again at the end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use rat_things::api;
use rat_things::engine::accept::Accepted;
use rat_things::engine::core::Core;
use rat_things::engine::error::EngineError;
use rat_things::engine::ids::SessionId;
use rat_things::engine::input::InputState;
use rat_things::engine::keys;
use rat_things::engine::ports::{Key, Store};
use rat_things::engine::receipt::{Outcome, ReceiptRow};
use rat_things::engine::turn::TurnRow;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::parts::Parts;
use super::sabotage::Sabotage;
use super::world::OWNER;

/// How one command of a client ended.
pub enum Said<T> {
    /// It happened, and this is the answer.
    Ok(T),
    /// It did not happen.
    No(EngineError),
    /// Nobody knows.
    Perhaps,
}

/// A submission and what is known of it.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Whose.
    pub session: SessionId,
    /// Its key.
    pub key: String,
    /// Its body.
    pub events: Value,
    /// What was answered.
    pub told: Option<ReceiptRow>,
}

/// Everything that clients remember.
#[derive(Default)]
pub struct Memory {
    /// Sessions by the key they were created under.
    pub created: BTreeMap<String, (Value, Option<SessionId>)>,
    /// Submissions that may have been accepted.
    pub sent: Vec<Sent>,
    /// Sessions that somebody wanted deleted, and whether that was confirmed.
    pub deleted: BTreeMap<SessionId, bool>,
    /// Ids of events that a follower was told.
    pub followed: BTreeMap<SessionId, Vec<String>>,
    /// Results that are to be told to somebody: Session and Turn.
    pub notices: Vec<(SessionId, u64)>,
}

/// Clients of one world. Clones are the same.
#[derive(Clone)]
pub struct Clients {
    /// The world.
    pub parts: Parts,
    memory: Arc<Mutex<Memory>>,
}

impl Clients {
    /// Nobody has asked for anything yet.
    pub fn new(parts: &Parts) -> Clients {
        Clients {
            parts: parts.clone(),
            memory: Arc::default(),
        }
    }

    /// What they remember.
    pub fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("no program panics with it")
    }

    /// Runs one command in a process of its own, which may be killed.
    pub async fn command<T>(
        &self,
        what: &str,
        work: impl AsyncFnOnce(&Core) -> Result<T, EngineError>,
    ) -> Said<T> {
        let life = self.parts.client(what);
        let core = self.parts.core(&life);
        let shared = &self.parts.shared;
        let answer = tokio::select! {
            biased;
            answer = work(&core) => Some(answer),
            () = life.died() => None,
        };
        let (word, said) = match answer {
            None => ("killed".to_owned(), Said::Perhaps),
            Some(Ok(value)) => ("ok".to_owned(), Said::Ok(value)),
            Some(Err(error)) => {
                let word = format!("{error:?}");
                let word = word
                    .split([' ', '(', '{'])
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                match error {
                    EngineError::Unknown(_) => (word, Said::Perhaps),
                    error => (word, Said::No(error)),
                }
            }
        };
        shared.note(format_args!("client: {what}: {word}"));
        shared.count("commands");
        said
    }

    /// A row as it is stored.
    pub fn stored<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        let record = self.parts.store.get(key).now_or_never()?.ok()??;
        serde_json::from_slice(&record.value).ok()
    }

    /// A row of a Session as it is stored.
    pub fn row<T: DeserializeOwned>(&self, session: &SessionId, sort: String) -> Option<T> {
        self.stored(&Key::new(keys::session_partition(session), sort))
    }

    fn broken(&self, promise: &str, what: String) {
        self.parts.shared.broken(promise, &what);
    }

    /// Whether the Session is there for its owner.
    pub fn exists(&self, session: &SessionId) -> bool {
        let head = self.parts.watch.head(session);
        head.is_some_and(|head| head.deleted_ms.is_none())
    }

    /// Creates a Session under a key; once, however often it is called.
    pub async fn create(&self, key: &str, request: &Value) -> Option<SessionId> {
        let params = api::parse_session_create(request.to_string().as_bytes()).ok()?;
        let begun = self.memory().created.contains_key(key);
        if !begun {
            let entry = (request.clone(), None);
            self.memory().created.insert(key.to_owned(), entry);
        }
        let said = self
            .command(&format!("create {key}"), async |core| {
                core.create_session(OWNER, Some(key), &params).await
            })
            .await;
        let Said::Ok(created) = said else {
            return None;
        };
        let id = created.session;
        if !self.exists(&id) && !self.memory().deleted.contains_key(&id) {
            self.broken("I1", format!("{id} was confirmed and does not exist"));
        }
        let mut memory = self.memory();
        let earlier = memory.created.get(key).and_then(|(_, id)| id.clone());
        if earlier.as_ref().is_some_and(|earlier| *earlier != id) {
            drop(memory);
            self.broken("I2", format!("{key} created {id} and {earlier:?}"));
            return None;
        }
        memory
            .created
            .insert(key.to_owned(), (request.clone(), Some(id.clone())));
        Some(id)
    }

    /// Sends events under a key once.
    pub async fn send(&self, session: &SessionId, key: &str, events: &Value) -> Said<Accepted> {
        let body = json!({ "events": events }).to_string();
        let Ok(params) = api::parse_events(body.as_bytes()) else {
            return Said::Perhaps;
        };
        let said = self
            .command(&format!("send {key}"), async |core| {
                core.send(OWNER, session, key, &params.events).await
            })
            .await;
        let known = self.known(session, key);
        match &said {
            Said::Ok(accepted) => self.accepted(session, key, events, accepted),
            Said::No(error) => {
                if self.parts.sabotage == Sabotage::StoreRefusal {
                    self.remember_refusal(session, key, error).await;
                }
                let stored: Option<ReceiptRow> = self.receipt(session, key);
                if known.is_none() && stored.is_some() {
                    let what = format!("{session}: {key} was refused ({error}), and is remembered");
                    self.broken("I2", what);
                }
            }
            Said::Perhaps => {
                if known.is_none() {
                    let sent = Sent {
                        session: session.clone(),
                        key: key.to_owned(),
                        events: events.clone(),
                        told: None,
                    };
                    self.memory().sent.push(sent);
                }
            }
        }
        said
    }

    /// What is known of a submission under this key, if it may have been accepted.
    pub fn known(&self, session: &SessionId, key: &str) -> Option<Sent> {
        let memory = self.memory();
        let mut sent = memory.sent.iter();
        sent.find(|sent| sent.session == *session && sent.key == key)
            .cloned()
    }

    fn receipt<T: DeserializeOwned>(&self, session: &SessionId, key: &str) -> Option<T> {
        self.row(session, keys::receipt(&keys::key_hash(key)))
    }

    async fn remember_refusal(&self, session: &SessionId, key: &str, error: &EngineError) {
        use rat_things::engine::ports::{Change, Commit, CommitId, Guard, Write};
        if !matches!(
            error,
            EngineError::Invalid { .. } | EngineError::Conflict(_)
        ) {
            return;
        }
        let row = json!({ "digest": "", "first_input": 0, "outcomes": [], "accepted_ms": 1 });
        let sort = keys::receipt(&keys::key_hash(key));
        let write = Write {
            key: Key::new(keys::session_partition(session), sort),
            guard: Guard::Absent,
            change: Change::Put(row.to_string().into_bytes()),
        };
        let id = CommitId::random(&self.parts.shared.chance);
        let commit = Commit {
            id,
            writes: vec![write].into(),
        };
        let _ = self.parts.store.commit(commit).await;
    }

    /// A submission was answered with a receipt.
    fn accepted(&self, session: &SessionId, key: &str, events: &Value, accepted: &Accepted) {
        let receipt = &accepted.receipt;
        if self.exists(session) {
            let stored: Option<ReceiptRow> = self.receipt(session, key);
            if stored.as_ref() != Some(receipt) {
                let what = format!("{session}: told {receipt:?} for {key}, stored {stored:?}");
                self.broken("I1", what);
            }
            self.outcomes_are_true(session, accepted);
        }
        let mut memory = self.memory();
        let mut sent = memory.sent.iter_mut();
        match sent.find(|sent| sent.session == *session && sent.key == key) {
            Some(sent) => {
                if sent.told.as_ref().is_some_and(|told| told != receipt) {
                    let what = format!(
                        "{session}: {key} was told {:?}, then {receipt:?}",
                        sent.told
                    );
                    self.parts.shared.broken("I2", &what);
                }
                sent.told = Some(receipt.clone());
            }
            None => memory.sent.push(Sent {
                session: session.clone(),
                key: key.to_owned(),
                events: events.clone(),
                told: Some(receipt.clone()),
            }),
        }
    }

    /// What was said to have happened has happened.
    fn outcomes_are_true(&self, session: &SessionId, accepted: &Accepted) {
        for (at, outcome) in (0..).zip(&accepted.receipt.outcomes) {
            let input = accepted.receipt.first_input + at;
            let row: Option<Value> = self.row(session, keys::input(input));
            if row.is_none() {
                self.broken(
                    "I1",
                    format!("{session}: input {input} was confirmed and is not stored"),
                );
            }
            if let Outcome::Cancelled { turn } = outcome {
                let row: Option<TurnRow> = self.row(session, keys::turn(*turn));
                if row.is_none_or(|row| row.status != api::TurnStatus::Cancelled) {
                    self.broken(
                        "I5",
                        format!("{session}: turn {turn} is not cancelled, as was said"),
                    );
                }
            }
        }
    }

    /// Sends until it is known what became of it.
    pub async fn insist(&self, session: &SessionId, key: &str, events: &Value) -> Option<Accepted> {
        for attempt in 0..12 {
            match self.send(session, key, events).await {
                Said::Ok(accepted) => return Some(accepted),
                Said::No(EngineError::Busy { .. } | EngineError::Unavailable(_))
                | Said::Perhaps => {}
                Said::No(_) => return None,
            }
            tokio::time::sleep(Duration::from_millis(300 << attempt.min(4))).await;
        }
        None
    }

    /// How an input ended, if it has.
    pub fn end_of(&self, session: &SessionId, input: u64) -> Option<InputState> {
        let end: Option<rat_things::engine::input::EndRow> =
            self.row(session, keys::input_end(input));
        let at_once: Option<rat_things::engine::input::InputRow> =
            self.row(session, keys::input(input));
        end.map(|end| end.state).or(at_once.map(|row| row.state))
    }
}
