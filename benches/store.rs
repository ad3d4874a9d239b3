//! What the SQLite store costs, beside the disk's own sync measured in the same run.
//!
//! Every figure that matters is a ratio to the floor (F: overwrite 4 KiB and `fdatasync`), or to one client: absolute times say more
//! about the machine and its neighbours. With real-time priority where that is permitted. The data is under `TMPDIR`.
//!
//! `cargo bench --bench store` measures everything; `-- slow`, `-- fast` and `-- processes` measure a part.

mod clients;
mod floor;
mod processes;
#[allow(dead_code, reason = "shared with the bench of the engine")]
mod setting;
mod slow_syncs;
mod workload;

use std::env;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rat_things::backend::local::store::SqliteStore;
use rat_things::engine::ports::{Committed, Key, Range, Store};

use clients::{Load, Outcome, fill, run};
use floor::{Floor, median, percentile};
use setting::{ROLE, figure, micros, open, real_time, runtime, say};
use workload::{Heads, Random, SESSIONS};

/// Rounds whose medians are reported.
const ROUNDS: u64 = 5;

/// Clients that are measured beside a lone one.
const MANY: [usize; 3] = [16, 32, 64];

fn main() -> io::Result<()> {
    match env::var(ROLE).as_deref() {
        Ok(slow_syncs::SHIMMED) => return slow_syncs::role(),
        Ok(processes::LOAD) => return processes::role(),
        _ => {}
    }
    let asked: Vec<String> = env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|a| a == part);
    let dir = tempfile::tempdir()?;
    say(&format!(
        "commits of 5 rows and 2.3 KB on {SESSIONS} Sessions; F = overwrite 4 KiB + fdatasync"
    ));
    if !real_time() {
        say(
            "(no real-time priority permitted: on a busy machine every sync waits for a time slice)",
        );
    }
    if wanted("slow") {
        slow_syncs::measure(dir.path())?;
    }
    let path = dir.path().join("store.db");
    if wanted("fast") || wanted("processes") {
        let runtime = runtime()?;
        let store = open(&path, true)?;
        let heads = Arc::new(Heads::new());
        runtime.block_on(fill(&store, &heads));
        if wanted("fast") {
            let mut floor = Floor::new(dir.path())?;
            runtime.block_on(fast(&path, &store, &heads, &mut floor))?;
        }
    }
    if wanted("processes") {
        processes::measure(&path)?;
    }
    Ok(())
}

/// The disk as it is.
async fn fast(
    path: &Path,
    store: &Arc<SqliteStore>,
    heads: &Arc<Heads>,
    floor: &mut Floor,
) -> io::Result<()> {
    let mut rounds = Vec::new();
    for number in 0..ROUNDS {
        rounds.push(round(store, heads, floor, number).await?);
    }
    report(&rounds);
    reads(store).await;
    short_lived(path, heads, floor).await?;
    after_a_crash(path, floor).await
}

/// What one round measured.
struct Round {
    /// The floor, p50 and p99 in µs.
    floor_us: (f64, f64),
    /// A lone client.
    lone: Outcome,
    /// Several clients.
    many: Vec<Outcome>,
}

/// One round: a lone client in short turns with the floor, then many clients, all on the store as it is by then.
async fn round(
    store: &Arc<SqliteStore>,
    heads: &Arc<Heads>,
    floor: &mut Floor,
    number: u64,
) -> io::Result<Round> {
    let mut bottom = Vec::new();
    let mut lone = Outcome::default();
    for turn in 0..20 {
        bottom.extend(floor.sample(25)?);
        let load = Load::alone(1, Duration::from_millis(25));
        let seed = 1000 + number * 20 + u64::from(turn);
        lone = lone.and(run(store, heads, load, seed).await, turn);
    }
    let mut many = Vec::new();
    for clients in MANY {
        let load = Load::alone(clients, Duration::from_millis(800));
        let seed = 2000 + number * 100 + clients as u64;
        many.push(run(store, heads, load, seed).await);
    }
    Ok(Round {
        floor_us: (
            micros(percentile(&bottom, 50.0)),
            micros(percentile(&bottom, 99.0)),
        ),
        lone,
        many,
    })
}

