//! Accepting messages: one commit and one sync each, before the answer.

use std::env;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rat_things::engine::ids::SessionId;

use crate::Size;
use crate::floor::{Floor, median, percentile};
use crate::setting::{again, build_shim, micros, processor_us, runtime, say};
use crate::table::{Budget, Table, number};
use crate::world::World;

/// The role of the process whose syncs are slow.
pub const SHIMMED: &str = "shimmed accepts";
/// The role of one of two processes on the same store.
pub const BESIDE: &str = "accepts beside";

/// Tells a helper where to work, and how much.
const JOB: [&str; 2] = ["RAT_THINGS_BENCH_DIR", "RAT_THINGS_BENCH_COUNT"];

/// Added to each sync by the shim.
const DELAY: Duration = Duration::from_millis(5);

/// Clients of each of two processes.
const EACH: usize = 8;

/// What became of a load.
pub struct Load {
    /// Acceptances a second.
    pub rate: f64,
    /// Of each acceptance.
    pub latencies: Vec<Duration>,
    /// Of each acceptance, in the store's writer alone; known for a lone client only.
    pub inside: Vec<Duration>,
    /// Syncs, commits and WAL pages for one acceptance.
    pub syncs: f64,
    pub commits: f64,
    pub pages: f64,
    /// Processor time of all threads for one acceptance, in microseconds.
    pub processor_us: f64,
    /// Groups that found the database locked.
    pub busy: u64,
}

/// A thousand bytes, which is a usual message.
pub fn thousand() -> String {
    "Please look at the log of last night and say what went wrong there, and why. "
        .chars()
        .cycle()
        .take(1000)
        .collect()
}

/// So many clients at once send one message to each of these Sessions, which have nothing to do: each begins a Turn.
pub async fn load(world: &World, sessions: &[SessionId], clients: usize) -> io::Result<Load> {
    load_for(world, sessions, clients, Duration::MAX).await
}

/// The same, but the clients begin nothing more after this time.
async fn load_for(
    world: &World,
    sessions: &[SessionId],
    clients: usize,
    time: Duration,
) -> io::Result<Load> {
    let sessions: Arc<[SessionId]> = sessions.into();
    let text: Arc<str> = thousand().into();
    let (before, begun) = (world.stats(), Instant::now());
    let idle_us = processor_us();
    let tasks = (0..clients).map(|client| {
        let (world, sessions, text) = (world.clone(), Arc::clone(&sessions), Arc::clone(&text));
        tokio::spawn(async move {
            let (mut seen, mut inside) = (Vec::new(), Vec::new());
            for session in sessions.iter().skip(client).step_by(clients) {
                if begun.elapsed() >= time {
                    break;
                }
                let written = world.stats().writing_ns;
                seen.push(world.send(session, &text).await?);
                let written = world.stats().writing_ns - written;
                if clients == 1 {
                    inside.push(Duration::from_nanos(written));
                }
            }
            Ok::<_, io::Error>((seen, inside))
        })
    });
    let (mut latencies, mut inside) = (Vec::new(), Vec::new());
    for task in tasks.collect::<Vec<_>>() {
        let (seen, written) = task.await.map_err(io::Error::other)??;
        latencies.extend(seen);
        inside.extend(written);
    }
    let (elapsed, after) = (begun.elapsed(), world.stats());
    let used_us = processor_us() - idle_us;
    let count = latencies.len().max(1) as f64;
    Ok(Load {
        rate: count / elapsed.as_secs_f64(),
        latencies,
        inside,
        syncs: (after.syncs - before.syncs) as f64 / count,
        commits: (after.commits - before.commits) as f64 / count,
        pages: (after.wal_pages - before.wal_pages) as f64 / count,
        processor_us: used_us / count,
        busy: after.busy - before.busy,
    })
}

/// What one round measured.
struct Round {
    floor_us: f64,
    lone_us: f64,
    lone_rate: f64,
    inside_us: f64,
    syncs: f64,
    commits: f64,
    pages: f64,
    /// Rate, p50 and processor time of 32 and of 64 clients.
    many: [(f64, f64, f64); 2],
}

/// One round: a lone client in short turns with the floor, then 32, then 64.
async fn round(world: &World, floor: &mut Floor, size: Size) -> io::Result<Round> {
    let slice = size.of(25, 5);
    let (mut bottom, mut lone, mut inside) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rate, mut syncs, mut commits, mut pages) = (vec![], vec![], vec![], vec![]);
    for _ in 0..size.of(12, 4) {
        let sessions = world.sessions(slice).await?;
        bottom.extend(floor.sample(slice)?);
        let part = load(world, &sessions, 1).await?;
        rate.push(part.rate);
        syncs.push(part.syncs);
        commits.push(part.commits);
        pages.push(part.pages);
        lone.extend(part.latencies);
        inside.extend(part.inside);
    }
    let mut many = [(0.0, 0.0, 0.0); 2];
    for (clients, out) in [32, 64].into_iter().zip(&mut many) {
        let sessions = world.sessions(clients * size.of(40, 5)).await?;
        let part = load(world, &sessions, clients).await?;
        let p50_us = micros(percentile(&part.latencies, 50.0));
        *out = (part.rate, p50_us, part.processor_us);
    }
    Ok(Round {
        floor_us: micros(percentile(&bottom, 50.0)),
        lone_us: micros(percentile(&lone, 50.0)),
        inside_us: micros(percentile(&inside, 50.0)),
        lone_rate: median(rate),
        syncs: median(syncs),
        commits: median(commits),
        pages: median(pages),
        many,
    })
}

