//! This engine and others by turns in one run: the same work, the same disk, the same priority. What the drivers of the others do is in
//! `benches/peers`.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::Size;
use crate::accepts;
use crate::floor::{median, percentile};
use crate::peer::{Figures, INSTALL, Job, Peer};
use crate::programs;
use crate::setting::{micros, runtime, say};
use crate::table::{Budget, Table, number};
use crate::turns;
use crate::world::{Working, World};

/// A peer, and what is known of it before it runs.
struct Known {
    /// As `benches/peers/start` calls it.
    name: &'static str,
    /// Of our Turns a second with 32 clients, in its own.
    turns: Budget,
}

/// All of them.
const PEERS: [Known; 3] = [
    Known {
        name: "restate",
        turns: Budget::AtLeast(5.0),
    },
    Known {
        name: "dbos",
        turns: Budget::None,
    },
    Known {
        name: "absurd",
        turns: Budget::None,
    },
];

/// What is measured, with how many clients.
const JOBS: [(Job, usize); 5] = [
    (Job::Accept, 1),
    (Job::Accept, 32),
    (Job::Accept, MOST),
    (Job::Turn, 1),
    (Job::Turn, TURNS),
];

/// Clients of the accepts by which the best peer is chosen, and of the Turns that have a budget.
const MOST: usize = 64;
const TURNS: usize = 32;

/// With fewer syncs than this for each accept of a lone client, a peer answers before it has synced.
const HONEST: f64 = 0.9;

/// A peer is idle so long before its memory is looked at.
const SETTLE: Duration = Duration::from_secs(2);

/// This engine, on two stores: one that accepts only, and one that works.
struct Ours {
    runtime: Runtime,
    idle: World,
    busy: World,
    working: Arc<Working>,
    /// Of a daemon that has nothing to do; unknown where there is no `/proc`.
    memory_mib: Option<f64>,
    size: Size,
}

impl Ours {
    fn open(dir: &Path, size: Size) -> io::Result<Ours> {
        let runtime = runtime()?;
        let (idle, busy, working) = runtime.block_on(async {
            let idle = World::open(&dir.join("idle")).await?;
            let busy = World::open(&dir.join("busy")).await?;
            let working = Arc::new(busy.work(turns::instant(10))?);
            Ok::<_, io::Error>((idle, busy, working))
        })?;
        Ok(Ours {
            runtime,
            idle,
            busy,
            working,
            memory_mib: programs::idle_mib(dir)?,
            size,
        })
    }

    /// The same as [`Peer::run`], but counted, not timed: Sessions are made before the clock starts.
    fn run(&self, job: Job, clients: usize) -> io::Result<Figures> {
        let each = match (job, clients) {
            (Job::Accept, 1) => self.size.of(2_000, 50),
            (Job::Turn, 1) => self.size.of(400, 10),
            (Job::Accept, _) => self.size.of(160, 5),
            (Job::Turn, _) => self.size.of(60, 4),
        };
        let count = clients * each;
        let (rate, latencies) = self.runtime.block_on(async {
            match job {
                Job::Accept => {
                    let sessions = self.idle.sessions(count).await?;
                    let load = accepts::load(&self.idle, &sessions, clients).await?;
                    Ok::<_, io::Error>((load.rate, load.latencies))
                }
                Job::Turn => {
                    let sessions = self.busy.sessions(count).await?;
                    turns::load(&self.working, &sessions, clients).await
                }
            }
        })?;
        Ok(Figures {
            count: latencies.len() as u64,
            rate,
            p50_us: micros(percentile(&latencies, 50.0)),
            p99_us: micros(percentile(&latencies, 99.0)),
        })
    }
}

/// One job of ours and the same of a peer, right after one another.
#[derive(Clone, Copy)]
struct Pair {
    ours: Figures,
    theirs: Figures,
}

/// The rounds of one job.
struct Pairs(Vec<Pair>);

impl Pairs {
    fn of(&self, value: impl Fn(&Pair) -> f64) -> f64 {
        median(self.0.iter().map(value))
    }

    fn ratio(&self) -> f64 {
        self.of(|pair| pair.ours.rate / pair.theirs.rate)
    }
}

/// What is kept of a peer when it is over.
struct Seen {
    engine: String,
    honest: bool,
    /// Accepts of many clients a second, and ours for each of its.
    rate: f64,
    ratio: f64,
}

