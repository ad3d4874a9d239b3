//! What a Session costs in requests to AWS, counted where they are sent, and held to its budget.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rat_things::api::{self, InputEvent, InputMessage, MessageInput};
use rat_things::backend::aws::blobs::S3Blobs;
use rat_things::backend::aws::calls::Purpose;
use rat_things::backend::aws::secrets::ManagedSecrets;
use rat_things::backend::aws::store::DynamoStore;
use rat_things::backend::harness::responses::{Options, ResponsesHarness};
use rat_things::backend::local::bell::LocalBell;
use rat_things::backend::local::clock::SystemClock;
use rat_things::backend::local::compute::InProcessCompute;
use rat_things::backend::local::ids::SystemIds;
use rat_things::backend::memory::environments::{Scripted, ScriptedEnvironments};
use rat_things::backend::model::demo::{self, DemoModel};
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys::owner_of;
use rat_things::engine::ports::{Principal, RunGrant};
use rat_things::engine::run::Worker;
use tokio::sync::watch;

use super::emulators::Place;
use super::place;

/// How long a busy machine may take for one Turn.
const LONG: Duration = Duration::from_secs(60);

/// The engine over an account, and its client.
struct Account {
    place: Place,
    core: Core,
    owner: String,
    _dir: tempfile::TempDir,
}

impl Account {
    fn new() -> Account {
        let place = place();
        let dir = tempfile::tempdir().expect("a directory");
        let core = Core {
            store: Arc::new(DynamoStore::new(&place.clients, &place.places)),
            blobs: Arc::new(S3Blobs::new(&place.clients, &place.places)),
            secrets: Arc::new(ManagedSecrets::new(
                &place.clients,
                &place.places.table,
                &place.places.bucket,
            )),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            bell: Arc::new(LocalBell::new(dir.path().to_owned())),
            settings: Settings::default(),
        };
        let name = "aws:111122223333:role/Ops".to_owned();
        Account {
            place,
            core,
            owner: owner_of(&Principal { name }),
            _dir: dir,
        }
    }

    /// Requests so far, without those that look for work, which cost the same whatever is done.
    fn sent(&self) -> u64 {
        let counts = self.place.clients.calls().counts().into_iter();
        counts
            .filter(|(call, _)| call.purpose != Purpose::Agenda)
            .map(|(_, count)| count)
            .sum()
    }

    async fn create(&self) -> SessionId {
        let body = br#"{"environment":{"type":"openai_hosted"},"agent":{"model":"demo"}}"#;
        let params = api::parse_session_create(body).expect("a request");
        let created = self.core.create_session(&self.owner, Some("one"), &params);
        created.await.expect("a session").session
    }

    async fn send(&self, session: &SessionId, key: &str, text: &str) {
        let events = [InputEvent::Message(MessageInput {
            input: vec![InputMessage::text(text)],
            delivery: None,
        })];
        let sent = self.core.send(&self.owner, session, key, &events);
        sent.await.expect("accepted");
    }

    /// Waits until the Session owes nothing, as somebody who is not counted.
    async fn rest(&self, watcher: &Core, session: &SessionId) {
        let begun = Instant::now();
        loop {
            let loaded = watcher.load(session).await.expect("reads").expect("there");
            if loaded.head.turn.is_none() && loaded.head.fence.lease.is_none() {
                return;
            }
            assert!(begun.elapsed() < LONG, "{:?}", loaded.head);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The same records, read by clients of their own.
    async fn watcher(&self) -> Core {
        let options = self.place.options.clone();
        let clients = rat_things::backend::aws::client::AwsClients::connect(&options);
        let clients = clients.await.expect("a region");
        Core {
            store: Arc::new(DynamoStore::new(&clients, &self.place.places)),
            ..self.core.clone()
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_costs_in_requests_is_within_its_budget_and_does_not_grow() {
    let account = Account::new();
    let watcher = account.watcher().await;
    let environments = ScriptedEnvironments::new(|_, _| Scripted::ok("one file".to_owned()));
    let environments = Arc::new(environments);
    let options = Options {
        history_budget_bytes: demo::HISTORY_BYTES,
        ..Options::default()
    };
    let harness = Arc::new(ResponsesHarness::new(Arc::new(DemoModel), options));
    let worker = Worker::new(account.core.clone(), harness, environments.clone());
    worker.listen();
    let run = move |grant: RunGrant| {
        let worker = Arc::clone(&worker);
        Box::pin(async move { worker.run(grant).await }) as _
    };
    let compute = InProcessCompute::new(Arc::new(run), 10).expect("a boot id");
    let dispatcher = Dispatcher::new(account.core.clone(), Arc::new(compute), environments);
    let (_stop, stopped) = watch::channel(false);

    let mut seen = Vec::new();
    let before = account.sent();
    let session = account.create().await;
    seen.push((CREATE, account.sent() - before));
    // Nobody works yet, so that this is what acceptance alone takes.
    let before = account.sent();
    account.send(&session, "first", "@say done").await;
    seen.push((SEND, account.sent() - before));
    let before = account.sent();
    tokio::spawn(dispatcher.run(stopped));
    account.rest(&watcher, &session).await;
    seen.push((TURN, account.sent() - before));
    let mut turns = Vec::new();
    for n in 0..TURNS {
        let before = account.sent();
        account.send(&session, &n.to_string(), "@say done").await;
        account.rest(&watcher, &session).await;
        // A Turn may begin before its acceptance is answered, so that the two are counted together.
        turns.push(account.sent() - before);
    }
    // What one of them leaves to be looked at is counted with the next, so that the mean is what is held.
    let mean = turns.iter().sum::<u64>().div_ceil(turns.len() as u64);
    seen.push((LATER, mean));
    let before = account.sent();
    let ten = "@exec ls\n".repeat(10) + "@say done";
    account.send(&session, "ten", &ten).await;
    account.rest(&watcher, &session).await;
    seen.push((TEN, account.sent() - before));
    // Whoever heard of the end looks once more.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let idle = account.sent();
    tokio::time::sleep(Duration::from_secs(3)).await;
    seen.push((IDLE, account.sent() - idle));

    let all = account.place.clients.calls().counts();
    for (row, count) in seen {
        assert!(
            count <= row.budget,
            "{}: {count}, {turns:?} {all:#?}",
            row.what
        );
        let line = format!("| {} | {} |", row.what, row.budget);
        assert!(PAGE.contains(&line), "docs/costs.md must have: {line}");
    }
    let (first, last) = (&turns[..10], &turns[turns.len() - 10..]);
    let sum = |some: &[u64]| some.iter().sum::<u64>();
    assert!(sum(last).abs_diff(sum(first)) <= 10, "{turns:?}");
}

const PAGE: &str = include_str!("../../../docs/costs.md");

/// What something may cost.
#[derive(Clone, Copy)]
struct Row {
    what: &'static str,
    /// Requests at most.
    budget: u64,
}

const fn row(what: &'static str, budget: u64) -> Row {
    Row { what, budget }
}

const CREATE: Row = row("`sessions create`, accepted", 4);
const SEND: Row = row("`sessions send`, accepted", 3);
const TURN: Row = row("the first Turn, trivial, with a new worker", 12);
const LATER: Row = row(
    "any of 500 later messages with its trivial Turn",
    SEND.budget + 12,
);
const TEN: Row = row("a message and a Turn with ten commands", 80);
const IDLE: Row = row("an idle Session, for as long as it is idle", 0);

/// Turns of the Session.
const TURNS: usize = 500;
