//! The same commits on a disk whose syncs take 5 ms longer: then only the number of syncs counts, and figures repeat even on a busy
//! machine.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use crate::clients::{Load, Outcome, fill, run};
use crate::floor::{Floor, median, percentile};
use crate::setting::{again, build_shim, figure, micros, open, runtime, say};
use crate::workload::Heads;

/// The role of the process that has its syncs slowed down.
pub const SHIMMED: &str = "shimmed";

/// Tells that process where to measure.
const DIRECTORY: &str = "RAT_THINGS_BENCH_DIR";

/// Added to each sync.
const DELAY: Duration = Duration::from_millis(5);

/// Clients beside a lone one, and the goals of their throughput in its units.
const MANY: [(usize, &str); 3] = [(8, "goal ≥ 7"), (32, ""), (64, "goal ≥ 30")];

/// What one round measured.
struct Round {
    /// One slow sync of 4 KiB, p50 in µs.
    sync_us: f64,
    /// A lone client of a writer that never waits for company.
    hasty: Outcome,
    /// A lone client.
    lone: Outcome,
    /// Several clients.
    many: [Outcome; MANY.len()],
}

/// Measures in a process of its own, with the shim in front of the system's syncs.
pub fn measure(dir: &Path) -> io::Result<()> {
    let shim = match build_shim(dir) {
        Ok(shim) => shim,
        Err(e) => {
            say(&format!("(slow syncs are not measured: {e})"));
            return Ok(());
        }
    };
    let status = again(SHIMMED)?
        .env("LD_PRELOAD", shim)
        .env("SYNC_SHIM_DELAY_US", DELAY.as_micros().to_string())
        .env(DIRECTORY, dir)
        .stdout(Stdio::inherit())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("slow syncs: {status}"))),
    }
}

/// What that process does.
pub fn role() -> io::Result<()> {
    let dir = PathBuf::from(env::var_os(DIRECTORY).unwrap_or_default());
    let path = dir.join("slow.db");
    let runtime = runtime()?;
    let mut floor = Floor::new(&dir)?;
    let (hasty, store) = (open(&path, false)?, open(&path, true)?);
    let heads = Arc::new(Heads::new());
    runtime.block_on(fill(&store, &heads));
    let mut rounds = Vec::new();
    for number in 0..3 {
        let mut seed = 100 * number;
        let mut load = |store, clients| {
            seed += 1;
            let load = Load::alone(clients, Duration::from_millis(1200));
            runtime.block_on(run(store, &heads, load, seed))
        };
        rounds.push(Round {
            sync_us: micros(percentile(&floor.sample(50)?, 50.0)),
            hasty: load(&hasty, 1),
            lone: load(&store, 1),
            many: MANY.map(|(clients, _)| load(&store, clients)),
        });
    }
    report(&rounds);
    Ok(())
}

fn report(rounds: &[Round]) {
    let of = |value: &dyn Fn(&Round) -> f64| median(rounds.iter().map(value));
    let p50 = |o: &Outcome| micros(o.latency(50.0));
    say("each sync takes 5 ms longer");
    figure("1 client", of(&|r| r.lone.rate), "/s", "");
    let ratio = of(&|r| p50(&r.lone) / r.sync_us);
    figure("  p50 / one such sync", ratio, "", "goal ≤ 1.15");
    let ratio = of(&|r| p50(&r.lone) / p50(&r.hasty));
    figure("  p50, gathering / not", ratio, "", "goal ≤ 1.05");
    for (at, (clients, goal)) in MANY.into_iter().enumerate() {
        figure(
            &format!("{clients} clients"),
            of(&|r| r.many[at].rate),
            "/s",
            "",
        );
        let ratio = of(&|r| r.many[at].rate / r.lone.rate);
        figure("  / 1 client", ratio, "", goal);
        let per_sync = of(&|r| r.many[at].per_sync);
        figure("  commits a sync", per_sync, "", "");
    }
}
