//! What the SQLite store costs, beside the disk's own sync measured in the same run.
//!
//! Every figure that matters is a ratio to the floor (F: overwrite 4 KiB and `fdatasync`), or to one client: absolute times say more
//! about the machine and its neighbours. With real-time priority where that is permitted; the part with slow syncs at ordinary
//! priority, because there the sync hides the noise. `cargo bench --bench store`; the data is under `TMPDIR`.

mod clients;
mod floor;
mod setting;
mod workload;

use std::env;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rat_things::backend::local::store::{SqliteStore, StoreOptions};
use rat_things::engine::ports::{Committed, Key, Range, Store};

use clients::{Load, Outcome, fill, learn, run};
use floor::{Floor, median, percentile};
use setting::{ROLE, again, build_shim, real_time, say};
use workload::{Heads, Random, SESSIONS};

/// Rounds whose medians are reported.
const ROUNDS: u64 = 5;

/// Added to each sync by the shim.
const SHIM: Duration = Duration::from_millis(5);

macro_rules! say {
    ($($part:tt)*) => { say(format_args!($($part)*)) };
}

fn main() -> io::Result<()> {
    match env::var(ROLE).as_deref() {
        Ok("shimmed") => {
            return shimmed(Path::new(
                &env::var("RAT_THINGS_BENCH_DB").unwrap_or_default(),
            ));
        }
        Ok("load") => return load_role(),
        _ => {}
    }
    let dir = tempfile::tempdir()?;
    say!(
        "store: accept-like commits, 5 rows and 2.3 KB, {SESSIONS} Sessions; F = overwrite 4 KiB + fdatasync"
    );
    match build_shim(dir.path()) {
        Ok(shim) => with_slow_syncs(dir.path(), &shim)?,
        Err(e) => say!("slow syncs: not measured, the shim can't be built ({e})"),
    }
    if !real_time() {
        say!(
            "(no real-time priority permitted: on a busy machine every sync waits for a time slice)"
        );
    }
    let runtime = runtime()?;
    let path = dir.path().join("store.db");
    let store = open(&path, true)?;
    let heads = Arc::new(Heads::new());
    let mut floor = Floor::new(dir.path())?;
    runtime.block_on(async {
        fill(&store, &heads).await;
        let mut rounds = Vec::new();
        for number in 0..ROUNDS {
            rounds.push(round(&store, &heads, &mut floor, number).await?);
        }
        report(&rounds);
        reads(&store).await;
        short_lived(&path, &store, &heads, &mut floor).await
    })?;
    drop(store);
    two_processes(&path)
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}