/// On the disk as it is.
pub fn measure(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    let runtime = runtime()?;
    let mut floor = Floor::new(dir)?;
    let mut rounds = Vec::new();
    runtime.block_on(async {
        let world = World::open(&dir.join("accepts")).await?;
        for _ in 0..size.of(5, 1) {
            rounds.push(round(&world, &mut floor, size).await?);
        }
        Ok::<_, io::Error>(())
    })?;
    let of = |value: fn(&Round) -> f64| median(rounds.iter().map(value));
    let f = format!("F = {} µs", number(of(|r| r.floor_us)));
    table.part("accept a message of 1,000 bytes (F: overwrite 4 KiB + fdatasync, p50)");
    table.row("1 client, p50", of(|r| r.lone_us), "µs", &f, Budget::None);
    let ratio = of(|r| r.inside_us / r.floor_us);
    table.row(
        "  in the store's writer",
        ratio,
        "× F",
        &f,
        Budget::AtMost(1.7),
    );
    let ratio = of(|r| r.lone_us / r.floor_us);
    table.row(
        "  as the client sees it",
        ratio,
        "× F",
        &f,
        Budget::AtMost(2.2),
    );
    let syncs = of(|r| r.syncs);
    let commits = format!("{} commits", number(of(|r| r.commits)));
    table.row("  syncs", syncs, "", &commits, Budget::AtMost(1.0));
    table.row("  WAL pages", of(|r| r.pages), "", "", Budget::AtMost(6.0));
    let one = format!("1 client: {} /s", number(of(|r| r.lone_rate)));
    for (at, clients) in ["32 clients", "64 clients"].into_iter().enumerate() {
        let rate = median(rounds.iter().map(|r| r.many[at].0));
        let p50 = median(rounds.iter().map(|r| r.many[at].1));
        let p50 = format!("p50 {} µs", number(p50));
        table.row(clients, rate, "/s", &p50, Budget::None);
        let used = median(rounds.iter().map(|r| r.many[at].2));
        table.row("  processor time of one", used, "µs", "", Budget::None);
        let ratio = median(rounds.iter().map(|r| r.many[at].0 / r.lone_rate));
        let budget = if at == 1 {
            Budget::AtLeast(3.5)
        } else {
            Budget::None
        };
        table.row("  of one client's rate", ratio, "×", &one, budget);
    }
    Ok(())
}

/// With every sync 5 ms slower, in a process of its own.
pub fn measure_slow(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    table.part("the same, each sync 5 ms slower");
    let shim = match build_shim(dir) {
        Ok(shim) => shim,
        Err(error) => {
            say(&format!("(not measured: the shim can't be built: {error})"));
            return Ok(());
        }
    };
    let child = again(SHIMMED)?
        .env("LD_PRELOAD", shim)
        .env("SYNC_SHIM_DELAY_US", DELAY.as_micros().to_string())
        .env(JOB[0], dir.join("slow"))
        .env(JOB[1], size.of(20, 4).to_string())
        .spawn()?;
    let [sync_us, lone_us, lone, many, most] = figures(child)?;
    let sync = format!("one such sync: {} µs", number(sync_us));
    table.row("1 client, p50", lone_us, "µs", &sync, Budget::None);
    table.row(
        "  of one such sync",
        lone_us / sync_us,
        "×",
        &sync,
        Budget::AtMost(1.15),
    );
    let one = format!("1 client: {} /s", number(lone));
    table.row("32 clients", many, "/s", &one, Budget::None);
    table.row(
        "  of one client's rate",
        many / lone,
        "×",
        &one,
        Budget::None,
    );
    table.row("64 clients", most, "/s", &one, Budget::None);
    table.row(
        "  of one client's rate",
        most / lone,
        "×",
        &one,
        Budget::AtLeast(30.0),
    );
    Ok(())
}

