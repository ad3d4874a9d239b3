//! The canonical stories: each is told by a client who repeats what was not answered, and ends the same way whatever happens.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rat_things::api::TurnStatus;
use rat_things::engine::delivery::{DeliveryRow, DeliveryState, Notice};
use rat_things::engine::ids::SessionId;
use rat_things::engine::input::Body;
use rat_things::engine::keys;
use serde_json::json;

use super::client::{Clients, Said};
use super::fleet::Fleet;
use super::plan::Step;
use super::requests::{answer_to, owe};
use super::tell::{created, idle, only, pause, says, surely, turns, turns_are, until};
use super::world::OWNER;

/// See the module.
pub struct Story {
    /// As it is called.
    pub name: &'static str,
    /// What the agent does in every Turn.
    pub script: &'static [Step],
    /// The story.
    pub tell: fn(Clients, Arc<Fleet>) -> BoxFuture<'static, ()>,
    /// What must be true in the end.
    pub holds: fn(&Clients),
    /// By how much the clocks of its programs are ahead, one after the other; no entry: they agree. Nobody rings where they don't.
    pub clocks: &'static [i64],
}

const HOUR_MS: i64 = 3_600_000;

/// All of them.
pub const STORIES: &[Story] = &[
    Story {
        name: "create",
        script: &[Step::Say],
        tell: |clients, _| create(clients).boxed(),
        holds: |clients| turns_are(clients, &[&[TurnStatus::Completed]]),
        clocks: &[],
    },
    Story {
        name: "send",
        script: &[Step::Think, Step::Say],
        tell: |clients, _| send(clients).boxed(),
        holds: |clients| turns_are(clients, &[&[TurnStatus::Completed; 2]]),
        clocks: &[],
    },
    Story {
        name: "steer",
        script: &[Step::Tool { command: false }, Step::Say],
        tell: |clients, _| steer(clients).boxed(),
        holds: |clients| {
            // In time for the Turn, or too late and a Turn of its own.
            let completed = [TurnStatus::Completed; 3];
            turns_are(clients, &[&completed[..2], &completed]);
        },
        clocks: &[],
    },
    Story {
        name: "cancel",
        script: &[Step::Tool { command: false }, Step::Tool { command: false }],
        tell: |clients, _| cancel(clients).boxed(),
        holds: |clients| {
            let (done, cancelled) = (TurnStatus::Completed, TurnStatus::Cancelled);
            turns_are(clients, &[&[cancelled, done], &[done, done]]);
        },
        clocks: &[],
    },
    Story {
        name: "crowd",
        script: &[Step::Tool { command: false }, Step::Tool { command: false }],
        tell: |clients, _| crowd(clients).boxed(),
        holds: |clients| {
            let turns = turns(clients, &only(clients));
            let ended = [TurnStatus::Completed, TurnStatus::Cancelled];
            if turns.len() < 3 || !turns.iter().all(|turn| ended.contains(turn)) {
                clients
                    .parts
                    .shared
                    .broken("story", &format!("the turns are {turns:?}"));
            }
        },
        clocks: &[],
    },
    Story {
        name: "function call",
        script: &[Step::Ask(1), Step::Say],
        tell: |clients, _| function_call(clients).boxed(),
        holds: |clients| turns_are(clients, &[&[TurnStatus::Completed]]),
        clocks: &[],
    },
    Story {
        name: "worker loss",
        script: &[Step::Tool { command: true }, Step::Say],
        tell: |clients, fleet| worker_loss(clients, fleet).boxed(),
        holds: |clients| turns_are(clients, &[&[TurnStatus::Completed]]),
        clocks: &[],
    },
    Story {
        name: "clocks",
        script: &[Step::Tool { command: false }, Step::Say],
        tell: |clients, _| create(clients).boxed(),
        holds: |clients| turns_are(clients, &[&[TurnStatus::Completed]]),
        // Two daemons come first, then clients and workers.
        clocks: &[0, 3 * HOUR_MS, 40_000, -2 * HOUR_MS, HOUR_MS, -20_000],
    },
    Story {
        name: "delete",
        script: &[Step::Tool { command: true }],
        tell: |clients, _| delete(clients).boxed(),
        holds: |clients| {
            let rows = clients.parts.store.records();
            // What was created under which key is remembered.
            let left = rows.iter().filter(|r| !r.key.sort.starts_with("create/"));
            let left: Vec<String> = left.map(|r| r.key.to_string()).collect();
            if !left.is_empty() {
                clients
                    .parts
                    .shared
                    .broken("I14", &format!("left behind: {left:?}"));
            }
        },
        clocks: &[],
    },
    Story {
        name: "expiry",
        script: &[Step::Tool { command: true }, Step::Say],
        tell: |clients, _| expiry(clients).boxed(),
        holds: |clients| {
            // The Turn behind it was accepted before, so that it fails, too, unless both were quicker.
            let (done, failed) = (TurnStatus::Completed, TurnStatus::Failed);
            turns_are(
                clients,
                &[&[failed, failed], &[done, failed], &[done, done]],
            );
        },
        clocks: &[],
    },
    Story {
        name: "delivery",
        script: &[],
        tell: |clients, _| delivery(clients).boxed(),
        holds: |clients| {
            let session = only(clients);
            let row: Option<DeliveryRow> =
                clients.row(&session, keys::delivery(&delivery_id(&session)));
            let settled = row.is_some_and(|row| !row.state.is_owed());
            if !settled {
                clients
                    .parts
                    .shared
                    .broken("I9", "the delivery is not settled");
            }
        },
        clocks: &[],
    },
];

async fn create(clients: Clients) {
    let session = created(&clients, "none", Some("hello")).await;
    idle(&clients, &session).await;
}

