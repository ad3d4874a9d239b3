//! A complete engine: one store, one dispatcher, workers as tasks, the demo model, scripted environments. Time is the test
//! runtime's, so tests that start it paused wait for nothing, wherever the store is.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rat_things::api::{self, Item, TurnStatus};
use rat_things::backend::harness::responses::{Options, ResponsesHarness};
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::backend::memory::environments::{Files, Scripted, ScriptedEnvironments};
use rat_things::backend::memory::ids::SeededIds;
use rat_things::backend::model::demo::DemoModel;
use rat_things::engine::accept::Accepted;
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::deliver::{Deliverer, Policy};
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::error::EngineError;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{
    BlobScope, Blobs, Clock, Courier, Environments, ExecSpec, Harness, Model, RunGrant, Store,
};
use rat_things::engine::read::{ListQuery, SessionRead};
use rat_things::engine::run::Worker;
use tokio::sync::watch;
use tokio::time::Instant;

use super::ground::{Ground, Rows, Shelves, Values};
use super::mortal::Mortal;
use super::perils::{Asked, Fuse, Life, Of, Role};
use super::records::assert_sound;

/// The owner of everything in these tests.
pub const OWNER: &str = "0123456789abcdef0123456789abcdef";

/// The test runtime's time, as wall-clock time.
pub struct RuntimeClock {
    began_ms: u64,
    started: Instant,
}

impl Clock for RuntimeClock {
    fn now_ms(&self) -> u64 {
        self.began_ms + self.started.elapsed().as_millis() as u64
    }
}

type Script = Box<dyn Fn(&ExecSpec, &mut Files) -> Scripted + Send + Sync>;

/// What a world is made of.
pub struct Setup {
    /// Numbers.
    pub settings: Settings,
    /// What it keeps outside of its programs.
    pub ground: Ground,
    /// What the engine has for a store, if it is not that one itself.
    pub seen: Option<Arc<dyn Store>>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// What drives agents, if it is not the real one over the model.
    pub harness: Option<Arc<dyn Harness>>,
    /// What commands do.
    pub script: Script,
    /// What happens to one of the programs. With a fuse each run has a worker of its own, as a process would.
    pub fuse: Option<Arc<Fuse>>,
    /// All runs have one worker, in spite of a fuse.
    pub one_worker: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            settings: Settings {
                batch_ms: 5,
                ..Settings::default()
            },
            ground: Ground::here(),
            seen: None,
            model: Arc::new(DemoModel),
            harness: None,
            script: Box::new(|spec, _| Scripted::ok(format!("{:?}", spec.program))),
            fuse: None,
            one_worker: false,
        }
    }
}

/// See the module.
pub struct World {
    /// The engine as clients have it.
    pub core: Core,
    /// The store, to look at records.
    pub store: Arc<dyn Rows>,
    /// The bell, to make deaf.
    pub bell: Arc<MemoryBell>,
    /// The blobs, to look at bytes.
    pub blobs: Arc<dyn Shelves>,
    /// The secrets, to count them.
    pub secrets: Arc<dyn Values>,
    /// Where commands run.
    pub environments: Arc<ScriptedEnvironments>,
    /// What the model was asked.
    pub asked: Arc<Asked>,
    /// Runs that go on.
    pub compute: Mortal,
    /// The worker of all runs, in a world without a fuse.
    pub worker: Arc<Worker>,
    fuse: Arc<Fuse>,
    workers: Arc<Mutex<Vec<Arc<Worker>>>>,
    daemon: Mutex<Arc<Life>>,
    stop: watch::Sender<bool>,
}

impl World {
    /// A world whose commands print what they are.
    pub fn new() -> World {
        Setup::default().build()
    }

    /// A world whose commands do what `script` says.
    pub fn with(
        script: impl Fn(&ExecSpec, &mut Files) -> Scripted + Send + Sync + 'static,
    ) -> World {
        Setup {
            script: Box::new(script),
            ..Setup::default()
        }
        .build()
    }
}

