//! What a Session costs in requests to AWS and in dollars, counted where they are sent, and held to its budget: `docs/costs.md` has the
//! budgets, and this reads them there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rat_things::api::{self, InputEvent, InputMessage, MessageInput};
use rat_things::backend::aws::blobs::S3Blobs;
use rat_things::backend::aws::calls::{Call, Purpose};
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
use rat_things::engine::ports::{
    Commit, Committed, Key, Page, Principal, Range, Record, RunGrant, Store, StoreError,
};
use rat_things::engine::run::Worker;
use rat_things::engine::session::Head;
use tokio::sync::watch;

use super::emulators::Place;
use super::place;

/// How long a busy machine may take for one Turn.
const LONG: Duration = Duration::from_secs(60);

/// A store whose written rows are counted: a transaction is paid for by them.
struct Counted {
    inner: DynamoStore,
    rows: Arc<AtomicU64>,
}

#[async_trait]
impl Store for Counted {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.inner.get_many(keys).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        self.inner.range(range).await
    }

    async fn keys(&self, range: &Range) -> Result<(Vec<Key>, bool), StoreError> {
        self.inner.keys(range).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.rows
            .fetch_add(commit.writes.len() as u64, Ordering::Relaxed);
        self.inner.commit(commit).await
    }
}

/// What was sent, and what AWS lists for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spent {
    requests: u64,
    /// Billionths of a US dollar, in us-east-1, on demand.
    nano_usd: u64,
}

impl Spent {
    fn since(self, before: Spent) -> Spent {
        Spent {
            requests: self.requests - before.requests,
            nano_usd: self.nano_usd - before.nano_usd,
        }
    }
}

/// A request, without what its rows cost.
fn nano_usd(call: &Call) -> u64 {
    match (call.service.as_str(), call.operation.as_str()) {
        ("DynamoDB", "TransactWriteItems") => 0,
        // Strongly consistent, and of at most 16 KB in all.
        ("DynamoDB", _) => 4 * 125,
        ("S3", "GetObject" | "HeadObject") => 400,
        ("S3", "DeleteObject" | "DeleteObjects") | ("STS", _) => 0,
        // Everything else that is written or listed, and every value that is asked for.
        _ => 5_000,
    }
}

/// Two units of writing for a row of a transaction; rows have their content elsewhere and fit into 1 KB.
const ROW_NANO_USD: u64 = 2 * 625;

/// The engine over an account, and its client.
struct Account {
    place: Place,
    core: Core,
    rows: Arc<AtomicU64>,
    owner: String,
    _dir: tempfile::TempDir,
}

impl Account {
    fn new() -> Account {
        let place = place();
        let dir = tempfile::tempdir().expect("a directory");
        let rows: Arc<AtomicU64> = Arc::default();
        let store = Counted {
            inner: DynamoStore::new(&place.clients, &place.places),
            rows: rows.clone(),
        };
        let core = Core {
            store: Arc::new(store),
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
            rows,
            owner: owner_of(&Principal { name }),
            _dir: dir,
        }
    }

    /// What was spent so far, without what looks for work, which costs the same whatever is done.
    fn spent(&self) -> Spent {
        self.spent_on(|purpose| purpose != Purpose::Agenda)
    }

    /// What was spent so far for these purposes, and on rows.
    fn spent_on(&self, counts: impl Fn(Purpose) -> bool) -> Spent {
        let mut spent = Spent {
            requests: 0,
            nano_usd: self.rows.load(Ordering::Relaxed) * ROW_NANO_USD,
        };
        for (call, count) in self.place.clients.calls().counts() {
            if counts(call.purpose) {
                spent.requests += count;
                spent.nano_usd += count * nano_usd(&call);
            }
        }
        spent
    }

    async fn create(&self) -> SessionId {
        let body = br#"{"environment":{"type":"openai_hosted"},"agent":{"model":"demo"}}"#;
        let params = api::parse_session_create(body).expect("a request");
        let created = self.core.create_session(&self.owner, Some("one"), &params);
        created.await.expect("a session").session
    }

    async fn cancel(&self, session: &SessionId, key: &str) {
        let body = br#"{"events":[{"type":"agent.session.input.cancel"}]}"#;
        let params = api::parse_events(body).expect("a request");
        let sent = self.core.send(&self.owner, session, key, &params.events);
        sent.await.expect("accepted");
    }

    async fn send(&self, session: &SessionId, key: &str, text: &str) {
        let events = [InputEvent::Message(MessageInput {
            input: vec![InputMessage::text(text)],
            delivery: None,
        })];
        let sent = self.core.send(&self.owner, session, key, &events);
        sent.await.expect("accepted");
    }

