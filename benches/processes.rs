//! Several processes on one store at once.

use std::env;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::clients::{Load, learn, run};
use crate::floor::median;
use crate::setting::{again, figure, micros, open, runtime, say};

/// The role of one of the processes.
pub const LOAD: &str = "load";

/// Tells a process where the store is, and what to do there.
const JOB: [&str; 2] = ["RAT_THINGS_BENCH_DB", "RAT_THINGS_BENCH_LOAD"];

/// Rounds whose medians are reported.
const ROUNDS: u64 = 3;

/// Long enough for each process to learn the heads before all begin.
const LEARNING_MS: u64 = 2_500;

/// What one process reports.
struct Share {
    /// Commits a second.
    rate: f64,
    /// Latency, p50 and longest, in µs.
    p50_us: f64,
    longest_us: f64,
    /// Groups that found the database locked.
    busy: f64,
}

/// Measures on the store at `path`, which no process has open.
pub fn measure(path: &Path) -> io::Result<()> {
    let alone = rounds(path, &[8])?;
    let both = rounds(path, &[8, 8])?;
    let mixed = rounds(path, &[64, 1])?;
    let three = rounds(path, &[8, 8, 8])?;
    let of =
        |rounds: &[Vec<Share>], value: fn(&[Share]) -> f64| median(rounds.iter().map(|r| value(r)));
    let sum: fn(&[Share]) -> f64 = |s| s.iter().map(|s| s.rate).sum();
    let longest: fn(&[Share]) -> f64 = |s| s.iter().map(|s| s.longest_us).fold(0.0, f64::max);

    say("2 processes with 8 clients each");
    figure("  together", of(&both, sum), "/s", "");
    let ratio = of(&both, sum) / of(&alone, sum);
    figure("  together / one process alone", ratio, "", "goal ≥ 0.8");
    let even = of(&both, |s| {
        s[0].rate.min(s[1].rate) / s[0].rate.max(s[1].rate)
    });
    figure("  slower / faster", even, "", "goal ≥ 0.6");
    let ratio = of(&both, longest) / of(&alone, longest);
    figure("  longest wait / alone", ratio, "", "goal ≤ 2");
    say("1 client beside a process with 64");
    let ratio = of(&mixed, |s| s[1].p50_us / s[0].p50_us);
    figure("  p50 / p50 of the 64", ratio, "", "goal ≤ 1.5");
    figure(
        "  longest wait",
        of(&mixed, |s| s[1].longest_us) / 1e3,
        "ms",
        "",
    );
    say("3 processes with 8 clients each");
    figure(
        "  longest wait",
        of(&three, longest) / 1e3,
        "ms",
        "goal ≤ 500",
    );
    let busy = [alone, both, mixed, three]
        .iter()
        .flatten()
        .flatten()
        .map(|s| s.busy)
        .sum();
    figure("database found locked, in all", busy, "", "goal 0");
    Ok(())
}

/// Runs one process for each number of clients, all at once, in a few rounds.
fn rounds(path: &Path, clients: &[usize]) -> io::Result<Vec<Vec<Share>>> {
    let all: usize = clients.iter().sum();
    (0..ROUNDS)
        .map(|round| {
            let begin_ms = now_ms()? + LEARNING_MS;
            let mut children = Vec::new();
            let mut before = 0;
            for count in clients {
                let job = format!("{count} {before} {all} {round} {begin_ms}");
                before += count;
                let mut child = again(LOAD)?;
                children.push(child.env(JOB[0], path).env(JOB[1], job).spawn()?);
            }
            children.into_iter().map(share).collect()
        })
        .collect()
}

fn now_ms() -> io::Result<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.ok()
        .and_then(|now| u64::try_from(now.as_millis()).ok())
        .ok_or_else(|| io::Error::other("the clock is before 1970"))
}

/// Reads what a process reports.
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
            busy,
        }),
        _ => Err(io::Error::other(format!("a process of the load: {status}"))),
    }
}

/// What a process does: waits for the common beginning, loads the store, prints its share.
pub fn role() -> io::Result<()> {
    let path = PathBuf::from(env::var_os(JOB[0]).unwrap_or_default());
    let job = env::var(JOB[1]).unwrap_or_default();
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
    say(&format!("{} {p50} {longest} {}", out.rate, out.busy));
    Ok(())
}