/// What the process with slow syncs does.
pub fn role_slow() -> io::Result<()> {
    let (dir, each) = job();
    let (mut lone_us, mut rates) = (0.0, Vec::new());
    runtime()?.block_on(async {
        let world = World::open(&dir).await?;
        for clients in [1, 32, 64] {
            let count = if clients == 1 {
                5 * each
            } else {
                clients * each
            };
            let sessions = world.sessions(count).await?;
            let part = load(&world, &sessions, clients).await?;
            if clients == 1 {
                lone_us = micros(percentile(&part.latencies, 50.0));
            }
            rates.push(part.rate);
        }
        Ok::<_, io::Error>(())
    })?;
    let sync = Floor::new(&dir)?.sample(50)?;
    let sync_us = micros(percentile(&sync, 50.0));
    say(&format!(
        "{sync_us} {lone_us} {} {} {}",
        rates[0], rates[1], rates[2]
    ));
    Ok(())
}

/// Two processes on one store, each with some clients.
pub fn measure_processes(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    let (mut alone, mut both, mut busy) = (Vec::new(), Vec::new(), 0.0);
    let count = size.of(5_000, 160);
    for number in 0..size.of(3, 1) {
        let dir = dir.join(format!("processes{number}"));
        let one = beside(&dir, 1, count)?;
        let two = beside(&dir, 2, count)?;
        busy += one.iter().chain(&two).map(|[_, _, busy]| busy).sum::<f64>();
        alone.push(one[0]);
        both.push([two[0], two[1]]);
    }
    let sum = median(both.iter().map(|[a, b]| a[0] + b[0]));
    let lone = median(alone.iter().map(|one| one[0]));
    let beside = format!("one process: {} /s", number(lone));
    table.part("two processes at once on one store, 8 clients each");
    table.row("both together", sum, "/s", &beside, Budget::None);
    table.row(
        "  of one process alone",
        sum / lone,
        "×",
        &beside,
        Budget::AtLeast(0.8),
    );
    let even = median(both.iter().map(|[a, b]| a[0].min(b[0]) / a[0].max(b[0])));
    table.row("  slower / faster", even, "", "", Budget::AtLeast(0.6));
    let longest = |shares: &[[f64; 3]]| shares.iter().map(|share| share[1]).fold(0.0, f64::max);
    let worst = median(both.iter().map(|both| longest(both))) / 1e3;
    let single = format!("alone: {} ms", number(longest(&alone) / 1e3));
    table.row("  longest wait", worst, "ms", &single, Budget::None);
    table.row(
        "  database found locked",
        busy,
        "times",
        "",
        Budget::AtMost(0.0),
    );
    Ok(())
}

/// Runs so many processes at once; of each: acceptances a second, longest one in µs, times that it found the database locked.
fn beside(dir: &Path, processes: usize, count: usize) -> io::Result<Vec<[f64; 3]>> {
    let mut children = Vec::new();
    for _ in 0..processes {
        let mut command = again(BESIDE)?;
        command.env(JOB[0], dir).env(JOB[1], count.to_string());
        let mut child = command.stdin(Stdio::piped()).spawn()?;
        // It says when it is ready.
        let out = child
            .stdout
            .take()
            .ok_or_else(|| io::Error::other("no pipe"))?;
        let mut out = BufReader::new(out);
        out.read_line(&mut String::new())?;
        children.push((child, out));
    }
    for (child, _) in &mut children {
        drop(child.stdin.take());
    }
    let mut shares = Vec::new();
    for (mut child, mut out) in children {
        let mut text = String::new();
        out.read_to_string(&mut text)?;
        child.wait()?;
        shares.push(parsed(&text)?);
    }
    Ok(shares)
}

/// What one of the processes does: makes Sessions, says so, waits for the end of its input, and sends to them for a second.
pub fn role_beside() -> io::Result<()> {
    let (dir, count) = job();
    let part = runtime()?.block_on(async {
        let world = World::open(&dir).await?;
        let sessions = world.sessions(count).await?;
        say("ready");
        io::stdout().flush()?;
        io::stdin().read_to_end(&mut Vec::new())?;
        load_for(&world, &sessions, EACH, Duration::from_secs(1)).await
    })?;
    let longest = micros(percentile(&part.latencies, 100.0));
    say(&format!("{} {longest} {}", part.rate, part.busy));
    Ok(())
}

fn job() -> (PathBuf, usize) {
    let dir = PathBuf::from(env::var_os(JOB[0]).unwrap_or_default());
    let count = env::var(JOB[1]).ok().and_then(|n| n.parse().ok());
    (dir, count.unwrap_or(1))
}

/// The numbers that a helper prints.
fn figures<const N: usize>(mut child: Child) -> io::Result<[f64; N]> {
    let mut text = String::new();
    if let Some(out) = &mut child.stdout {
        out.read_to_string(&mut text)?;
    }
    child.wait()?;
    parsed(&text)
}

fn parsed<const N: usize>(text: &str) -> io::Result<[f64; N]> {
    let numbers: Vec<f64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let unexpected = |_| io::Error::other(format!("a helper said: {text:?}"));
    numbers.try_into().map_err(unexpected)
}
