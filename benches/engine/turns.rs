//! Whole Turns of one tool step, with a model that answers at once and commands that take no time: what is left is the engine.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rat_things::backend::memory::environments::{Scripted, ScriptedEnvironments};
use rat_things::engine::ids::SessionId;

use crate::Size;
use crate::accepts;
use crate::floor::{median, percentile};
use crate::setting::{micros, runtime};
use crate::table::{Budget, Table, number};
use crate::texts::{Like, text};
use crate::world::{Working, World};

/// Clients that are measured beside a lone one.
const CLIENTS: usize = 32;

/// Turns of the Session that is compared with a new one.
const LONG: usize = 1_000;

/// What Turns cost.
#[derive(Clone, Copy)]
struct Cost {
    commits: f64,
    pages: f64,
    reads: f64,
    scans: f64,
}

/// The counters of a world, to be compared with later.
struct Since<'a> {
    world: &'a World,
    commits: u64,
    pages: u64,
    reads: u64,
    scans: u64,
}

impl<'a> Since<'a> {
    fn now(world: &'a World) -> Since<'a> {
        let stats = world.stats();
        Since {
            world,
            commits: stats.commits,
            pages: stats.wal_pages,
            reads: world.counted.reads(),
            scans: world.counted.scans(),
        }
    }

    fn per(&self, turns: usize) -> Cost {
        let now = Since::now(self.world);
        let each = |after: u64, before: u64| (after - before) as f64 / turns as f64;
        Cost {
            commits: each(now.commits, self.commits),
            pages: each(now.pages, self.pages),
            reads: each(now.reads, self.reads),
            scans: each(now.scans, self.scans),
        }
    }
}

/// Commands that print `bytes` at once.
pub fn instant(bytes: usize) -> ScriptedEnvironments {
    let line = "-rw-r--r-- 1 root root 4096 a-file-with-a-name.txt\n";
    let output: String = line.chars().cycle().take(bytes).collect();
    ScriptedEnvironments::new(move |_, _| Scripted::ok(output.clone()))
}

/// One Turn in one Session after the other, by so many clients; how long each took.
pub async fn load(
    working: &Arc<Working>,
    sessions: &[SessionId],
    clients: usize,
) -> io::Result<(f64, Vec<Duration>)> {
    let sessions: Arc<[SessionId]> = sessions.into();
    let begun = Instant::now();
    let tasks = (0..clients).map(|client| {
        let (working, sessions) = (Arc::clone(working), Arc::clone(&sessions));
        tokio::spawn(async move {
            let mut seen = Vec::new();
            for session in sessions.iter().skip(client).step_by(clients) {
                seen.push(working.turn(session, "@exec ls -l\n@say done").await?.1);
            }
            Ok::<_, io::Error>(seen)
        })
    });
    let mut seen = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        seen.extend(task.await.map_err(io::Error::other)??);
    }
    Ok((seen.len() as f64 / begun.elapsed().as_secs_f64(), seen))
}

/// What one round measured.
struct Round {
    accept_us: f64,
    turn_us: f64,
    lone_rate: f64,
    cost: Cost,
    rate: f64,
    many_us: f64,
    many: Cost,
}

async fn round(
    idle: &World,
    busy: &World,
    working: &Arc<Working>,
    size: Size,
) -> io::Result<Round> {
    let slice = size.of(20, 5);
    let (mut accepts, mut turns, mut costs, mut rates) = (vec![], vec![], vec![], vec![]);
    for _ in 0..size.of(10, 3) {
        let sessions = idle.sessions(slice).await?;
        accepts.extend(accepts::load(idle, &sessions, 1).await?.latencies);
        let sessions = busy.sessions(slice).await?;
        let since = Since::now(busy);
        let (rate, seen) = load(working, &sessions, 1).await?;
        costs.push(since.per(slice));
        rates.push(rate);
        turns.extend(seen);
    }
    let count = CLIENTS * size.of(40, 4);
    let sessions = busy.sessions(count).await?;
    let since = Since::now(busy);
    let (rate, seen) = load(working, &sessions, CLIENTS).await?;
    let many = since.per(count);
    let of = |value: fn(&Cost) -> f64| median(costs.iter().map(value));
    Ok(Round {
        accept_us: micros(percentile(&accepts, 50.0)),
        turn_us: micros(percentile(&turns, 50.0)),
        lone_rate: median(rates),
        cost: Cost {
            commits: of(|c| c.commits),
            pages: of(|c| c.pages),
            reads: of(|c| c.reads),
            scans: of(|c| c.scans),
        },
        rate,
        many_us: micros(percentile(&seen, 50.0)),
        many,
    })
}

