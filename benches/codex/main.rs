//! What a long conversation with Codex costs: its checkpoints, and going on from one in a fresh home.
//!
//! `cargo bench --bench codex` has 500 Turns with the real Codex (`tests/codex/install`) and a provider on loopback that answers at once;
//! `-- --quick` has 40 and only shows that the bench works. What the rows mean is in docs/performance.md.

mod app_server;
#[path = "../../tests/it/codex/exec.rs"]
#[allow(dead_code, reason = "shared with the tests of the harness")]
mod exec;
#[path = "../../tests/it/codex/installed.rs"]
mod installed;
#[path = "../setting.rs"]
#[allow(dead_code, reason = "shared with the bench of the store")]
mod setting;
#[path = "../../tests/it/codex/stub/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the harness"
)]
mod stub;
#[path = "../engine/table.rs"]
#[allow(dead_code, reason = "shared with the bench of the engine")]
mod table;

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rat_things::backend::harness::codex::checkpoint::{Manifest, restore, take};

use app_server::AppServer;
use exec::Home;
use stub::{Answer, Stub};
use table::{Budget, Table};

/// The Codex that is installed for tests.
const VERSION: &str = "0.171.0";
/// How often a conversation is gone on with; the middle one counts.
const RESUMES: usize = 5;

fn main() -> io::Result<()> {
    let quick = env::args().any(|arg| arg == "--quick");
    setting::runtime()?.block_on(measure(if quick { 40 } else { 500 }))
}

/// What one Turn's checkpoint came to.
struct Saved {
    bytes: usize,
    took: Duration,
    turn: Duration,
}

async fn measure(turns: usize) -> io::Result<()> {
    // As an agent works: a command in every Turn, and some words.
    let words =
        "It is as it was before, and nothing that was looked at has changed since. ".repeat(8);
    let stub = Stub::playing(move |asked| match asked.input().last() {
        Some(last) if last["role"] == "user" => {
            let call = format!("call_{}", asked.number);
            Answer::new().runs(&call, "uname -a; ls -la /; date")
        }
        _ => Answer::new().says(&words),
    })
    .await;
    let home = Home::new(&stub.base_url);
    let mut agent = AppServer::start(&home).await?;
    let thread = agent.thread(&home).await?;
    let mut saved = Vec::new();
    let mut stored = BTreeMap::new();
    let mut first = None;
    let mut last: Option<Manifest> = None;
    for number in 0..turns {
        let started = Instant::now();
        agent
            .turn(&thread, &format!("Look again, for the time {number}."))
            .await?;
        let turn = started.elapsed();
        let started = Instant::now();
        let taken =
            take(&home.path(), &thread, VERSION, last.as_ref()).map_err(io::Error::other)?;
        let took = started.elapsed();
        let (written, blobs) = taken.manifest.written();
        let row = serde_json::to_vec(&(written, blobs))?.len();
        let segments: usize = taken.new.iter().map(|segment| segment.packed.len()).sum();
        saved.push(Saved {
            bytes: segments + row,
            took,
            turn,
        });
        for segment in taken.new {
            stored.insert(segment.saved.blob.sha256, segment.packed);
        }
        first.get_or_insert_with(|| taken.manifest.clone());
        last = Some(taken.manifest);
    }
    agent.end().await?;
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(());
    };
    let table = Table::default();
    table.head();
    report(&table, &saved, &last);
    let (start, early) = resumed(&stub, &first, &stored, &thread).await?;
    let (_, late) = resumed(&stub, &last, &stored, &thread).await?;
    let beside = format!(
        "after Turn 1: {:.0} ms; a start alone: {:.0} ms",
        millis(early),
        millis(start)
    );
    let what = format!("put back, start and resume after {turns} Turns");
    table.row(&what, millis(late), "ms", &beside, Budget::None);
    let grown = millis(late) / millis(early);
    table.row("against Turn 1", grown, "×", "", Budget::None);
    table.end();
    Ok(())
}

fn report(table: &Table, saved: &[Saved], last: &Manifest) {
    // The first Turn holds the instructions too, so it is left out.
    let window = (saved.len() / 10).max(5);
    let early = &saved[1..=window];
    let late = &saved[saved.len() - window..];
    let bytes =
        |of: &[Saved]| of.iter().map(|saved| saved.bytes).sum::<usize>() as f64 / of.len() as f64;
    let middle = |of: &[Saved], time: fn(&Saved) -> Duration| {
        let mut times: Vec<Duration> = of.iter().map(time).collect();
        times.sort_unstable();
        millis(times[times.len() / 2])
    };
    let total: usize = saved.iter().map(|saved| saved.bytes).sum();
    let turns = saved.len();
    let own = last.raw_bytes() as f64 / turns as f64;
    let beside = format!(
        "first {window} Turns: {:.1} KiB; Codex writes {:.1} KiB",
        bytes(early) / 1024.0,
        own / 1024.0
    );
    table.row(
        &format!("checkpoint, last {window} of {turns} Turns"),
        bytes(late) / 1024.0,
        "KiB",
        &beside,
        Budget::None,
    );
    table.row(
        "against the first ones",
        bytes(late) / bytes(early),
        "×",
        "",
        Budget::None,
    );
    let beside = format!(
        "{:.1} MiB as Codex has it",
        last.raw_bytes() as f64 / 1_048_576.0
    );
    table.row(
        "all checkpoints together",
        total as f64 / 1_048_576.0,
        "MiB",
        &beside,
        Budget::None,
    );
    let beside = format!("first ones: {:.1} ms", middle(early, |saved| saved.took));
    table.row(
        "taking one, p50",
        middle(late, |saved| saved.took),
        "ms",
        &beside,
        Budget::None,
    );
    let beside = format!("first ones: {:.0} ms", middle(early, |saved| saved.turn));
    table.row(
        "the Turn itself, p50",
        middle(late, |saved| saved.turn),
        "ms",
        &beside,
        Budget::None,
    );
}

/// A start without a conversation, and one that goes on from a checkpoint: the middle one of some each.
async fn resumed(
    stub: &Stub,
    manifest: &Manifest,
    stored: &BTreeMap<String, Bytes>,
    thread: &str,
) -> io::Result<(Duration, Duration)> {
    let mut starts = Vec::new();
    let mut resumes = Vec::new();
    for _ in 0..RESUMES {
        let empty = Home::new(&stub.base_url);
        let started = Instant::now();
        let agent = AppServer::start(&empty).await?;
        starts.push(started.elapsed());
        agent.end().await?;

        let home = Home::new(&stub.base_url);
        let started = Instant::now();
        restore(manifest, stored, VERSION, &home.path()).map_err(io::Error::other)?;
        let mut agent = AppServer::start(&home).await?;
        agent.resume(&home, thread).await?;
        resumes.push(started.elapsed());
        agent.end().await?;
    }
    starts.sort_unstable();
    resumes.sort_unstable();
    Ok((starts[RESUMES / 2], resumes[RESUMES / 2]))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
