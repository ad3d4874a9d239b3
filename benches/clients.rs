//! Clients that commit one after the other, and what became of their commits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rat_things::backend::local::store::{SqliteStore, StoreStats};
use rat_things::engine::ports::{Committed, Key, Store};

use crate::floor::percentile;
use crate::workload::{Heads, Random, SESSIONS};

/// Who commits, and for how long.
#[derive(Clone, Copy)]
pub struct Load {
    /// Tasks that each wait for an answer before they commit again.
    pub clients: usize,
    /// How long.
    pub time: Duration,
    /// Clients of other processes on the same store that are counted before these.
    pub before: usize,
    /// Clients of all processes on the store.
    pub all: usize,
}

impl Load {
    /// Clients of a process that is alone.
    pub fn alone(clients: usize, time: Duration) -> Load {
        Load {
            clients,
            time,
            before: 0,
            all: clients,
        }
    }
}

/// What a load did.
#[derive(Default)]
pub struct Outcome {
    /// Commits a second.
    pub rate: f64,
    /// Of each commit, as its client saw it.
    pub latencies: Vec<Duration>,
    /// Of each commit, inside the writer alone; known for a lone client only.
    pub inside: Vec<Duration>,
    /// Commits of one sync.
    pub per_sync: f64,
    /// Pages appended to the WAL for one commit.
    pub pages: f64,
    /// Processor time of the writer thread for one commit.
    pub writer_cpu: Duration,
    /// Groups that found the database locked.
    pub busy: u64,
}

impl Outcome {
    /// This outcome of `turns` turns and that of one more, as one.
    pub fn and(mut self, more: Outcome, turns: u32) -> Outcome {
        let turns = f64::from(turns);
        let mean = |sum: f64, one: f64| (sum * turns + one) / (turns + 1.0);
        self.rate = mean(self.rate, more.rate);
        self.per_sync = mean(self.per_sync, more.per_sync);
        self.pages = mean(self.pages, more.pages);
        self.latencies.extend(more.latencies);
        self.inside.extend(more.inside);
        self.busy += more.busy;
        self
    }

    /// A latency that `percent` of the commits do not exceed.
    pub fn latency(&self, percent: f64) -> Duration {
        percentile(&self.latencies, percent)
    }
}

/// Runs a load. Every commit must be applied; anything else ends the bench.
pub async fn run(store: &Arc<SqliteStore>, heads: &Arc<Heads>, load: Load, seed: u64) -> Outcome {
    let before = (store.stats(), writer_cpu());
    let begun = Instant::now();
    let start = |client| client_loop(Arc::clone(store), Arc::clone(heads), load, client, seed);
    let tasks: Vec<_> = (0..load.clients)
        .map(|client| tokio::spawn(start(client)))
        .collect();
    let (mut latencies, mut inside) = (Vec::new(), Vec::new());
    for task in tasks {
        let (seen, written) = task.await.expect("a client ends by itself");
        latencies.extend(seen);
        inside.extend(written);
    }
    let elapsed = begun.elapsed();
    let after = (store.stats(), writer_cpu());
    let delta = |field: fn(&StoreStats) -> u64| (field(&after.0) - field(&before.0)) as f64;
    let commits = delta(|stats| stats.commits).max(1.0);
    Outcome {
        rate: commits / elapsed.as_secs_f64(),
        per_sync: commits / delta(|stats| stats.syncs),
        pages: delta(|stats| stats.wal_pages) / commits,
        writer_cpu: (after.1 - before.1).div_f64(commits),
        busy: after.0.busy - before.0.busy,
        latencies,
        inside,
    }
}

async fn client_loop(
    store: Arc<SqliteStore>,
    heads: Arc<Heads>,
    load: Load,
    client: usize,
    seed: u64,
) -> (Vec<Duration>, Vec<Duration>) {
    // Each client has its own Sessions, so that no two of them compete for a head.
    let own = load.before + client;
    let mine = (SESSIONS - own).div_ceil(load.all) as u64;
    let mut random = Random(seed << 40 ^ (own as u64) << 20);
    let (mut latencies, mut inside) = (Vec::new(), Vec::new());
    let until = Instant::now() + load.time;
    while Instant::now() < until {
        let session = own + load.all * random.below(mine) as usize;
        let commit = heads.accept(session, &mut random);
        let before = store.stats().writing_ns;
        let begun = Instant::now();
        let answer = store.commit(commit).await;
        latencies.push(begun.elapsed());
        assert_eq!(answer, Ok(Committed { repeated: false }));
        if load.clients == 1 {
            inside.push(Duration::from_nanos(store.stats().writing_ns - before));
        }
    }
    (latencies, inside)
}

/// Fills a new store: every Session accepts two inputs.
pub async fn fill(store: &Arc<SqliteStore>, heads: &Arc<Heads>) {
    const BESIDE: usize = 64;
    for round in 0..2 {
        let tasks = (0..BESIDE).map(|client| {
            let (store, heads) = (Arc::clone(store), Arc::clone(heads));
            tokio::spawn(async move {
                let mut random = Random((round * BESIDE + client) as u64);
                for session in (client..SESSIONS).step_by(BESIDE) {
                    let answer = store.commit(heads.accept(session, &mut random)).await;
                    assert_eq!(answer, Ok(Committed { repeated: false }));
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.expect("a client ends by itself");
        }
    }
}

/// Learns the heads of a store that another process filled.
pub async fn learn(store: &Arc<SqliteStore>) -> Heads {
    let heads = Heads::new();
    for (session, head) in heads.0.iter().enumerate() {
        let key = Key::new(format!("S/sess_{session:026}"), "head");
        let record = store.get(&key).await.expect("reads work");
        head.store(record.map_or(0, |head| head.version), Ordering::Relaxed);
    }
    heads
}

/// Processor time that this process's writer threads have used, from the kernel's accounts (zero where there are none).
fn writer_cpu() -> Duration {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return Duration::ZERO;
    };
    let is_writer = |comm: String| comm.trim() == "store-writer";
    let nanos = tasks
        .flatten()
        .map(|task| task.path())
        .filter(|task| std::fs::read_to_string(task.join("comm")).is_ok_and(is_writer))
        .filter_map(|task| std::fs::read_to_string(task.join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum();
    Duration::from_nanos(nanos)
}