/// One client and many.
pub fn measure(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    let mut rounds = Vec::new();
    runtime()?.block_on(async {
        let idle = World::open(&dir.join("turns-idle")).await?;
        let busy = World::open(&dir.join("turns")).await?;
        let working = Arc::new(busy.work(instant(10))?);
        for _ in 0..size.of(5, 1) {
            rounds.push(round(&idle, &busy, &working, size).await?);
        }
        Ok::<_, io::Error>(())
    })?;
    let of = |value: fn(&Round) -> f64| median(rounds.iter().map(value));
    table.part("a Turn with one tool step: no latency of a model, no sandbox");
    let accept = format!("accept: {} µs", number(of(|r| r.accept_us)));
    table.row(
        "1 client, p50",
        of(|r| r.turn_us),
        "µs",
        &accept,
        Budget::None,
    );
    let ratio = of(|r| r.turn_us / r.accept_us);
    table.row(
        "  of one accept's p50",
        ratio,
        "×",
        &accept,
        Budget::AtMost(6.0),
    );
    let commits = of(|r| r.cost.commits);
    table.row(
        "  commits, the accept included",
        commits,
        "",
        "",
        Budget::AtMost(4.0),
    );
    let scans = format!("{} ranges", number(of(|r| r.cost.scans)));
    table.row(
        "  reads by key",
        of(|r| r.cost.reads),
        "",
        &scans,
        Budget::None,
    );
    table.row("  WAL pages", of(|r| r.cost.pages), "", "", Budget::None);
    let p50 = format!("p50 {} µs", number(of(|r| r.many_us)));
    table.row(
        "32 clients",
        of(|r| r.rate),
        "/s",
        &p50,
        Budget::AtLeast(1200.0),
    );
    let one = format!("1 client: {} /s", number(of(|r| r.lone_rate)));
    let ratio = of(|r| r.rate / r.lone_rate);
    table.row("  of one client's rate", ratio, "×", &one, Budget::None);
    table.row(
        "  WAL pages a Turn",
        of(|r| r.many.pages),
        "",
        "",
        Budget::None,
    );
    Ok(())
}

/// Two thousand bytes of question, six thousand of a command's output, a thousand of answer; and how many those are.
struct LongText(Like);

impl LongText {
    const OUTPUT_BYTES: usize = 6_000;

    fn message(&self, n: usize) -> String {
        let of = |part: u64, bytes| text(self.0, n as u64 * 2 + part, bytes);
        let (question, answer) = (of(0, 2_000), of(1, 1_000));
        format!("{question}\n@exec ls -l {n}\n@say {answer}")
    }

    fn outputs(&self) -> ScriptedEnvironments {
        let like = self.0;
        let seed = AtomicU64::new(1 << 32);
        ScriptedEnvironments::new(move |_, _| {
            let seed = seed.fetch_add(1, Ordering::Relaxed);
            Scripted::ok(text(like, seed, Self::OUTPUT_BYTES))
        })
    }

    fn bytes(&self, turns: usize) -> f64 {
        (turns * (self.message(turns).len() + "ls -l 1000".len() + Self::OUTPUT_BYTES + 1_000))
            as f64
    }
}

