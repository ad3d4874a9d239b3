//! How stories are told: by a client who repeats what was not answered, and looks at the records to know where it stands.

use std::time::Duration;

use rat_things::api::TurnStatus;
use rat_things::engine::ids::SessionId;
use rat_things::engine::input::InputState;
use rat_things::engine::keys;
use rat_things::engine::session::Head;
use rat_things::engine::turn::TurnRow;
use serde_json::{Value, json};

use super::client::Clients;

/// The only Session of a story.
pub fn only(clients: &Clients) -> SessionId {
    let memory = clients.memory();
    let mut ids = memory.created.values().filter_map(|(_, id)| id.clone());
    ids.next().expect("the story created it")
}

/// The states of a Session's Turns, in order.
pub fn turns(clients: &Clients, session: &SessionId) -> Vec<TurnStatus> {
    let row = |n| clients.row::<TurnRow>(session, keys::turn(n));
    (1..).map_while(row).map(|row| row.status).collect()
}

/// The Turns ended in one of these ways, and every input has its end.
pub fn turns_are(clients: &Clients, possible: &[&[TurnStatus]]) {
    let session = only(clients);
    let turns = turns(clients, &session);
    let shared = &clients.parts.shared;
    if !possible.contains(&turns.as_slice()) {
        shared.broken(
            "story",
            &format!("the turns are {turns:?}, which is none of {possible:?}"),
        );
    }
    let inputs = clients
        .parts
        .watch
        .head(&session)
        .map_or(1, |head| head.next.input);
    for input in 1..inputs {
        let end = clients.end_of(&session, input);
        if matches!(
            end,
            None | Some(InputState::Accepted | InputState::Failed { .. })
        ) {
            shared.broken("I1", &format!("input {input} ended as {end:?}"));
        }
    }
}

/// Creates the Session, however often it takes.
pub async fn created(clients: &Clients, environment: &str, input: Option<&str>) -> SessionId {
    let mut request = json!({
        "environment": { "type": environment },
        "agent": { "model": "m", "tools": [
            { "type": "function", "name": "ask", "description": "d", "parameters": {} },
        ]},
    });
    if let Some(input) = input {
        request["input"] = input.into();
    }
    loop {
        if let Some(id) = clients.create("c", &request).await {
            return id;
        }
        pause().await;
    }
}

/// A little time passes.
pub async fn pause() {
    tokio::time::sleep(Duration::from_millis(150)).await;
}

/// Waits until the head is so, or there is none.
pub async fn until(clients: &Clients, session: &SessionId, so: impl Fn(&Head) -> bool) {
    while !clients
        .parts
        .watch
        .head(session)
        .is_none_or(|head| so(&head))
    {
        pause().await;
    }
}

/// Waits until the Session owes nothing.
pub async fn idle(clients: &Clients, session: &SessionId) {
    until(clients, session, |head| {
        head.turn.is_none() && head.fence.lease.is_none()
    })
    .await;
}

/// A message.
pub fn says(text: &str) -> Value {
    json!([{
        "type": "agent.session.input.message",
        "input": [{ "role": "user", "content": [{ "type": "input_text", "text": text }] }],
    }])
}

/// Sends, however often it takes.
pub async fn surely(clients: &Clients, session: &SessionId, key: &str, events: &Value) {
    while clients.insist(session, key, events).await.is_none() {
        pause().await;
    }
}