impl Setup {
    /// The world, with a dispatcher at work.
    pub fn build(self) -> World {
        let Ground {
            rows: store,
            shelves: blobs,
            values: secrets,
            began_ms,
            seed,
        } = self.ground;
        let clock = RuntimeClock {
            began_ms,
            started: Instant::now(),
        };
        let bell = Arc::new(MemoryBell::new());
        let core = Core {
            store: self.seen.unwrap_or_else(|| store.clone()),
            blobs: blobs.clone(),
            secrets: secrets.clone(),
            clock: Arc::new(clock),
            ids: Arc::new(SeededIds::new(seed)),
            bell: bell.clone(),
            settings: self.settings,
        };
        let environments = Arc::new(ScriptedEnvironments::new(self.script));
        let asked = Asked::new(self.model);
        let alone = self.fuse.is_some() && !self.one_worker;
        let fuse = self.fuse.unwrap_or_else(Fuse::none);
        let programs = Programs {
            core: core.clone(),
            environments: environments.clone(),
            model: asked.clone(),
            harness: self.harness,
            fuse: fuse.clone(),
        };
        let worker = programs.worker(0);
        let shared = worker.clone();
        let workers = Arc::new(Mutex::new(vec![worker.clone()]));
        let all = workers.clone();
        let compute = Mortal::new(Arc::new(move |grant: RunGrant| {
            let worker = match alone {
                true => programs.worker(grant.generation),
                false => shared.clone(),
            };
            all.lock()
                .expect("no test panics with it")
                .push(worker.clone());
            Box::pin(async move { worker.run(grant).await })
        }));
        let world = World {
            core,
            store,
            bell,
            blobs,
            secrets,
            environments,
            asked,
            compute,
            worker,
            workers,
            daemon: Mutex::new(Life::new(Role::Daemon, 0, &fuse)),
            fuse,
            stop: watch::Sender::new(false),
        };
        world.start_dispatching();
        world
    }
}

/// Makes the programs of a world: each has the ports, as one life of it.
struct Programs {
    core: Core,
    environments: Arc<ScriptedEnvironments>,
    model: Arc<Asked>,
    harness: Option<Arc<dyn Harness>>,
    fuse: Arc<Fuse>,
}

impl Programs {
    fn worker(&self, generation: u64) -> Arc<Worker> {
        let life = Life::new(Role::Worker, generation, &self.fuse);
        let model = Of::new(&life, self.model.clone() as Arc<dyn Model>);
        let harness = match &self.harness {
            Some(harness) => harness.clone(),
            None => Arc::new(ResponsesHarness::new(model, Options::default())),
        };
        let environments = Of::new(&life, self.environments.clone() as Arc<dyn Environments>);
        let worker = Worker::new(of(&self.core, &life), harness, environments);
        worker.listen();
        worker
    }
}

/// The engine as one life has it.
fn of(core: &Core, life: &Arc<Life>) -> Core {
    Core {
        store: Of::new(life, core.store.clone()) as Arc<dyn Store>,
        blobs: Of::new(life, core.blobs.clone()) as Arc<dyn Blobs>,
        ..core.clone()
    }
}

/// What programs do.
impl World {
    /// Starts a dispatcher.
    pub fn start_dispatching(&self) {
        self.stop.send_replace(false);
        let life = Life::new(Role::Daemon, 0, &self.fuse);
        let dispatcher = Dispatcher::new(
            of(&self.core, &life),
            Arc::new(self.compute.clone()),
            Of::new(&life, self.environments.clone() as Arc<dyn Environments>),
        );
        *self.daemon.lock().expect("no test panics with it") = life;
        tokio::spawn(dispatcher.run(self.stop.subscribe()));
    }

    /// Stops the dispatcher in good order.
    pub fn stop_dispatching(&self) {
        self.stop.send_replace(true);
    }

    /// Kills the dispatcher where it is.
    pub fn kill_dispatcher(&self) {
        self.daemon.lock().expect("no test panics with it").stop();
        self.stop.send_replace(true);
    }

    /// Starts a deliverer, which may end with this fuse; a stop for it, and its life.
    pub fn start_delivering(
        &self,
        courier: Arc<dyn Courier>,
        policy: Policy,
        fuse: &Arc<Fuse>,
    ) -> (watch::Sender<bool>, Arc<Life>) {
        let life = Life::new(Role::Deliverer, 0, fuse);
        let courier = Of::new(&life, courier);
        let deliverer = Deliverer::new(of(&self.core, &life), courier, policy);
        let stop = watch::Sender::new(false);
        tokio::spawn(deliverer.run(stop.subscribe()));
        (stop, life)
    }