fn open(path: &Path, gather: bool) -> io::Result<Arc<SqliteStore>> {
    let options = StoreOptions {
        gather,
        ..StoreOptions::default()
    };
    SqliteStore::open(path, options)
        .map(Arc::new)
        .map_err(io::Error::other)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// What one round measured.
struct Round {
    /// The floor, p50 and p99 in µs.
    floor: (f64, f64),
    /// A lone client.
    lone: Outcome,
    /// 16, 32 and 64 clients.
    many: [Outcome; 3],
}

/// Clients that are measured beside a lone one.
const MANY: [usize; 3] = [16, 32, 64];

/// One round: a lone client in short turns with the floor, then many clients, all on the store as it is by then.
async fn round(
    store: &Arc<SqliteStore>,
    heads: &Arc<Heads>,
    floor: &mut Floor,
    number: u64,
) -> io::Result<Round> {
    let mut bottom = Vec::new();
    let mut lone: Option<Outcome> = None;
    for turn in 0..20u32 {
        bottom.extend(floor.sample(25)?);
        let load = Load::alone(1, Duration::from_millis(25));
        let out = run(store, heads, load, 1000 + number * 20 + u64::from(turn)).await;
        lone = Some(match lone {
            Some(sum) => sum.and(out, f64::from(turn)),
            None => out,
        });
    }
    let mut many = Vec::new();
    for clients in MANY {
        let load = Load::alone(clients, Duration::from_millis(800));
        many.push(run(store, heads, load, 2000 + number * 100 + clients as u64).await);
    }
    match (lone, <[Outcome; 3]>::try_from(many)) {
        (Some(lone), Ok(many)) => Ok(Round {
            floor: (
                micros(percentile(&bottom, 50.0)),
                micros(percentile(&bottom, 99.0)),
            ),
            lone,
            many,
        }),
        _ => Err(io::Error::other("a round is always complete")),
    }
}

fn report(rounds: &[Round]) {
    let of = |figure: &dyn Fn(&Round) -> f64| median(rounds.iter().map(figure));
    let p50 = |o: &Outcome| micros(o.latency(50.0));
    say!(
        "F, p50                             {:>8.0} µs     p99 {:.0} µs",
        of(&|r| r.floor.0),
        of(&|r| r.floor.1)
    );
    say!(
        "1 client                           {:>8.0} /s     p50 {:.0} µs",
        of(&|r| r.lone.rate),
        of(&|r| p50(&r.lone))
    );
    say!(
        "  in the writer, p50               {:>8.2} × F      goal ≤ 1.7",
        of(&|r| micros(percentile(&r.lone.inside, 50.0)) / r.floor.0)
    );
    say!(
        "  through the queue, p50           {:>8.2} × F      goal ≤ 2.2",
        of(&|r| p50(&r.lone) / r.floor.0)
    );
    say!(
        "  p99 / p99 of F                   {:>8.2}          goal ≤ 3.5",
        of(&|r| micros(r.lone.latency(99.0)) / r.floor.1)
    );
    say!(
        "  WAL pages a commit               {:>8.2}          goal ≤ 6",
        of(&|r| r.lone.pages)
    );
    for (at, clients) in MANY.into_iter().enumerate() {
        say!(
            "{clients} clients                         {:>8.0} /s     p50 {:.2} ms, {:.0} commits a sync, {:.1} pages a commit",
            of(&|r| r.many[at].rate),
            of(&|r| p50(&r.many[at])) / 1e3,
            of(&|r| r.many[at].per_sync),
            of(&|r| r.many[at].pages)
        );
        say!(
            "  / 1 client                       {:>8.2}          {}",
            of(&|r| r.many[at].rate / r.lone.rate),
            if clients == 64 { "goal ≥ 3.5" } else { "" }
        );
        if clients == 64 {
            say!(
                "  commits/s × F                    {:>8.2}          goal ≥ 1.4",
                of(&|r| r.many[at].rate * r.floor.0) / 1e6
            );
            say!(
                "  writer CPU a commit              {:>8.0} µs     goal ≤ 80 µs",
                of(&|r| micros(r.many[at].writer_cpu))
            );
        }
        if clients == 16 {
            say!(
                "  p99 / p50                        {:>8.2}          goal ≤ 4",
                of(&|r| micros(r.many[at].latency(99.0)) / p50(&r.many[at]))
            );
            say!(
                "  longest / p50                    {:>8.1}          goal ≤ 40 (real-time work pauses up to 50 ms a second)",
                of(&|r| micros(r.many[at].latency(100.0)) / p50(&r.many[at]))
            );
        }
    }
}

async fn reads(store: &Arc<SqliteStore>) {
    let mut random = Random(5);
    let (mut gets, mut ranges) = (vec![], vec![]);
    for _ in 0..5000 {
        let session = random.below(SESSIONS as u64);
        let begun = Instant::now();
        let head = store
            .get(&Key::new(format!("S/sess_{session:026}"), "head"))
            .await;
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
    say!(
        "get, p50                           {:>8.0} µs     p99 {:.0} µs",
        micros(percentile(&gets, 50.0)),
        micros(percentile(&gets, 99.0))
    );
    say!(
        "range of 100, p50                  {:>8.0} µs     p99 {:.0} µs",
        micros(percentile(&ranges, 50.0)),
        micros(percentile(&ranges, 99.0))
    );
}

/// What a command costs that opens the store, beside a daemon that has it open.
async fn short_lived(
    path: &Path,
    daemon: &Arc<SqliteStore>,
    heads: &Arc<Heads>,
    floor: &mut Floor,
) -> io::Result<()> {
    let (mut opens, mut commands) = (vec![], vec![]);
    let mut random = Random(9);
    for round in 0..ROUNDS {
        let (mut first, mut whole) = (vec![], vec![]);
        let unit = micros(percentile(&floor.sample(100)?, 50.0));
        for n in 0..50 {
            let session = (round as usize * 50 + n) * 7;
            let key = Key::new(format!("S/sess_{session:026}"), "head");
            let begun = Instant::now();
            let store = open(path, true)?;
            assert!(store.get(&key).await.is_ok_and(|head| head.is_some()));
            first.push(begun.elapsed());
            drop(store);
            let commit = heads.accept(session, &mut random);
            let begun = Instant::now();
            let store = open(path, true)?;
            assert_eq!(
                store.commit(commit).await,
                Ok(Committed { repeated: false })
            );
            drop(store);
            whole.push(begun.elapsed());
        }
        opens.push(micros(percentile(&first, 50.0)) / unit);
        commands.push(micros(percentile(&whole, 50.0)) / unit);
    }
    assert!(daemon.stats().commits > 0);
    say!(
        "open + first get, p50              {:>8.2} × F      goal ≤ 4",
        median(opens)
    );
    say!(
        "open + commit + close, p50         {:>8.2} × F      goal ≤ 5",
        median(commands)
    );
    Ok(())
}

/// Runs the part of this bench that has its syncs slowed down.
fn with_slow_syncs(dir: &Path, shim: &Path) -> io::Result<()> {
    let status = again("shimmed")?
        .env("LD_PRELOAD", shim)
        .env("SYNC_SHIM_DELAY_US", SHIM.as_micros().to_string())
        .env("RAT_THINGS_BENCH_DB", dir.join("slow.db"))
        .stdout(Stdio::inherit())
        .status()?;
    if !status.success() {
        say!("slow syncs: {status}");
    }
    Ok(())
}

fn shimmed(path: &Path) -> io::Result<()> {
    let runtime = runtime()?;
    let heads = Arc::new(Heads::new());
    let mut floor = Floor::new(path.parent().unwrap_or(Path::new(".")))?;
    let sync = micros(percentile(&floor.sample(50)?, 50.0));
    let mut lone = vec![];
    for gather in [false, true] {
        let store = open(path, gather)?;
        runtime.block_on(async {
            if !gather {
                fill(&store, &heads).await;
            }
            let load = Load::alone(1, Duration::from_secs(3));
            lone.push(run(&store, &heads, load, 50 + u64::from(gather)).await);
        });
    }
    let (without, with) = (&lone[0], &lone[1]);
    say!("5 ms added to each sync, 1 client  {:>8.0} /s", with.rate);
    say!(
        "  its p50 / one such sync          {:>8.2}          goal ≤ 1.15",
        micros(with.latency(50.0)) / sync
    );
    say!(
        "  its p50, gathering / not         {:>8.2}          goal ≤ 1.05",
        micros(with.latency(50.0)) / micros(without.latency(50.0))
    );
    let store = open(path, true)?;
    for (clients, goal) in [(8, "goal ≥ 7"), (32, ""), (64, "goal ≥ 30")] {
        let load = Load::alone(clients, Duration::from_secs(3));
        let out = runtime.block_on(run(&store, &heads, load, 60 + clients as u64));
        say!(
            "  {clients:>2} clients / 1 client            {:>8.1}          {goal} ({:.0} /s, {:.1} commits a sync)",
            out.rate / with.rate,
            out.rate,
            out.per_sync
        );
    }
    Ok(())
}

/// What one of several processes on a store reports.
struct Share {
    rate: f64,
    p50_us: f64,
    longest_us: f64,
    busy: u64,
}

fn two_processes(path: &Path) -> io::Result<()> {
    let alone = shares(path, &[8])?;
    let both = shares(path, &[8, 8])?;
    let of = |rounds: &[Vec<Share>], figure: fn(&[Share]) -> f64| {
        median(rounds.iter().map(|r| figure(r)))
    };
    let (sum, single) = (
        of(&both, |s| s[0].rate + s[1].rate),
        of(&alone, |s| s[0].rate),
    );
    let even = of(&both, |s| {
        s[0].rate.min(s[1].rate) / s[0].rate.max(s[1].rate)
    });
    let longest = |s: &[Share]| s.iter().map(|s| s.longest_us).fold(0.0, f64::max);
    say!(
        "2 processes × 8 clients, sum       {sum:>8.0} /s     {:.2} of one process (goal ≥ 0.8)",
        sum / single
    );
    say!("  slower / faster                  {even:>8.2}          goal ≥ 0.6");
    say!(
        "  longest wait / alone             {:>8.2}          goal ≤ 2",
        of(&both, longest) / of(&alone, longest)
    );
    let mixed = shares(path, &[64, 1])?;
    let cycle = of(&mixed, |s| s[0].p50_us);
    say!(
        "1 client beside 64, p50 / cycle    {:>8.2}          goal ≤ 1.5 (longest {:.0} ms)",
        of(&mixed, |s| s[1].p50_us) / cycle,
        of(&mixed, |s| s[1].longest_us) / 1e3
    );
    let three = shares(path, &[8, 8, 8])?;
    say!(
        "3 processes × 8, longest wait      {:>8.0} ms     goal ≤ 500 ms",
        of(&three, longest) / 1e3
    );
    let busy: u64 = [&alone, &both, &mixed, &three]
        .into_iter()
        .flatten()
        .flatten()
        .map(|s| s.busy)
        .sum();
    say!("database found locked              {busy:>8}          goal 0");
    Ok(())
}

/// Runs one process for each number of clients, all at once, in a few rounds.
fn shares(path: &Path, clients: &[usize]) -> io::Result<Vec<Vec<Share>>> {
    let all: usize = clients.iter().sum();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH);
    (0..3)
        .map(|round| {
            // Long enough for each to learn the heads.
            let begin_ms = now().map_err(io::Error::other)?.as_millis() + 2500;
            let mut children = Vec::new();
            let mut before = 0;
            for count in clients {
                let job = format!("{count} {before} {all} {round} {begin_ms}");
                before += count;
                let mut child = again("load")?;
                child.env("RAT_THINGS_BENCH_DB", path);
                children.push(child.env("RAT_THINGS_BENCH_LOAD", job).spawn()?);
            }
            children.into_iter().map(share).collect()
        })
        .collect()
}

/// Reads what a process of a load reports.
fn share(mut child: Child) -> io::Result<Share> {
    let mut text = String::new();
    if let Some(out) = &mut child.stdout {
        out.read_to_string(&mut text)?;
    }
    let status = child.wait()?;
    let figures: Vec<f64> = text
        .split_whitespace()
        .filter_map(|n| n.parse().ok())
        .collect();
    match figures[..] {
        [rate, p50_us, longest_us, busy] if status.success() => Ok(Share {
            rate,
            p50_us,
            longest_us,
            busy: busy as u64,
        }),
        _ => Err(io::Error::other(format!("a process of the load: {status}"))),
    }
}

/// One of several processes on a store: waits for the common beginning, loads the store, prints its share.
fn load_role() -> io::Result<()> {
    let path = PathBuf::from(env::var_os("RAT_THINGS_BENCH_DB").unwrap_or_default());
    let job = env::var("RAT_THINGS_BENCH_LOAD").unwrap_or_default();
    let numbers: Vec<u64> = job.split(' ').filter_map(|n| n.parse().ok()).collect();
    let [clients, before, all, round, begin_ms] = numbers[..] else {
        return Err(io::Error::other("no job"));
    };
    let store = open(&path, true)?;
    let out = runtime()?.block_on(async {
        let heads = Arc::new(learn(&store).await);
        let begin = UNIX_EPOCH + Duration::from_millis(begin_ms);
        if let Ok(left) = begin.duration_since(SystemTime::now()) {
            tokio::time::sleep(left).await;
        }
        let load = Load {
            clients: clients as usize,
            time: Duration::from_secs(2),
            before: before as usize,
            all: all as usize,
        };
        run(&store, &heads, load, begin_ms % 1_000_000 + round).await
    });
    let (p50, longest) = (micros(out.latency(50.0)), micros(out.latency(100.0)));
    say!("{} {p50} {longest} {}", out.rate, out.busy);
    Ok(())
}
