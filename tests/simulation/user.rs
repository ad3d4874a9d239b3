//! A user: does what users do, at random, at bad moments, and again when an answer did not come.

use std::sync::Arc;
use std::time::Duration;

use rat_things::api;
use rat_things::engine::core::Core;
use rat_things::engine::delivery::Notice;
use rat_things::engine::error::EngineError;
use rat_things::engine::ids::{self, Kind, SessionId};
use rat_things::engine::input::Body;
use rat_things::engine::keys;
use rat_things::engine::read::ListQuery;
use serde_json::{Value, json};

use super::client::{Clients, Said};
use super::requests::{answer_to, event_id, owe};
use super::shared::Shared;
use super::world::OWNER;

/// Sessions that users create at most.
const SESSIONS: usize = 3;

/// See the module.
pub struct User {
    clients: Clients,
    shared: Arc<Shared>,
    number: u64,
    /// Submissions so far; makes their keys.
    submissions: u64,
}

impl User {
    /// One of several.
    pub fn new(clients: &Clients, number: u64) -> User {
        User {
            clients: clients.clone(),
            shared: Arc::clone(&clients.parts.shared),
            number,
            submissions: 0,
        }
    }

    /// Acts until then (virtual time since the beginning).
    pub async fn act(mut self, until_ms: u64) {
        while self.shared.elapsed_ms() < until_ms && !self.shared.failed() {
            let pause_ms = match self.shared.below(4) {
                0 => 0,
                1 => self.shared.below(60),
                _ => self.shared.below(1_500),
            };
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
            self.once().await;
        }
    }

    fn key(&mut self) -> String {
        self.submissions += 1;
        format!("u{}-{}", self.number, self.submissions)
    }

    /// A Session that is known to exist.
    fn session(&self) -> Option<SessionId> {
        let memory = self.clients.memory();
        let known: Vec<SessionId> = memory
            .created
            .values()
            .filter_map(|(_, id)| id.clone())
            .collect();
        drop(memory);
        let at = self.shared.below(known.len().max(1) as u64) as usize;
        known.get(at).cloned()
    }

    async fn once(&mut self) {
        let few = self.clients.memory().created.len() < SESSIONS;
        let Some(session) = self.session() else {
            return if few {
                self.create().await
            };
        };
        match self.shared.below(100) {
            0..=7 if few => self.create().await,
            0..=7 => self.read(&session).await,
            8..=30 => self.say(&session).await,
            31..=39 => self.cancel(&session).await,
            40..=66 => self.answer(&session).await,
            67..=72 => self.repeat().await,
            73..=76 => self.refused(&session).await,
            77..=81 => self.read(&session).await,
            82 => self.update(&session).await,
            83 => self.create_otherwise().await,
            84..=88 => self.follow(&session).await,
            89..=92 => self.notice(&session).await,
            93..=98 => self.vouch(&session).await,
            _ => self.delete(&session).await,
        }
    }

