//! What an Agent's MCP servers are shown: in no record, given to the harness of each Turn, and refused where it is not meant. And the Items of their calls.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use rat_things::api::{CallStatus, Item, TurnStatus, WebSearchAction};
use rat_things::engine::core::Settings;
use rat_things::engine::error::EngineError;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{
    Claim, Harness, Observation, ToolEnd, ToolSecrets, TurnEnd, TurnLink, TurnTask,
};
use rat_things::engine::tools::{SecretsByLabel, ServedTools};
use serde_json::{Value, json};

use super::world::{OWNER, Setup, World};

const VALUE: &str = "planted-value-8812";

/// Remembers what it is given.
#[derive(Default)]
struct Remembers(Mutex<Vec<SecretsByLabel>>);

#[async_trait]
impl Harness for Remembers {
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd {
        self.0
            .lock()
            .expect("no panic")
            .push(task.tool_secrets.clone());
        let inputs = task.feed.iter().map(|feed| feed.input).collect();
        match link.saw(Observation::Took(inputs)).await {
            Ok(()) => TurnEnd::Completed,
            Err(_) => TurnEnd::Left,
        }
    }

    fn name(&self) -> &'static str {
        "test"
    }
}

fn world_with(harness: Arc<dyn Harness>) -> World {
    Setup {
        settings: Settings {
            batch_ms: 5,
            tools: ServedTools {
                mcp: true,
                web_search: true,
            },
            ..Settings::default()
        },
        harness: Some(harness),
        ..Setup::default()
    }
    .build()
}

fn server(label: &str, more: Value) -> Value {
    let mut tool = json!({"type": "mcp", "server_label": label,
        "transport": {"type": "http", "server_url": format!("https://{label}.example/")}});
    let fields = more.as_object().expect("fields").clone();
    tool.as_object_mut().expect("it is one").extend(fields);
    tool
}

fn with(tools: &[Value], vaults: &[&str]) -> Value {
    json!({"environment": {"type": "none"}, "agent": {"model": "demo", "tools": tools}, "vault_ids": vaults, "input": "go"})
}

fn is_recorded(world: &World) -> bool {
    let records = world.store.records();
    records
        .iter()
        .any(|record| String::from_utf8_lossy(&record.value).contains(VALUE))
}

/// A vault, and in it a credential for the server `web`.
async fn vault(world: &World) -> (String, String) {
    let params = serde_json::from_value(json!({"name": "v"})).expect("parameters");
    let vault = world
        .core
        .create_vault(OWNER, params)
        .await
        .expect("created");
    let params = json!({"name": "c", "auth":
        {"type": "static_bearer", "token": VALUE, "mcp_server_url": "https://web.example/"}});
    let params = serde_json::from_value(params).expect("parameters");
    let credential = world.core.create_credential(OWNER, &vault.id, params).await;
    (vault.id, credential.expect("created").id)
}