    /// Asks all workers so far to leave.
    pub fn leave(&self, grace_ms: u64) {
        for worker in self.workers.lock().expect("no test panics with it").iter() {
            worker.leave(grace_ms);
        }
    }

    /// Kills a worker where it is; the processes it had begun die with it.
    pub async fn kill_worker(&self, generation: u64) {
        self.environments.lose_all();
        self.compute.kill(generation).await;
    }
}

/// What clients do.
impl World {
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

    /// Creates a Session under a key, however often it takes.
    pub async fn create_surely(&self, key: &str, request: serde_json::Value) -> SessionId {
        let params =
            api::parse_session_create(request.to_string().as_bytes()).expect("a valid request");
        loop {
            match self.core.create_session(OWNER, Some(key), &params).await {
                Ok(created) => return created.session,
                Err(error) => repeatable(error),
            }
        }
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

    /// Sends events under a key, however often it takes.
    pub async fn send_surely(
        &self,
        session: &SessionId,
        key: &str,
        events: serde_json::Value,
    ) -> Accepted {
        loop {
            match self.send(session, key, events.clone()).await {
                Ok(accepted) => return accepted,
                Err(error) => repeatable(error),
            }
        }
    }

    /// Deletes a Session, however often it takes.
    pub async fn delete_surely(&self, session: &SessionId) {
        loop {
            match self.core.delete_session(OWNER, session).await {
                Ok(()) | Err(EngineError::NotFound { .. }) => return,
                Err(error) => repeatable(error),
            }
        }
    }

    /// Sends one text message.
    pub async fn say(&self, session: &SessionId, key: &str, text: &str) -> Accepted {
        self.send_surely(session, key, serde_json::json!([message(text)]))
            .await
    }

    /// Sends one text message for the next Turn.
    pub async fn say_next(&self, session: &SessionId, key: &str, text: &str) -> Accepted {
        self.send_surely(session, key, serde_json::json!([next_turn(text)]))
            .await
    }
}

/// Fails for errors after which a caller would not repeat its call.
fn repeatable(error: EngineError) {
    let passing = matches!(
        error,
        EngineError::Busy { .. } | EngineError::Unavailable(_) | EngineError::Unknown(_)
    );
    assert!(passing, "{error:?}");
}

/// What can be seen.
impl World {
    /// Waits until the Session owes nothing.
    pub async fn settled(&self, session: &SessionId) {
        self.until(session, |s| {
            !matches!(s.status, api::SessionStatus::InProgress)
        })
        .await;
    }

    /// Waits until the Session is as asked.
    pub async fn until(&self, session: &SessionId, done: impl Fn(&api::AgentSession) -> bool) {
        let reached = async || {
            done(
                &self
                    .core
                    .get_session(OWNER, session)
                    .await
                    .expect("readable"),
            )
        };
        if !eventually(reached).await {
            let read = self.read(session).await;
            panic!("not reached: {:#?}", read.head);
        }
    }

    /// Waits until no run goes on.
    pub async fn at_rest(&self) {
        assert!(
            eventually(async || self.compute.runs() == 0).await,
            "runs go on"
        );
    }

    /// The Session as it was read.
    pub async fn read(&self, session: &SessionId) -> SessionRead {
        self.core
            .read_session(OWNER, session)
            .await
            .expect("readable")
    }

    /// All Items, oldest first.
    pub async fn items(&self, session: &SessionId) -> Vec<Item> {
        let read = self.read(session).await;
        let page = self.core.list_items(&read, None, &everything()).await;
        page.expect("listed").data
    }

    /// Waits until the transcript has so many Items that are final.
    pub async fn items_reach(&self, session: &SessionId, count: usize) {
        let reached = async || {
            let lines = lines(&self.items(session).await);
            lines.len() >= count && !lines.iter().any(|line| line.contains("InProgress"))
        };
        if !eventually(reached).await {
            panic!("only {:#?}", lines(&self.items(session).await));
        }
    }

    /// All Turns' states, oldest first.
    pub async fn turns(&self, session: &SessionId) -> Vec<TurnStatus> {
        let read = self.read(session).await;
        let (page, _) = self
            .core
            .list_turns(&read, &everything())
            .await
            .expect("listed");
        page.data.into_iter().map(|turn| turn.status).collect()
    }