    async fn create(&mut self) {
        let key = format!("c{}-{}", self.number, self.clients.memory().created.len());
        let environment = match self.shared.below(2) {
            0 => "openai_hosted",
            _ => "none",
        };
        let mut request = json!({
            "environment": { "type": environment },
            "agent": { "model": "m", "tools": [
                { "type": "function", "name": "ask", "description": "d", "parameters": {} },
            ]},
        });
        if environment == "none" || self.shared.below(2) == 0 {
            request["input"] = self.words(3).into();
        }
        for _ in 0..4 {
            if self.clients.create(&key, &request).await.is_some() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Creates something else under a key that was used.
    async fn create_otherwise(&self) {
        let created = self.clients.memory().created.clone();
        let Some((key, (request, Some(_)))) = created.into_iter().next() else {
            return;
        };
        let mut other = request;
        other["agent"]["model"] = "another".into();
        let Ok(params) = api::parse_session_create(other.to_string().as_bytes()) else {
            return;
        };
        let create = async |core: &Core| core.create_session(OWNER, Some(&key), &params).await;
        if let Said::Ok(created) = self.clients.command("create otherwise", create).await {
            let what = format!("{key} took another body and answered {created:?}");
            self.shared.broken("I2", &what);
        }
    }

    async fn update(&self, session: &SessionId) {
        let update = json!({ "metadata": { "n": self.shared.below(9).to_string() } });
        if let Ok(params) = api::parse_session_update(update.to_string().as_bytes()) {
            let update = async |core: &Core| core.update_session(OWNER, session, &params).await;
            drop(self.clients.command("update", update).await);
        }
    }

    /// Words that a model which follows its users can follow; each of them once in the world.
    fn words(&self, most: u64) -> String {
        let lines = 1 + self.shared.below(most * 2);
        let line = |_| {
            let unique = self.shared.below(u64::MAX);
            match self.shared.below(8) {
                0 | 1 => format!("@say {unique}"),
                2 => format!("@say {}", format!("{unique} ").repeat(6)),
                3 => format!("@reason {unique}"),
                4 | 5 => format!("@exec {unique}"),
                6 => format!("@sleep {}", self.shared.below(3_000)),
                _ => "@call ask {}".to_owned(),
            }
        };
        let lines: Vec<String> = (0..lines).map(line).collect();
        lines.join("\n")
    }

    fn message(&self, next_turn: bool, messages: u64) -> Value {
        let one = |_| {
            let text = self.words(2);
            json!({ "role": "user", "content": [{ "type": "input_text", "text": text }] })
        };
        let input: Vec<Value> = (0..messages).map(one).collect();
        let mut event = json!({ "type": "agent.session.input.message", "input": input });
        if next_turn {
            event["delivery"] = "next_turn".into();
        }
        event
    }

    async fn say(&mut self, session: &SessionId) {
        let next_turn = self.shared.below(3) == 0;
        let messages = [1, 1, 1, 2, 3][self.shared.below(5) as usize];
        let mut events = vec![self.message(next_turn, messages)];
        if self.shared.below(8) == 0 {
            events.push(self.message(true, 1));
        }
        if self.shared.below(10) == 0 {
            // Several things in one request happen in their order, or not at all.
            let cancel = json!({ "type": "agent.session.input.cancel" });
            events.insert(self.shared.below(events.len() as u64 + 1) as usize, cancel);
        }
        let key = self.key();
        self.submit(session, &key, &Value::from(events)).await;
    }

    /// Sends, and mostly insists on an answer.
    async fn submit(&self, session: &SessionId, key: &str, events: &Value) {
        match self.shared.below(5) {
            0 => drop(self.clients.send(session, key, events).await),
            _ => drop(self.clients.insist(session, key, events).await),
        }
    }

    async fn cancel(&mut self, session: &SessionId) {
        let mut event = json!({ "type": "agent.session.input.cancel" });
        let head = self.clients.parts.watch.head(session);
        let turns = head.map_or(1, |head| head.next.turn);
        if turns > 1 && self.shared.below(4) > 0 {
            let turn = 1 + self.shared.below(turns - 1);
            event["turn_id"] = ids::derived(Kind::Turn, session, turn).into();
        }
        let key = self.key();
        self.submit(session, &key, &json!([event])).await;
    }

    /// Answers what a Session waits for; sometimes again, and sometimes otherwise.
    async fn answer(&mut self, session: &SessionId) {
        let said = self
            .clients
            .command("look", async |core| core.get_session(OWNER, session).await)
            .await;
        let Said::Ok(now) = said else { return };
        let Some(action) = now.required_actions.first() else {
            return;
        };
        let key = self.key();
        let event = answer_to(action, "42");
        self.submit(session, &key, &json!([event])).await;
        if self.shared.below(3) == 0 {
            let other = [("42"), ("43")][self.shared.below(2) as usize];
            let key = self.key();
            let event = answer_to(action, other);
            self.submit(session, &key, &json!([event])).await;
        }
    }

    /// Sends again what was sent before: the same, or something else under the same key.
    async fn repeat(&mut self) {
        let sent = self.clients.memory().sent.clone();
        let at = self.shared.below(sent.len().max(1) as u64) as usize;
        let Some(sent) = sent.get(at) else { return };
        if self.shared.below(2) == 0 {
            let said = self
                .clients
                .send(&sent.session, &sent.key, &sent.events)
                .await;
            let fresh = matches!(&said, Said::Ok(accepted) if !accepted.repeated);
            if fresh && sent.told.is_some() {
                let what = format!("{}: {} was accepted twice", sent.session, sent.key);
                self.shared.broken("I2", &what);
            }
            return;
        }
        if sent.told.is_none() {
            return;
        }
        let mut other = self.message(false, 1);
        other["input"][0]["content"][0]["text"] = "something else".into();
        let other = json!([other]);
        if let Said::Ok(accepted) = self.clients.send(&sent.session, &sent.key, &other).await {
            let what = format!(
                "{}: {} took another body: {accepted:?}",
                sent.session, sent.key
            );
            self.shared.broken("I2", &what);
        }
    }

    /// Asks for what is refused, and then for something else under the same key.
    async fn refused(&mut self, session: &SessionId) {
        let key = self.key();
        let event = json!({
            "type": "agent.session.input.tool_result",
            "turn_id": ids::derived(Kind::Turn, session, 1), "call_id": "nobody asked",
            "success": true, "output": "42",
        });
        let said = self.clients.send(session, &key, &json!([event])).await;
        if let Said::Ok(accepted) = &said {
            let what = format!("{session}: an answer that nobody asked for: {accepted:?}");
            self.shared.broken("I5", &what);
        }
        if matches!(said, Said::No(EngineError::Invalid { .. })) {
            let events = json!([self.message(false, 1)]);
            let said = self.clients.send(session, &key, &events).await;
            if matches!(said, Said::No(EngineError::KeyReused { .. })) {
                self.shared.broken(
                    "I2",
                    &format!("{session}: the refusal under {key} is remembered"),
                );
            }
        }
    }

    async fn read(&mut self, session: &SessionId) {
        // Before it begins: a read beside a deletion may come first.
        let confirmed = self.clients.memory().deleted.get(session) == Some(&true);
        let query = ListQuery {
            limit: 20,
            ascending: true,
            after: None,
        };
        let said = self
            .clients
            .command("read", async |core| {
                let read = core.read_session(OWNER, session).await?;
                core.list_items(&read, None, &query).await?;
                core.list_turns(&read, &query).await
            })
            .await;
        if matches!(said, Said::Ok(_)) && confirmed {
            self.shared
                .broken("I14", &format!("{session} is deleted and can be read"));
        }
        if self.shared.below(4) == 0 {
            let other = "ffffffffffffffffffffffffffffffff";
            let said = self
                .clients
                .command("read as another", async |core| {
                    core.get_session(other, session).await
                })
                .await;
            if let Said::Ok(_) = said {
                self.shared
                    .broken("I3", &format!("{session} was shown to somebody else"));
            }
        }
    }

    /// Reads the events behind those that were read before.
    pub async fn follow(&self, session: &SessionId) {
        let after = {
            let memory = self.clients.memory();
            memory
                .followed
                .get(session)
                .and_then(|told| told.last().cloned())
        };
        let limit = 1 + self.shared.below(6) as usize;
        let said = self
            .clients
            .command("follow", async |core| {
                let read = core.read_session(OWNER, session).await?;
                core.list_events(&read, after.as_deref(), limit).await
            })
            .await;
        let Said::Ok((events, _)) = said else { return };
        let told = events.iter().map(event_id);
        let mut memory = self.clients.memory();
        let followed = memory.followed.entry(session.clone()).or_default();
        // Somebody else may have read on meanwhile.
        if followed.last() == after.as_ref() {
            followed.extend(told);
        }
    }

    /// Somebody is to be told of a Turn that has ended.
    async fn notice(&mut self, session: &SessionId) {
        let Some(head) = self.clients.parts.watch.head(session) else {
            return;
        };
        let turn = 1 + self.shared.below(head.next.turn.max(1));
        if self
            .clients
            .row::<Value>(session, keys::turn(turn))
            .is_none()
        {
            return;
        }
        self.clients.memory().notices.push((session.clone(), turn));
        let body = self.words(2);
        let said = self
            .clients
            .command("notify", async |core| {
                let scope = core.scope(OWNER, session);
                let body: Body = core.keep(&scope, body.clone().into()).await?;
                let notice = Notice {
                    destination: "https://example.test".into(),
                    event: "turn.completed".into(),
                    about: turn.to_string(),
                    body,
                };
                owe(core, session, notice).await
            })
            .await;
        drop(said);
    }

    /// An operator vouches for the end of a worker that is missed, rightly or not.
    async fn vouch(&mut self, session: &SessionId) {
        let quarantined = self.clients.parts.watch.head(session);
        if quarantined
            .is_some_and(|head| head.fence.quarantine.is_some() && head.deleted_ms.is_none())
        {
            self.shared.count("operators vouch");
            let said = self
                .clients
                .command("vouch", async |core| {
                    core.release_quarantine(OWNER, session).await
                })
                .await;
            drop(said);
        }
    }

    async fn delete(&mut self, session: &SessionId) {
        if self.shared.below(3) > 0 {
            return;
        }
        self.clients
            .memory()
            .deleted
            .entry(session.clone())
            .or_default();
        for _ in 0..6 {
            let said = self
                .clients
                .command("delete", async |core| {
                    core.delete_session(OWNER, session).await
                })
                .await;
            if matches!(said, Said::Ok(()) | Said::No(EngineError::NotFound { .. })) {
                self.clients.memory().deleted.insert(session.clone(), true);
                if self.clients.exists(session) {
                    self.shared
                        .broken("I14", &format!("{session} was deleted and is there"));
                }
                return;
            }
            tokio::time::sleep(Duration::from_millis(400)).await;
        }
    }
}
