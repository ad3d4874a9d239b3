//! Temporary probe.
use rat_things::api::{self, InputEvent, InputMessage, MessageInput};
use rat_things::backend::harness::responses::{Options, ResponsesHarness};
use rat_things::backend::local::{
    bell::LocalBell,
    blobs::LocalBlobs,
    clock::SystemClock,
    compute::InProcessCompute,
    ids::SystemIds,
    store::{SqliteStore, StoreOptions},
};
use rat_things::backend::memory::environments::{Scripted, ScriptedEnvironments};
use rat_things::backend::model::demo::{self, DemoModel};
use rat_things::engine::{
    core::{Core, Settings},
    dispatch::Dispatcher,
    ids::SessionId,
    ports::*,
    run::Worker,
};
use std::sync::Arc;
use std::time::Instant;

struct LogStore {
    inner: Arc<SqliteStore>,
    on: std::sync::atomic::AtomicBool,
    t0: Instant,
}
impl LogStore {
    fn log(&self, what: &str, from: Instant) {
        if self.on.load(std::sync::atomic::Ordering::Relaxed) {
            println!(
                "  {:>7.3} +{:>6.3} {what}",
                from.duration_since(self.t0).as_secs_f64() * 1e3,
                from.elapsed().as_secs_f64() * 1e3
            );
        }
    }
}
#[async_trait::async_trait]
impl Store for LogStore {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        let t = Instant::now();
        let r = self.inner.get(key).await;
        self.log(&format!("get {}", key.sort), t);
        r
    }
    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        let t = Instant::now();
        let r = self.inner.get_many(keys).await;
        self.log(&format!("get_many {}", keys.len()), t);
        r
    }
    async fn range(&self, q: &Range) -> Result<Page, StoreError> {
        let t = Instant::now();
        let r = self.inner.range(q).await;
        self.log(&format!("range {} {}", q.partition, q.from), t);
        r
    }
    async fn commit(&self, c: Commit) -> Result<Committed, StoreError> {
        let t = Instant::now();
        let n = c
            .writes
            .iter()
            .map(|w| match &w.change {
                Change::Put(v) => format!("{}={}", w.key.sort, v.len()),
                Change::Delete => format!("-{}", w.key.sort),
                Change::Check => "?".into(),
            })
            .collect::<Vec<_>>()
            .join(" ");
        let r = self.inner.commit(c).await;
        self.log(&format!("commit {n}"), t);
        r
    }
}
fn create() -> api::SessionCreateParams {
    api::parse_session_create(
        br#"{"environment":{"type":"openai_hosted"},"agent":{"model":"demo"}}"#,
    )
    .unwrap()
}
fn msg(t: &str) -> InputEvent {
    InputEvent::Message(MessageInput {
        input: vec![InputMessage::text(t)],
        delivery: None,
    })
}