    /// Waits until the Session's head is like this, or gone, as somebody who is not counted.
    async fn until(&self, watcher: &Core, session: &SessionId, so: impl Fn(Option<&Head>) -> bool) {
        let begun = Instant::now();
        loop {
            let loaded = watcher.load(session).await.expect("reads");
            let head = loaded.as_ref().map(|loaded| &loaded.head);
            if so(head) {
                return;
            }
            assert!(begun.elapsed() < LONG, "{head:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the Session owes nothing.
    async fn rest(&self, watcher: &Core, session: &SessionId) {
        let rests = |head: &Head| head.turn.is_none() && head.fence.lease.is_none();
        self.until(watcher, session, |head| head.is_some_and(rests))
            .await;
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

    let mut seen: Vec<(&str, Spent)> = Vec::new();
    let before = account.spent();
    let session = account.create().await;
    seen.push(("`sessions create`, accepted", account.spent().since(before)));
    // Nobody works yet, so that this is what acceptance alone takes.
    let before = account.spent();
    account.send(&session, "first", "@say done").await;
    seen.push(("`sessions send`, accepted", account.spent().since(before)));
    let before = account.spent();
    tokio::spawn(dispatcher.run(stopped));
    account.rest(&watcher, &session).await;
    let first = "the first Turn, trivial, with a new worker";
    seen.push((first, account.spent().since(before)));
    let mut turns = Vec::new();
    for n in 0..TURNS {
        let before = account.spent();
        account.send(&session, &n.to_string(), "@say done").await;
        account.rest(&watcher, &session).await;
        // A Turn may begin before its acceptance is answered, so that the two are counted together.
        turns.push(account.spent().since(before));
    }
    // What one of them leaves to be looked at is counted with the next, so that the mean is what is held.
    let mean = |of: fn(&Spent) -> u64| turns.iter().map(of).sum::<u64>().div_ceil(TURNS);
    let later = Spent {
        requests: mean(|turn| turn.requests),
        nano_usd: mean(|turn| turn.nano_usd),
    };
    seen.push(("any of 500 later messages with its trivial Turn", later));
    let before = account.spent();
    let ten = "@exec ls\n".repeat(10) + "@say done";
    account.send(&session, "ten", &ten).await;
    account.rest(&watcher, &session).await;
    let ten = "a message and a Turn with ten commands";
    seen.push((ten, account.spent().since(before)));
    // Whoever heard of the end looks once more.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = (account.spent(), account.spent_on(|_| true));
    let began = Instant::now();
    tokio::time::sleep(Duration::from_secs(11)).await;
    let idle = "an idle Session, in an hour";
    seen.push((idle, account.spent().since(before.0)));
    // What looks for work does so again and again, so that some seconds tell of an hour.
    let looked = account.spent_on(|_| true).since(before.1);
    let in_an_hour =
        |n: u64| n * 3_600_000 / u64::try_from(began.elapsed().as_millis()).unwrap_or(1);
    let looking = Spent {
        requests: in_an_hour(looked.requests),
        nano_usd: in_an_hour(looked.nano_usd),
    };
    assert!(looking.requests > 0);
    seen.push(("a daemon with nothing to do, in an hour", looking));

    account
        .send(&session, "slow", "@exec ls\n@sleep 600000")
        .await;
    let at_work = |head: &Head| head.fence.lease.as_ref().is_some_and(|l| l.renewals > 1);
    account
        .until(&watcher, &session, |head| head.is_some_and(at_work))
        .await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let before = account.spent();
    account.cancel(&session, "cancel").await;
    account.rest(&watcher, &session).await;
    let cancel = "a cancel of a running Turn, and its end";
    seen.push((cancel, account.spent().since(before)));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = account.spent();
    let deleted = account.core.delete_session(&account.owner, &session).await;
    deleted.expect("deleted");
    let fenced = account.spent().since(before);
    seen.push(("`sessions delete`, answered", fenced));
    account
        .until(&watcher, &session, |head| head.is_none())
        .await;
    let erased = account.spent().since(before).requests;
    // Everything that its Turns left goes in the largest commits that there are.
    assert!(erased <= 3 * TURNS / 2, "{erased}");

    let budgets = budgets();
    let mut over = Vec::new();
    for (what, spent) in &seen {
        let Some(budget) = budgets.get(*what) else {
            panic!("docs/costs.md says nothing of {what}");
        };
        if spent.requests > budget.requests || spent.nano_usd > budget.nano_usd {
            over.push((what, spent, budget));
        }
    }
    let all = account.place.clients.calls().counts();
    assert!(over.is_empty(), "{over:#?}\n{seen:#?}\n{all:#?}");
    for (what, requests) in [
        ("`sessions create`, accepted", 4),
        ("`sessions send`, accepted", 3),
        (first, 12),
        (idle, 0),
    ] {
        assert!(budgets[what].requests <= requests, "{what}");
    }
    let sum = |some: &[Spent]| some.iter().map(|turn| turn.requests).sum::<u64>();
    let (first, last) = (&turns[..10], &turns[turns.len() - 10..]);
    assert!(sum(last).abs_diff(sum(first)) <= 10, "{turns:?}");
}

/// What the page permits, by what it is for.
fn budgets() -> BTreeMap<String, Spent> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/costs.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
        let [what, requests, usd, ..] = cells.as_slice() else {
            return None;
        };
        // Of a thousand: 0.001 dollars are a thousandth of a thousandth each.
        let (whole, thousandths) = usd.split_once('.')?;
        let thousandths = whole.parse::<u64>().ok()? * 1_000 + thousandths.parse::<u64>().ok()?;
        let spent = Spent {
            requests: requests.replace(',', "").parse().ok()?,
            nano_usd: thousandths * 1_000,
        };
        Some(((*what).to_owned(), spent))
    });
    rows.collect()
}

/// Turns of the Session.
const TURNS: u64 = 500;