fn report(rounds: &[Round]) {
    let of = |value: &dyn Fn(&Round) -> f64| median(rounds.iter().map(value));
    let p50 = |o: &Outcome| micros(o.latency(50.0));
    figure("F, p50", of(&|r| r.floor_us.0), "µs", "");
    figure("1 client", of(&|r| r.lone.rate), "/s", "");
    let inside = of(&|r| micros(percentile(&r.lone.inside, 50.0)) / r.floor_us.0);
    figure("  in the writer, p50", inside, "× F", "goal ≤ 1.7");
    let seen = of(&|r| p50(&r.lone) / r.floor_us.0);
    figure("  through the queue, p50", seen, "× F", "goal ≤ 2.2");
    let tail = of(&|r| micros(r.lone.latency(99.0)) / r.floor_us.1);
    figure("  p99 / p99 of F", tail, "", "goal ≤ 3.5");
    figure(
        "  WAL pages a commit",
        of(&|r| r.lone.pages),
        "",
        "goal ≤ 6",
    );
    for (at, clients) in MANY.into_iter().enumerate() {
        figure(
            &format!("{clients} clients"),
            of(&|r| r.many[at].rate),
            "/s",
            "",
        );
        let goal = if clients == 64 { "goal ≥ 3.5" } else { "" };
        let ratio = of(&|r| r.many[at].rate / r.lone.rate);
        figure("  / 1 client", ratio, "", goal);
        figure("  p50", of(&|r| p50(&r.many[at])), "µs", "");
        figure("  commits a sync", of(&|r| r.many[at].per_sync), "", "");
        if clients == 16 {
            let tail = of(&|r| micros(r.many[at].latency(99.0)) / p50(&r.many[at]));
            figure("  p99 / p50", tail, "", "goal ≤ 4");
            let longest = of(&|r| micros(r.many[at].latency(100.0)) / p50(&r.many[at]));
            figure("  longest / p50", longest, "", "goal ≤ 40");
        }
        if clients == 64 {
            let product = of(&|r| r.many[at].rate * r.floor_us.0) / 1e6;
            figure("  commits/s × F", product, "", "goal ≥ 1.4");
            let cpu = of(&|r| micros(r.many[at].writer_cpu));
            figure("  writer's CPU a commit", cpu, "µs", "goal ≤ 80");
        }
    }
}

async fn reads(store: &Arc<SqliteStore>) {
    let mut random = Random(5);
    let (mut gets, mut ranges) = (vec![], vec![]);
    for _ in 0..5000 {
        let session = random.below(SESSIONS as u64);
        let key = Key::new(format!("S/sess_{session:026}"), "head");
        let begun = Instant::now();
        let head = store.get(&key).await;
        gets.push(begun.elapsed());
        assert!(head.is_ok_and(|head| head.is_some()));
    }
    for _ in 0..500 {
        let range = Range::prefix(format!("A/execute/{}", random.below(4)), "1", 100);
        let begun = Instant::now();
        let page = store.range(&range).await;
        ranges.push(begun.elapsed());
        assert!(page.is_ok_and(|page| page.records.len() == 100));
    }
    figure("get, p50", micros(percentile(&gets, 50.0)), "µs", "");
    figure(
        "range of 100, p50",
        micros(percentile(&ranges, 50.0)),
        "µs",
        "",
    );
}

/// What a command costs that opens the store, beside a process that has it open.
async fn short_lived(path: &Path, heads: &Arc<Heads>, floor: &mut Floor) -> io::Result<()> {
    let (mut opens, mut commands) = (vec![], vec![]);
    let mut random = Random(9);
    for round in 0..ROUNDS as usize {
        let (mut first, mut whole) = (vec![], vec![]);
        let unit = micros(percentile(&floor.sample(100)?, 50.0));
        for n in 0..50 {
            let session = (round * 50 + n) * 7;
            let key = Key::new(format!("S/sess_{session:026}"), "head");
            let begun = Instant::now();
            let store = open(path, true)?;
            let head = store.get(&key).await;
            first.push(begun.elapsed());
            assert!(head.is_ok_and(|head| head.is_some()));
            drop(store);
            let commit = heads.accept(session, &mut random);
            let begun = Instant::now();
            let store = open(path, true)?;
            let answer = store.commit(commit).await;
            drop(store);
            whole.push(begun.elapsed());
            assert_eq!(answer, Ok(Committed { repeated: false }));
        }
        opens.push(micros(percentile(&first, 50.0)) / unit);
        commands.push(micros(percentile(&whole, 50.0)) / unit);
    }
    figure("open + first get, p50", median(opens), "× F", "goal ≤ 4");
    figure(
        "open + commit + close, p50",
        median(commands),
        "× F",
        "goal ≤ 5",
    );
    Ok(())
}

/// Opening what a crash leaves behind: a database with a WAL of 15 MiB that no index covers, as a copy of both files has it.
async fn after_a_crash(beside: &Path, floor: &mut Floor) -> io::Result<()> {
    // A little more, and the helper copies it into the database.
    const PAGES: u64 = 3_850;
    let dir = tempfile::tempdir_in(beside.parent().unwrap_or(Path::new(".")))?;
    let (live, left) = (dir.path().join("live.db"), dir.path().join("left.db"));
    let store = open(&live, true)?;
    let (heads, mut random) = (Heads::new(), Random(11));
    for session in 0.. {
        let answer = store.commit(heads.accept(session, &mut random)).await;
        assert_eq!(answer, Ok(Committed { repeated: false }));
        if store.stats().wal_length_pages >= PAGES {
            break;
        }
    }
    let key = Key::new(format!("S/sess_{:026}", 0), "head");
    let mut times = vec![];
    for _ in 0..10 {
        std::fs::copy(&live, &left)?;
        std::fs::copy(live.with_extension("db-wal"), left.with_extension("db-wal"))?;
        let begun = Instant::now();
        let store = open(&left, true)?;
        let head = store.get(&key).await;
        times.push(begun.elapsed());
        assert!(head.is_ok_and(|head| head.is_some()));
        drop(store);
    }
    let ratio = micros(percentile(&times, 50.0)) / micros(percentile(&floor.sample(200)?, 50.0));
    figure("first get, 15 MiB of WAL left", ratio, "× F", "goal ≤ 60");
    Ok(())
}