/// Ours beside each peer that is installed.
pub fn measure(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    let ours = Ours::open(&dir.join("ours"), size)?;
    let mut seen = Vec::new();
    for known in &PEERS {
        match Peer::start(known.name, dir) {
            Ok(Some(peer)) => seen.push(beside(&ours, peer, known, dir, table)?),
            Ok(None) => say(&format!("── {}: not installed: {INSTALL}", known.name)),
            // What is wrong with a peer should not hide what can be measured.
            Err(error) => say(&format!("── {}: not measured: {error}", known.name)),
        }
    }
    let honest = seen.iter().filter(|seen| seen.honest);
    if let Some(best) = honest.max_by(|a, b| a.rate.total_cmp(&b.rate)) {
        table.part("the best of these that sync before they answer");
        let what = format!("accepts of {MOST} clients, ours / best");
        table.row(&what, best.ratio, "×", &best.engine, Budget::AtLeast(4.0));
    }
    Ok(())
}

/// Ours, the peer, ours, the peer.
fn beside(
    ours: &Ours,
    mut peer: Peer,
    known: &Known,
    dir: &Path,
    table: &Table,
) -> io::Result<Seen> {
    let time = Duration::from_millis(ours.size.of(1_500, 300) as u64);
    std::thread::sleep(SETTLE);
    let idle_mib = peer.memory_mib();
    let syncs = peer.syncs(dir, time)?;
    let mut jobs = JOBS.map(|_| Pairs(Vec::new()));
    for _ in 0..ours.size.of(3, 1) {
        for ((job, clients), pairs) in JOBS.into_iter().zip(&mut jobs) {
            pairs.0.push(Pair {
                ours: ours.run(job, clients)?,
                theirs: peer.run(job, clients, time)?,
            });
        }
    }
    table.part(peer.engine());
    let mut seen = Seen {
        engine: peer.engine().to_owned(),
        honest: syncs.is_none_or(|syncs| syncs >= HONEST),
        rate: 0.0,
        ratio: 0.0,
    };
    for ((job, clients), pairs) in JOBS.into_iter().zip(&jobs) {
        let budget = match (job, clients) {
            (Job::Turn, TURNS) => known.turns,
            _ => Budget::None,
        };
        rows(table, job, clients, pairs, budget);
        if (job, clients) == (Job::Accept, MOST) {
            (seen.rate, seen.ratio) = (pairs.of(|pair| pair.theirs.rate), pairs.ratio());
        }
    }
    match syncs {
        Some(syncs) => {
            let remark = match seen.honest {
                true => "synced before the answer",
                false => "answers before it syncs: not compared",
            };
            table.row(
                "syncs of an accept, 1 client",
                syncs,
                "",
                remark,
                Budget::None,
            );
        }
        None => say("(its syncs are not counted: no strace)"),
    }
    let memory = [idle_mib, peer.memory_mib(), ours.memory_mib];
    if let [Some(idle), Some(after), Some(own)] = memory {
        let [after, own] = [after, own].map(number);
        let beside = format!("after all this: {after} MiB; our daemon, idle: {own} MiB");
        table.row("memory, idle", idle, "MiB", &beside, Budget::None);
    }
    Ok(seen)
}

/// What the peer reached in one job, and how much more we did.
fn rows(table: &Table, job: Job, clients: usize, pairs: &Pairs, budget: Budget) {
    let what = match job {
        Job::Accept => "accept",
        Job::Turn => "a Turn",
    };
    let plural = if clients == 1 { "" } else { "s" };
    let ms = |value: fn(&Pair) -> f64| number(pairs.of(value) / 1e3);
    let times = |p50: String, p99: String| format!("p50 {p50}, p99 {p99} ms");
    let theirs = times(ms(|pair| pair.theirs.p50_us), ms(|pair| pair.theirs.p99_us));
    let ours = times(ms(|pair| pair.ours.p50_us), ms(|pair| pair.ours.p99_us));
    let ours = format!(
        "ours: {} /s, {ours}",
        number(pairs.of(|pair| pair.ours.rate))
    );
    let rate = pairs.of(|pair| pair.theirs.rate);
    let head = format!("{what}, {clients} client{plural}");
    table.row(&head, rate, "/s", &theirs, Budget::None);
    table.row("  ours / peer", pairs.ratio(), "×", &ours, budget);
}