async fn send(clients: Clients) {
    let session = created(&clients, "openai_hosted", None).await;
    for key in ["one", "two"] {
        surely(&clients, &session, key, &says(key)).await;
        idle(&clients, &session).await;
    }
}

async fn steer(clients: Clients) {
    let session = created(&clients, "none", Some("hello")).await;
    until(&clients, &session, |head| {
        head.turn.is_none() || head.turn.as_ref().is_some_and(|t| t.begun)
    })
    .await;
    surely(&clients, &session, "steer", &says("another thing")).await;
    let mut next = says("and then");
    next[0]["delivery"] = "next_turn".into();
    surely(&clients, &session, "next", &next).await;
    idle(&clients, &session).await;
}

async fn cancel(clients: Clients) {
    let session = created(&clients, "none", Some("hello")).await;
    let mut next = says("and then");
    next[0]["delivery"] = "next_turn".into();
    surely(&clients, &session, "next", &next).await;
    until(&clients, &session, |head| {
        head.turn
            .as_ref()
            .is_none_or(|t| t.number > 1 || !t.running.is_empty())
    })
    .await;
    let turn_id = rat_things::engine::view::turn_id(&session, 1);
    let event = json!([{ "type": "agent.session.input.cancel", "turn_id": turn_id }]);
    surely(&clients, &session, "cancel", &event).await;
    idle(&clients, &session).await;
}

/// Several clients at once: they steer, queue, and cancel what is queued.
async fn crowd(clients: Clients) {
    let session = created(&clients, "none", Some("hello")).await;
    for key in ["two", "three"] {
        let mut next = says(key);
        next[0]["delivery"] = "next_turn".into();
        surely(&clients, &session, key, &next).await;
    }
    let cancel = |turn| {
        let turn_id = rat_things::engine::view::turn_id(&session, turn);
        json!([{ "type": "agent.session.input.cancel", "turn_id": turn_id }])
    };
    let requests = [
        ("a", 60, says("a")),
        ("b", 90, cancel(2)),
        ("c", 120, says("c")),
        ("d", 150, cancel(3)),
        ("e", 200, says("e")),
    ];
    let at_once = requests.into_iter().map(|(key, after_ms, events)| {
        let (clients, session) = (clients.clone(), session.clone());
        async move {
            tokio::time::sleep(Duration::from_millis(after_ms)).await;
            surely(&clients, &session, key, &events).await;
        }
    });
    super::scene::all(at_once).await;
    idle(&clients, &session).await;
}

async fn function_call(clients: Clients) {
    let session = created(&clients, "none", Some("hello")).await;
    until(&clients, &session, |head| {
        head.turn.as_ref().is_none_or(|t| t.asks_client())
    })
    .await;
    loop {
        let look =
            async |core: &rat_things::engine::core::Core| core.get_session(OWNER, &session).await;
        if let Said::Ok(now) = clients.command("look", look).await
            && let Some(action) = now.required_actions.first()
        {
            let event = json!([answer_to(action, "42")]);
            surely(&clients, &session, "answer", &event).await;
            break;
        }
        pause().await;
    }
    idle(&clients, &session).await;
}

async fn worker_loss(clients: Clients, fleet: Arc<Fleet>) {
    let session = created(&clients, "openai_hosted", Some("hello")).await;
    until(&clients, &session, |head| {
        head.turn.as_ref().is_none_or(|t| !t.running.is_empty())
    })
    .await;
    for name in fleet.working() {
        if let Some(life) = fleet.life(&name) {
            life.die();
        }
    }
    idle(&clients, &session).await;
}

async fn delete(clients: Clients) {
    let session = created(&clients, "openai_hosted", Some("hello")).await;
    until(&clients, &session, |head| {
        head.turn.as_ref().is_none_or(|t| !t.running.is_empty())
    })
    .await;
    clients.memory().deleted.insert(session.clone(), true);
    while clients.exists(&session) {
        let gone = async |core: &rat_things::engine::core::Core| {
            core.delete_session(OWNER, &session).await
        };
        drop(clients.command("delete", gone).await);
        pause().await;
    }
    until(&clients, &session, |_| false).await;
}

/// An operator ends the environment for good while somebody works in it.
async fn expiry(clients: Clients) {
    let session = created(&clients, "openai_hosted", Some("hello")).await;
    let mut next = says("and then");
    next[0]["delivery"] = "next_turn".into();
    surely(&clients, &session, "next", &next).await;
    until(&clients, &session, |head| {
        head.turn.as_ref().is_none_or(|t| t.begun)
    })
    .await;
    loop {
        let expire = async |core: &rat_things::engine::core::Core| {
            core.expire_environment(OWNER, &session, "it is over").await
        };
        if let Said::Ok(_) = clients.command("expire", expire).await {
            break;
        }
        pause().await;
    }
    until(&clients, &session, |head| {
        head.expiry.as_ref().is_some_and(|expiry| expiry.erased)
    })
    .await;
}

fn notice() -> Notice {
    Notice {
        destination: "https://example.test".into(),
        event: "turn.completed".into(),
        about: "1".into(),
        body: Body::Inline("done".into()),
    }
}

fn delivery_id(session: &SessionId) -> String {
    notice().id(session)
}

async fn delivery(clients: Clients) {
    let session = created(&clients, "none", Some("hello")).await;
    idle(&clients, &session).await;
    let state = |clients: &Clients| {
        let row: Option<DeliveryRow> =
            clients.row(&session, keys::delivery(&delivery_id(&session)));
        row.map(|row| row.state)
    };
    while state(&clients).is_none() {
        drop(
            clients
                .command("notify", async |core| owe(core, &session, notice()).await)
                .await,
        );
        pause().await;
    }
    while state(&clients).is_some_and(DeliveryState::is_owed) {
        pause().await;
    }
}