#[tokio::test(start_paused = true)]
pub async fn a_harness_is_given_what_servers_are_shown_and_no_record_holds_it() {
    let remembers = Arc::new(Remembers::default());
    let world = world_with(Arc::clone(&remembers) as Arc<dyn Harness>);
    let (vault, credential) = vault(&world).await;
    let mut own = server("own", json!({}));
    own["transport"]["headers"] = json!({"x-key": VALUE});
    let web = server("web", json!({"credential_id": credential}));
    let session = world.create(with(&[own, web], &[&vault])).await;
    world.settled(&session).await;
    let given = remembers.0.lock().expect("no panic").remove(0);
    assert_eq!(given["own"].headers["x-key"].reveal(), VALUE);
    let bearer = given["web"].authorization.as_ref().expect("it is shown");
    assert_eq!(bearer.reveal(), format!("Bearer {VALUE}"));
    assert!(!is_recorded(&world) && !format!("{given:?}").contains(VALUE));
    // Tools that are replaced take theirs with them.
    let params = json!({"agent": {"tools": [server("own", json!({}))]}});
    let params = serde_json::from_value(params).expect("parameters");
    world
        .core
        .update_session(OWNER, &session, &params)
        .await
        .expect("changed");
    world.say(&session, "a", "again").await;
    world.settled(&session).await;
    let given = remembers.0.lock().expect("no panic").remove(0);
    assert_eq!(
        given.get("own").cloned().unwrap_or_default(),
        ToolSecrets::default()
    );
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed; 2]);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_credential_is_for_its_server_alone_and_without_it_the_turn_fails() {
    let world = world_with(Arc::new(Remembers::default()));
    let (vault, credential) = vault(&world).await;
    let other = server("other", json!({"credential_id": credential}));
    let web = server("web", json!({"credential_id": credential}));
    for (tool, vaults) in [(&other, vec![vault.as_str()]), (&web, vec![])] {
        let refused = world
            .try_create(with(std::slice::from_ref(tool), &vaults))
            .await;
        let Err(EngineError::Invalid { param, message }) = refused else {
            panic!("it is refused: {refused:?}");
        };
        assert_eq!(param.as_deref(), Some("agent.tools[0].credential_id"));
        assert!(!message.contains(VALUE));
    }
    let session = world.create(with(&[web], &[&vault])).await;
    world.settled(&session).await;
    world
        .core
        .delete_credential(OWNER, &vault, &credential)
        .await
        .expect("deleted");
    world.say(&session, "a", "again").await;
    world.settled(&session).await;
    assert_eq!(
        world.turns(&session).await,
        [TurnStatus::Completed, TurnStatus::Failed]
    );
    world.sound();
}

/// Calls two tools of a server, of which the second has no end, and searches.
struct Calls;

#[async_trait]
impl Harness for Calls {
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd {
        let inputs = task.feed.iter().map(|feed| feed.input).collect();
        let claim = |call_id: &str, tool: &str| Claim {
            call_id: call_id.into(),
            name: format!("mcp__calc__{tool}"),
            arguments: r#"{"a":1}"#.into(),
            command: tool.into(),
            cwd: None,
            server_label: Some("calc".into()),
        };
        let done = async {
            link.saw(Observation::Took(inputs)).await?;
            let native = json!({"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}});
            link.saw(Observation::WebSearch { native }).await?;
            link.claim(claim("c1", "add")).await?;
            let answer = r#"{"result":{"content":[{"type":"text","text":"2"}]}}"#;
            let end = ToolEnd {
                status: CallStatus::Completed,
                exit_code: None,
                output: answer.into(),
                duration_ms: 3,
            };
            link.saw(Observation::ToolEnded {
                call_id: "c1".into(),
                end,
                output: "2".into(),
            })
            .await?;
            link.claim(claim("c2", "halt")).await
        };
        match done.await {
            Ok(()) => TurnEnd::Completed,
            Err(_) => TurnEnd::Left,
        }
    }

    fn name(&self) -> &'static str {
        "test"
    }
}

#[tokio::test(start_paused = true)]
pub async fn a_call_of_a_server_and_a_search_are_items_of_their_own_kind() {
    let world = world_with(Arc::new(Calls));
    let session: SessionId = world.create(with(&[], &[])).await;
    world.settled(&session).await;
    let items = world.items(&session).await;
    let [
        _,
        Item::WebSearchCall(search),
        Item::McpCall(add),
        Item::McpCall(halt),
    ] = &items[..]
    else {
        panic!("{items:#?}");
    };
    assert!(
        matches!(&search.action, Some(WebSearchAction::Search { query: Some(query), .. }) if query == "q")
    );
    assert_eq!(
        (add.server_label.as_str(), add.name.as_str(), add.status),
        ("calc", "add", CallStatus::Completed)
    );
    assert_eq!(add.said(), "2");
    assert_eq!(add.arguments, json!({"a": 1}));
    assert_eq!(
        (halt.name.as_str(), halt.status),
        ("halt", CallStatus::Incomplete)
    );
    assert!(halt.said().starts_with("outcome unknown"), "{halt:?}");
    world.sound();
}
