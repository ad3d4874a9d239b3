//! A thousand Sessions and three daemons over one account, none of which hears the others: nothing is lost, nothing is doubled, and
//! in the end nothing is owed.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;
use pretty_assertions::assert_eq;
use rat_things::backend::harness::responses::{Options, ResponsesHarness};
use rat_things::backend::local::compute::InProcessCompute;
use rat_things::backend::memory::environments::{Scripted, ScriptedEnvironments};
use rat_things::backend::model::demo::{self, DemoModel};
use rat_things::engine::core::Core;
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::ids::SessionId;
use rat_things::engine::item::{ItemBody, ItemRow};
use rat_things::engine::keys::{self, owner_of};
use rat_things::engine::ports::{Principal, RunGrant};
use rat_things::engine::run::Worker;
use tokio::sync::watch;

use super::account::{core, plain};
use super::{place, sound};

const SESSIONS: usize = 1_000;
const DAEMONS: usize = 3;
/// One of so many gets a second message.
const TALKATIVE: usize = 10;
/// Runs of one daemon at the same time.
const RUNS: usize = 32;
/// Requests of clients at the same time.
const CLIENTS: usize = 16;
/// How long a busy machine may take.
const LONG: Duration = Duration::from_secs(600);

/// A daemon with a store, a bell and workers of its own.
fn daemon(core: Core, stopped: watch::Receiver<bool>) -> Arc<Dispatcher> {
    let environments = ScriptedEnvironments::new(|_, _| Scripted::ok("one file".to_owned()));
    let environments = Arc::new(environments);
    let options = Options {
        history_budget_bytes: demo::HISTORY_BYTES,
        ..Options::default()
    };
    let harness = Arc::new(ResponsesHarness::new(Arc::new(DemoModel), options));
    let worker = Worker::new(core.clone(), harness, environments.clone());
    worker.listen();
    let run = move |grant: RunGrant| {
        let worker = Arc::clone(&worker);
        Box::pin(async move { worker.run(grant).await }) as _
    };
    let compute = InProcessCompute::new(Arc::new(run), RUNS).expect("a boot id");
    let dispatcher = Dispatcher::new(core, Arc::new(compute), environments);
    tokio::spawn(Arc::clone(&dispatcher).run(stopped));
    dispatcher
}

/// What a Session's agent said, in order.
async fn said(core: &Core, owner: &str, session: &SessionId) -> Vec<String> {
    let rows = sound::partition(&*core.store, keys::session_partition(session)).await;
    let items = rows.iter().filter(|row| row.key.sort.starts_with("item/"));
    let mut said = Vec::new();
    for item in items {
        let row: ItemRow = serde_json::from_slice(&item.value).expect("an item");
        if let ItemBody::Message { text, .. } = row.body {
            let scope = core.scope(owner, session);
            let text = core.fetch(&scope, &text).await.expect("its words");
            said.push(text.as_str().expect("text").to_owned());
        }
    }
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sessions_and_three_daemons_lose_nothing_and_double_nothing() {
    let begun = Instant::now();
    let place = place();
    let client = core(&place.options, &place.places).await;
    let owner = owner_of(&Principal {
        name: "aws:111122223333:role/Ops".to_owned(),
    });
    let (_stop, stopped) = watch::channel(false);
    let mut daemons = Vec::new();
    for _ in 0..DAEMONS {
        let core = core(&place.options, &place.places).await;
        daemons.push(daemon(core, stopped.clone()));
    }
    let (client, owner) = (&client, owner.as_str());
    let sessions: Vec<SessionId> = stream::iter(0..SESSIONS)
        .map(|n| async move { plain::talk(client, owner, &format!("@say first of {n}")).await })
        .buffered(CLIENTS)
        .collect()
        .await;
    // Of those that get another message, some are busy with the first, some are done with it, and for some it waits.
    stream::iter(sessions.iter().enumerate().step_by(TALKATIVE))
        .for_each_concurrent(CLIENTS, |(n, session)| async move {
            let text = format!("@say second of {n}");
            plain::send(client, owner, session, "second", &text).await;
        })
        .await;
    loop {
        let left = sound::agenda(client).await;
        if left.is_empty() {
            break;
        }
        assert!(begun.elapsed() < LONG, "{} are left: {left:?}", left.len());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let took = begun.elapsed().as_secs_f64();
    let now_ms = client.clock.now_ms();
    let broken = sound::broken(client, owner, &sessions, now_ms).await;
    assert_eq!(broken, [""; 0]);
    let checked = stream::iter(sessions.iter().enumerate())
        .map(|(n, session)| async move {
            let loaded = client.load(session).await.expect("reads").expect("there");
            let head = loaded.head;
            let messages = if n % TALKATIVE == 0 { 2 } else { 1 };
            let next = (head.next.input, head.next.turn);
            // A message that came while the first was worked on may have steered its Turn.
            let possible = [(messages + 1, messages + 1), (messages + 1, 2)];
            assert!(
                head.turn.is_none() && possible.contains(&next),
                "{session}: {head:?}"
            );
            if n % 50 == 0 {
                let both = [format!("first of {n}"), format!("second of {n}")];
                assert_eq!(said(client, owner, session).await, both);
            }
        })
        .buffer_unordered(CLIENTS);
    assert_eq!(checked.count().await, SESSIONS);
    let claimed: Vec<u64> = daemons
        .iter()
        .map(|daemon| daemon.counts().claimed.get())
        .collect();
    assert!(claimed.iter().all(|claimed| *claimed > 0), "{claimed:?}");
    let _ = writeln!(
        std::io::stderr(),
        "{SESSIONS} sessions, {DAEMONS} daemons: all done after {took:.1} s, claimed {claimed:?}"
    );
}