    /// Paths of all artifacts, oldest first.
    pub async fn artifacts(&self, session: &SessionId) -> Vec<String> {
        let read = self.read(session).await;
        let page = self.core.list_artifacts(&read, None, &everything()).await;
        page.expect("listed")
            .data
            .into_iter()
            .map(|artifact| artifact.path)
            .collect()
    }

    /// Texts of all commands that were ever begun, in order.
    pub fn commands(&self) -> Vec<String> {
        self.environments
            .log()
            .into_iter()
            .map(|executed| executed.text)
            .collect()
    }

    /// Fails if the records break a rule, or point at bytes that are not stored.
    pub fn sound(&self) {
        let records = self.store.records();
        assert_sound(&records, self.core.clock.now_ms());
        for record in &records {
            let Some(session) = record.key.partition.strip_prefix("S/") else {
                continue;
            };
            let stored = self.blobs.stored(&BlobScope {
                owner: OWNER.into(),
                session: session.into(),
            });
            let value = serde_json::from_slice(&record.value).expect("rows are JSON");
            for digest in blobs_of(&value) {
                assert!(
                    stored.contains_key(&digest),
                    "{}: no blob {digest}",
                    record.key
                );
            }
        }
    }
}

/// Digests of the blobs that a row names.
fn blobs_of(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Object(fields) => match (fields.get("sha256"), fields.get("size_bytes"))
        {
            (Some(serde_json::Value::String(digest)), Some(_)) => vec![digest.clone()],
            _ => fields.values().flat_map(blobs_of).collect(),
        },
        serde_json::Value::Array(list) => list.iter().flat_map(blobs_of).collect(),
        _ => Vec::new(),
    }
}

fn everything() -> ListQuery {
    ListQuery {
        limit: 100,
        ascending: true,
        after: None,
    }
}

/// Looks again and again until it is so, for minutes of the runtime's time.
pub async fn eventually(so: impl AsyncFn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(600);
    let mut pause_ms = 2;
    while !so().await {
        if Instant::now() > until {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        pause_ms = (pause_ms + 1).min(500);
    }
    true
}

/// A message event.
pub fn message(text: &str) -> serde_json::Value {
    serde_json::json!({
        "type": "agent.session.input.message",
        "input": [{ "role": "user", "content": [{ "type": "input_text", "text": text }] }],
    })
}

/// A message event that starts the next Turn.
pub fn next_turn(text: &str) -> serde_json::Value {
    let mut event = message(text);
    event["delivery"] = "next_turn".into();
    event
}

/// A request for a managed Session with the demo model and a function `ask`.
pub fn managed(input: &str) -> serde_json::Value {
    serde_json::json!({
        "environment": { "type": "openai_hosted" },
        "agent": { "model": "demo", "tools": [ask()] },
        "input": input,
    })
}

/// The function `ask`.
pub fn ask() -> serde_json::Value {
    serde_json::json!({ "type": "function", "name": "ask", "description": "d", "parameters": {} })
}

/// The answer to the first call that a Session waits for.
pub async fn answer_to(world: &World, session: &SessionId, output: &str) -> serde_json::Value {
    let now = world
        .core
        .get_session(OWNER, session)
        .await
        .expect("readable");
    let Some(api::RequiredAction::FunctionCall {
        turn_id, call_id, ..
    }) = now.required_actions.first()
    else {
        panic!("nothing is asked: {:?}", now.required_actions);
    };
    serde_json::json!([{
        "type": "agent.session.input.tool_result", "turn_id": turn_id, "call_id": call_id,
        "success": true, "output": output,
    }])
}

/// What Items say, one line each.
pub fn lines(items: &[Item]) -> Vec<String> {
    items.iter().map(line).collect()
}

fn line(item: &Item) -> String {
    match item {
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
        Item::FunctionCallOutput(output) => format!("-> {:?} {:?}", output.output, output.error),
        Item::Reasoning(reasoning) => {
            let texts = reasoning.summary.iter().map(|s| s.text.as_str());
            format!("thinks: {}", texts.collect::<String>())
        }
        other => format!("{other:?}"),
    }
}
