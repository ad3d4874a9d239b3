//! A complete engine in memory: one store, one dispatcher, workers as tasks, the demo model, scripted environments.

use std::sync::Arc;
use std::time::Duration;

use rat_things::api::{self, Item, TurnStatus};
use rat_things::backend::harness::responses::{Options, ResponsesHarness};
use rat_things::backend::local::clock::SystemClock;
use rat_things::backend::local::compute::InProcessCompute;
use rat_things::backend::local::ids::SystemIds;
use rat_things::backend::memory::MemoryStore;
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::backend::memory::blobs::MemoryBlobs;
use rat_things::backend::memory::environments::{Files, Scripted, ScriptedEnvironments};
use rat_things::backend::model::demo::DemoModel;
use rat_things::engine::accept::Accepted;
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::error::EngineError;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{Environments, ExecSpec, Harness, Model};
use rat_things::engine::read::ListQuery;
use rat_things::engine::run::Worker;
use tokio::sync::watch;

/// The owner of everything in these tests.
pub const OWNER: &str = "0123456789abcdef0123456789abcdef";

/// See the module.
pub struct World {
    /// The engine.
    pub core: Core,
    /// The store, to look at records.
    pub store: Arc<MemoryStore>,
    /// Where commands run.
    pub environments: Arc<ScriptedEnvironments>,
    /// The worker.
    pub worker: Arc<Worker>,
    /// Runs that go on.
    pub compute: InProcessCompute,
    stop: watch::Sender<bool>,
}

impl World {
    /// A world whose commands print what they are.
    pub fn new() -> World {
        World::with(|spec, _| Scripted::ok(format!("{:?}", spec.program)))
    }

    /// A world whose commands do what `script` says.
    pub fn with(
        script: impl Fn(&ExecSpec, &mut Files) -> Scripted + Send + Sync + 'static,
    ) -> World {
        World::over(Arc::new(MemoryStore::new()), Arc::new(DemoModel), script)
    }

    /// A world over a given store and model.
    pub fn over(
        store: Arc<MemoryStore>,
        model: Arc<dyn Model>,
        script: impl Fn(&ExecSpec, &mut Files) -> Scripted + Send + Sync + 'static,
    ) -> World {
        let core = Core {
            store: store.clone(),
            blobs: Arc::new(MemoryBlobs::new()),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            bell: Arc::new(MemoryBell::new()),
            settings: Settings {
                batch_ms: 5,
                ..Settings::default()
            },
        };
        let environments = Arc::new(ScriptedEnvironments::new(script));
        let harness: Arc<dyn Harness> = Arc::new(ResponsesHarness::new(model, Options::default()));
        let worker = Worker::new(core.clone(), harness, environments.clone());
        worker.listen();
        let runner = worker.clone();
        let compute = InProcessCompute::new(
            Arc::new(move |grant| {
                let runner = runner.clone();
                Box::pin(async move { runner.run(grant).await })
            }),
            1_000,
        )
        .expect("there is a /proc");
        let (stop, stopped) = watch::channel(false);
        let dispatcher = Dispatcher::new(
            core.clone(),
            Arc::new(compute.clone()),
            environments.clone() as Arc<dyn Environments>,
        );
        tokio::spawn(dispatcher.run(stopped));
        World {
            core,
            store,
            environments,
            worker,
            compute,
            stop,
        }
    }

    /// Stops the dispatcher.
    pub fn stop_dispatching(&self) {
        self.stop.send_replace(true);
    }

    /// Creates a Session.
    pub async fn create(&self, request: serde_json::Value) -> SessionId {
        self.try_create(request).await.expect("created")
    }

    /// Creates a Session, or not.
    pub async fn try_create(&self, request: serde_json::Value) -> Result<SessionId, EngineError> {
        let params =
            api::parse_session_create(request.to_string().as_bytes()).expect("a valid request");
        self.core
            .create_session(OWNER, None, &params)
            .await
            .map(|created| created.session)
    }

