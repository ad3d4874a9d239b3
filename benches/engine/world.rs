//! The engine on a data directory as the program lays it out, with the offline model and, when it works, commands that are a function.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rat_things::api::{self, InputEvent, InputMessage, MessageInput, SessionCreateParams};
use rat_things::backend::harness::responses::{Options, ResponsesHarness};
use rat_things::backend::local::bell::LocalBell;
use rat_things::backend::local::blobs::LocalBlobs;
use rat_things::backend::local::clock::SystemClock;
use rat_things::backend::local::compute::InProcessCompute;
use rat_things::backend::local::identity::LocalIdentity;
use rat_things::backend::local::ids::SystemIds;
use rat_things::backend::local::secrets::LocalSecrets;
use rat_things::backend::local::store::{SqliteStore, StoreStats};
use rat_things::backend::memory::environments::ScriptedEnvironments;
use rat_things::backend::model::demo::{self, DemoModel};
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys::owner_of;
use rat_things::engine::ports::{Identity, RunGrant};
use rat_things::engine::run::Worker;
use tokio::sync::{Notify, watch};

use crate::counted::Counted;
use crate::setting::open;

/// Tasks that make Sessions beside one another.
const MAKERS: usize = 64;

/// The engine in this process.
#[derive(Clone)]
pub struct World {
    /// What works here: its reads are counted.
    pub core: Core,
    /// What only watches.
    pub watcher: Core,
    /// Their store.
    pub store: Arc<SqliteStore>,
    /// Counts what `core` reads.
    pub counted: Arc<Counted>,
    /// Whose Sessions: this user's, as the program sees it.
    pub owner: Arc<str>,
}

impl World {
    /// Opens the data directory `root`, or creates it.
    pub async fn open(root: &Path) -> io::Result<World> {
        let run = root.join("run");
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&run)?;
        let store = open(&root.join("store.db"), true)?;
        let counted = Arc::new(Counted::new(Arc::clone(&store)));
        let core = Core {
            store: counted.clone(),
            blobs: Arc::new(LocalBlobs::new(root.join("blobs"))),
            secrets: Arc::new(LocalSecrets::new(root.join("secrets"))),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            bell: Arc::new(LocalBell::new(run)),
            settings: Settings::default(),
        };
        let watcher = Core {
            store: store.clone(),
            ..core.clone()
        };
        let caller = LocalIdentity.caller().await.map_err(io::Error::other)?;
        Ok(World {
            core,
            watcher,
            store,
            counted,
            owner: owner_of(&caller).into(),
        })
    }

    /// What its store did so far.
    pub fn stats(&self) -> StoreStats {
        self.store.stats()
    }

    /// Makes `count` Sessions that have nothing to do.
    pub async fn sessions(&self, count: usize) -> io::Result<Vec<SessionId>> {
        let params = Arc::new(session_params()?);
        let tasks = (0..MAKERS).map(|maker| {
            let (world, params) = (self.clone(), Arc::clone(&params));
            tokio::spawn(async move {
                let mut made = Vec::new();
                for _ in (maker..count).step_by(MAKERS) {
                    let created = world.core.create_session(&world.owner, None, &params);
                    made.push(created.await.map_err(io::Error::other)?.session);
                }
                Ok::<_, io::Error>(made)
            })
        });
        let mut sessions = Vec::with_capacity(count);
        for task in tasks.collect::<Vec<_>>() {
            sessions.extend(task.await.map_err(io::Error::other)??);
        }
        Ok(sessions)
    }

    /// Accepts a message under a new key; how long that took.
    pub async fn send(&self, session: &SessionId, text: &str) -> io::Result<Duration> {
        let key = fresh_key(session);
        let events = [message(text)];
        let begun = Instant::now();
        let accepted = self.core.send(&self.owner, session, &key, &events).await;
        let took = begun.elapsed();
        accepted.map_err(io::Error::other)?;
        Ok(took)
    }

    /// Begins to work for all Sessions of the store, in this process, until the answer is dropped.
    pub fn work(&self, environments: ScriptedEnvironments) -> io::Result<Working> {
        let environments = Arc::new(environments);
        let options = Options {
            history_budget_bytes: demo::HISTORY_BYTES,
            ..Options::default()
        };
        let harness = Arc::new(ResponsesHarness::new(Arc::new(DemoModel), options));
        let worker = Worker::new(self.core.clone(), harness, environments.clone());
        worker.listen();
        let run = move |grant: RunGrant| {
            let worker = Arc::clone(&worker);
            Box::pin(async move { worker.run(grant).await }) as _
        };
        let compute = InProcessCompute::new(Arc::new(run), 10_000)?;
        let dispatcher = Dispatcher::new(self.core.clone(), Arc::new(compute), environments);
        let (stop, stopped) = watch::channel(false);
        let ends = Ends::default();
        tokio::spawn(ends.clone().hear(self.clone()));
        tokio::spawn(dispatcher.run(stopped));
        Ok(Working {
            world: self.clone(),
            ends,
            _stop: stop,
        })
    }
}

/// A world whose Sessions are worked for.
pub struct Working {
    world: World,
    ends: Ends,
    /// The dispatcher stops when this is dropped.
    _stop: watch::Sender<bool>,
}

impl Working {
    /// One Turn: sends `text` and waits until the Session has nothing more to do. How long the acceptance and the whole took.
    pub async fn turn(&self, session: &SessionId, text: &str) -> io::Result<(Duration, Duration)> {
        let heard = self.ends.of(session);
        let begun = Instant::now();
        let accepted = self.world.send(session, text).await?;
        loop {
            let loaded = self.world.watcher.load(session).await;
            let loaded = loaded.map_err(io::Error::other)?;
            if loaded.is_none_or(|loaded| loaded.head.turn.is_none()) {
                return Ok((accepted, begun.elapsed()));
            }
            // A ring may be lost; nothing may depend on one.
            let _ = tokio::time::timeout(Duration::from_millis(100), heard.notified()).await;
        }
    }
}

/// Who waits for the end of whose Turn.
#[derive(Clone, Default)]
struct Ends(Arc<Mutex<HashMap<String, Arc<Notify>>>>);

impl Ends {
    fn of(&self, session: &SessionId) -> Arc<Notify> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(waiting.entry(session.to_string()).or_default())
    }

    async fn hear(self, world: World) {
        // These rings come when a Session has new work and when its lease was given back, not for every commit.
        let mut rings = world.core.bell.listen_work();
        while let Some(session) = rings.recv().await {
            let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(waiting) = waiting.get(&session) {
                waiting.notify_one();
            }
        }
    }
}

/// What every Session here is made from.
fn session_params() -> io::Result<SessionCreateParams> {
    let body = br#"{"environment":{"type":"openai_hosted"},"agent":{"model":"demo"}}"#;
    api::parse_session_create(body).map_err(|error| io::Error::other(format!("{error:?}")))
}

/// A message, as a client sends it.
fn message(text: &str) -> InputEvent {
    InputEvent::Message(MessageInput {
        input: vec![InputMessage::text(text)],
        delivery: None,
    })
}

/// A key that was never used before.
fn fresh_key(session: &SessionId) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{session}-{number}", std::process::id())
}