/// A Session of so many Turns, in a store of its own that is closed when it is answered.
fn long_session(root: &Path, texts: &LongText, turns: usize) -> io::Result<SessionId> {
    runtime()?.block_on(async {
        let world = World::open(root).await?;
        let working = world.work(texts.outputs())?;
        let session = world.sessions(1).await?.remove(0);
        for n in 0..turns {
            working.turn(&session, &texts.message(n)).await?;
        }
        Ok(session)
    })
}

/// A Session's late Turns against a new Session's first ones, in turns; then the bytes that the long one took.
pub fn measure_long(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    let root = dir.join("long");
    let turns = size.of(LONG, 60);
    let at = turns - size.of(100, 20);
    let texts = LongText(Like::Prose);
    let old = long_session(&root, &texts, at)?;
    // The store is closed by now, so the log is folded into the database.
    let disk_ratio = bytes_below(&root)? as f64 / texts.bytes(at);
    let noise = (LongText(Like::Noise), dir.join("noise"), size.of(300, 30));
    long_session(&noise.1, &noise.0, noise.2)?;
    let noise_ratio = bytes_below(&noise.1)? as f64 / noise.0.bytes(noise.2);
    let (mut first, mut late) = (Sample::default(), Sample::default());
    runtime()?.block_on(async {
        let world = World::open(&root).await?;
        let working = world.work(texts.outputs())?;
        // One Turn warms up whatever is opened on first use.
        working
            .turn(&world.sessions(1).await?[0], &texts.message(0))
            .await?;
        for n in at..turns {
            late.take(&world, &working, &old, &texts.message(n)).await?;
            let fresh = world.sessions(1).await?;
            let message = texts.message(n);
            first.take(&world, &working, &fresh[0], &message).await?;
        }
        Ok::<_, io::Error>(())
    })?;
    table.part(&format!(
        "Turn {turns} of a Session against Turn 1 (medians of the last {} and as many first ones)",
        turns - at
    ));
    let ratio = late.p50() / first.p50();
    let beside = format!("Turn 1: {} µs", number(first.p50()));
    table.row("p50", ratio, "×", &beside, Budget::AtMost(1.1));
    for (what, value) in [
        ("commits", (|c| c.commits) as fn(&Cost) -> f64),
        ("reads by key", |c| c.reads),
        ("ranges", |c| c.scans),
        ("WAL pages", |c| c.pages),
    ] {
        let (early, later) = (first.cost(value), late.cost(value));
        let beside = format!("{} against {}", number(later), number(early));
        table.row(
            &format!("  {what}"),
            later / early.max(f64::MIN_POSITIVE),
            "×",
            &beside,
            Budget::AtMost(1.1),
        );
    }
    let beside = format!(
        "{at} Turns, {} KB of text each; where nothing repeats in it: {} ×",
        number(texts.bytes(1) / 1e3),
        number(noise_ratio)
    );
    table.row(
        "bytes on disk / bytes of text",
        disk_ratio,
        "×",
        &beside,
        Budget::AtMost(1.3),
    );
    Ok(())
}

/// Turns of one kind.
#[derive(Default)]
struct Sample {
    times: Vec<Duration>,
    costs: Vec<Cost>,
}

impl Sample {
    async fn take(
        &mut self,
        world: &World,
        working: &Working,
        session: &SessionId,
        text: &str,
    ) -> io::Result<()> {
        let since = Since::now(world);
        self.times.push(working.turn(session, text).await?.1);
        self.costs.push(since.per(1));
        Ok(())
    }

    fn p50(&self) -> f64 {
        micros(percentile(&self.times, 50.0))
    }

    fn cost(&self, value: fn(&Cost) -> f64) -> f64 {
        median(self.costs.iter().map(value))
    }
}

/// Bytes of all files in a directory and below it.
fn bytes_below(dir: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        sum += match meta.is_dir() {
            true => bytes_below(&entry.path())?,
            false => meta.len(),
        };
    }
    Ok(sum)
}