    /// Sends events.
    pub async fn send(
        &self,
        session: &SessionId,
        key: &str,
        events: serde_json::Value,
    ) -> Result<Accepted, EngineError> {
        let body = serde_json::json!({ "events": events }).to_string();
        let params = api::parse_events(body.as_bytes()).expect("valid events");
        self.core.send(OWNER, session, key, &params.events).await
    }

    /// Sends one text message.
    pub async fn say(&self, session: &SessionId, key: &str, text: &str) -> Accepted {
        self.send(session, key, serde_json::json!([message(text)]))
            .await
            .expect("accepted")
    }

    /// Waits until the Session owes nothing.
    pub async fn settled(&self, session: &SessionId) {
        self.until(session, |s| {
            !matches!(s.status, api::SessionStatus::InProgress)
        })
        .await;
    }

    /// Waits until the Session is as asked.
    pub async fn until(&self, session: &SessionId, done: impl Fn(&api::AgentSession) -> bool) {
        for _ in 0..1_000 {
            let now = self
                .core
                .get_session(OWNER, session)
                .await
                .expect("readable");
            if done(&now) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let read = self
            .core
            .read_session(OWNER, session)
            .await
            .expect("readable");
        panic!("not reached: {:#?}", read.head);
    }

    /// All Items, oldest first.
    pub async fn items(&self, session: &SessionId) -> Vec<Item> {
        let read = self
            .core
            .read_session(OWNER, session)
            .await
            .expect("readable");
        let query = ListQuery {
            limit: 100,
            ascending: true,
            after: None,
        };
        self.core
            .list_items(&read, None, &query)
            .await
            .expect("listed")
            .data
    }

    /// Waits until the transcript has so many Items that are final.
    pub async fn items_reach(&self, session: &SessionId, count: usize) {
        for _ in 0..1_000 {
            let lines = lines(&self.items(session).await);
            if lines.len() >= count && !lines.iter().any(|line| line.contains("InProgress")) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("only {:#?}", lines(&self.items(session).await));
    }

    /// All Turns' states, oldest first.
    pub async fn turns(&self, session: &SessionId) -> Vec<TurnStatus> {
        let read = self
            .core
            .read_session(OWNER, session)
            .await
            .expect("readable");
        let query = ListQuery {
            limit: 100,
            ascending: true,
            after: None,
        };
        let (page, _) = self.core.list_turns(&read, &query).await.expect("listed");
        page.data.into_iter().map(|turn| turn.status).collect()
    }
}

/// A message event.
pub fn message(text: &str) -> serde_json::Value {
    serde_json::json!({
        "type": "agent.session.input.message",
        "input": [{ "role": "user", "content": [{ "type": "input_text", "text": text }] }],
    })
}

/// A request for a managed Session with the demo model.
pub fn managed(input: &str) -> serde_json::Value {
    serde_json::json!({ "environment": { "type": "openai_hosted" }, "agent": { "model": "demo" }, "input": input })
}

/// What Items say, one line each.
pub fn lines(items: &[Item]) -> Vec<String> {
    items
        .iter()
        .map(|item| match item {
            Item::Message(message) => {
                let text: Vec<&str> = message
                    .content
                    .iter()
                    .map(|part| match part {
                        api::MessageContent::InputText { text }
                        | api::MessageContent::OutputText { text } => text.as_str(),
                        api::MessageContent::InputImage { .. } => "[image]",
                    })
                    .collect();
                format!("{:?}: {}", message.role, text.join(" "))
            }
            Item::CommandExecution(command) => {
                format!(
                    "$ {} [{:?} {:?}]",
                    command.command, command.status, command.exit_code
                )
            }
            Item::FunctionCall(call) => {
                format!("{}({}) [{:?}]", call.name, call.arguments, call.status)
            }
            Item::FunctionCallOutput(output) => {
                format!("-> {:?} {:?}", output.output, output.error)
            }
            Item::Reasoning(reasoning) => {
                format!(
                    "thinks: {}",
                    reasoning
                        .summary
                        .iter()
                        .map(|s| s.text.as_str())
                        .collect::<String>()
                )
            }
            other => format!("{other:?}"),
        })
        .collect()
}