#[tokio::main]
async fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let dir = std::path::PathBuf::from(dir);
    std::fs::create_dir_all(dir.join("run")).unwrap();
    let store =
        Arc::new(SqliteStore::open(&dir.join("store.db"), StoreOptions::default()).unwrap());
    let ls = Arc::new(LogStore {
        inner: store.clone(),
        on: false.into(),
        t0: Instant::now(),
    });
    let core = Core {
        store: ls.clone(),
        blobs: Arc::new(LocalBlobs::new(dir.join("blobs"))),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        bell: Arc::new(LocalBell::new(dir.join("run"))),
        settings: Settings::default(),
    };
    let owner = "0123456789abcdef0123456789abcdef";
    let c = create();
    let t = Instant::now();
    let mut sessions = Vec::new();
    let mut js = Vec::new();
    for _ in 0..32 {
        let (core, c) = (core.clone(), c.clone());
        js.push(tokio::spawn(async move {
            let mut v = vec![];
            for _ in 0..32 {
                v.push(core.create_session(owner, None, &c).await.unwrap().session);
            }
            v
        }));
    }
    for j in js {
        sessions.extend(j.await.unwrap());
    }
    println!(
        "create x1024 at 32: {:.0}/s",
        1024.0 / t.elapsed().as_secs_f64()
    );
    let sessions: Arc<Vec<SessionId>> = Arc::new(sessions);
    for clients in [1usize, 32, 64] {
        let n = if clients == 1 { 1000 } else { 8000 };
        let before = store.stats();
        let t = Instant::now();
        let mut js = Vec::new();
        for cl in 0..clients {
            let (core, s) = (core.clone(), sessions.clone());
            js.push(tokio::spawn(async move {
                let mut lat = vec![];
                for i in 0..n / clients {
                    let t = Instant::now();
                    core.send(
                        owner,
                        &s[(cl * 16 + i % 16) % 1024],
                        &format!("{clients}-{cl}-{i}"),
                        &[msg("hello there")],
                    )
                    .await
                    .ok();
                    lat.push(t.elapsed());
                }
                lat
            }));
        }
        let mut lat = vec![];
        for j in js {
            lat.extend(j.await.unwrap());
        }
        let el = t.elapsed();
        lat.sort();
        let after = store.stats();
        println!(
            "accept at {clients}: {:.0}/s p50 {:?} p99 {:?}; commits {} groups {} wal pages/commit {:.1}",
            lat.len() as f64 / el.as_secs_f64(),
            lat[lat.len() / 2],
            lat[lat.len() * 99 / 100],
            after.commits - before.commits,
            after.syncs - before.syncs,
            (after.wal_pages - before.wal_pages) as f64 / (after.commits - before.commits) as f64
        );
    }
    let envs = Arc::new(ScriptedEnvironments::new(|_, _| Scripted::ok("ok")));
    let h = Arc::new(ResponsesHarness::new(
        Arc::new(DemoModel),
        Options {
            history_budget_bytes: demo::HISTORY_BYTES,
            ..Options::default()
        },
    ));
    let w = Worker::new(core.clone(), h, envs.clone());
    w.listen();
    let r = w.clone();
    let compute = InProcessCompute::new(
        Arc::new(move |g| {
            let r = r.clone();
            Box::pin(async move { r.run(g).await })
        }),
        10_000,
    )
    .unwrap();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let d = Dispatcher::new(core.clone(), Arc::new(compute), envs);
    // fresh sessions for turns
    let mut fresh = vec![];
    for _ in 0..256 {
        fresh.push(core.create_session(owner, None, &c).await.unwrap().session);
    }
    // drain the accept backlog first is not wanted: use other data
    let dd = tokio::spawn(d.run(stopped));
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    let fresh = Arc::new(fresh);
    for k in 0..3 {
        ls.on.store(true, std::sync::atomic::Ordering::Relaxed);
        println!("turn {k}");
        let t = Instant::now();
        core.send(
            owner,
            &fresh[0],
            &format!("log{k}"),
            &[msg("@exec echo\n@say done")],
        )
        .await
        .unwrap();
        while core
            .store
            .get(&Key::new(format!("S/{}", fresh[0]), "head"))
            .await
            .unwrap()
            .map(|r| String::from_utf8_lossy(&r.value).contains("turn\":{"))
            .unwrap()
        {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        println!("{:?}", t.elapsed());
        ls.on.store(false, std::sync::atomic::Ordering::Relaxed);
    }
    for (clients, n) in [(1usize, 300usize), (32, 3200), (32, 3200)] {
        let before = store.stats();
        let t = Instant::now();
        let mut js = Vec::new();
        for cl in 0..clients {
            let (core, s) = (core.clone(), fresh.clone());
            js.push(tokio::spawn(async move {
                let mut lat = vec![];
                let mut rings = core.bell.listen();
                for i in 0..n / clients {
                    let s = &s[(cl * 8 + i % 8) % 256];
                    let t = Instant::now();
                    let a = core
                        .send(
                            owner,
                            s,
                            &format!("t{n}-{clients}-{cl}-{i}-{:?}", t),
                            &[msg(&format!("@exec echo {i}\n@say done {i}"))],
                        )
                        .await
                        .unwrap();
                    let _ = a;
                    loop {
                        let l = core.load(s).await.unwrap().unwrap();
                        if l.head.turn.is_none() {
                            break;
                        }
                        loop {
                            match tokio::time::timeout(
                                std::time::Duration::from_millis(100),
                                rings.recv(),
                            )
                            .await
                            {
                                Ok(Some(r)) if r == s.as_str() => break,
                                Ok(_) => {}
                                Err(_) => break,
                            }
                        }
                    }
                    lat.push(t.elapsed());
                }
                lat
            }));
        }
        let mut lat = vec![];
        for j in js {
            lat.extend(j.await.unwrap());
        }
        let el = t.elapsed();
        lat.sort();
        let after = store.stats();
        println!(
            "turn at {clients}: {:.0}/s p50 {:?} p99 {:?}; commits/turn {:.2} groups {} pages/turn {:.1}",
            lat.len() as f64 / el.as_secs_f64(),
            lat[lat.len() / 2],
            lat[lat.len() * 99 / 100],
            (after.commits - before.commits) as f64 / lat.len() as f64,
            after.syncs - before.syncs,
            (after.wal_pages - before.wal_pages) as f64 / lat.len() as f64
        );
    }
    stop.send_replace(true);
    let _ = dd.await;
}
