//! What a long conversation with Codex costs, as the harness has it: each Turn has a process of its own, which goes on from what the one before kept.
//!
//! `cargo bench --bench codex` has 500 Turns with the real Codex (`tests/codex/install`) and a provider on loopback that answers at once;
//! `-- --quick` has 20 and only shows that the bench works. What the rows mean is in docs/performance.md.

mod engine;
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

use std::env;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::{Engine, Turn};
use stub::{Answer, Stub};
use table::{Budget, Table};

/// How often a conversation is begun anew from its Items; the middle one counts.
const ANEW: usize = 3;

fn main() -> io::Result<()> {
    let quick = env::args().any(|arg| arg == "--quick");
    setting::runtime()?.block_on(measure(if quick { 20 } else { 500 }))
}

/// When the model was asked.
#[derive(Clone, Default)]
pub struct Asked(Arc<Mutex<Vec<Instant>>>);

impl Asked {
    fn now(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Instant::now());
    }

    /// The first time since.
    pub fn since(&self, started: Instant) -> Option<Duration> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = all.iter().find(|at| **at >= started);
        first.map(|at| *at - started)
    }
}

async fn measure(turns: usize) -> io::Result<()> {
    // As an agent works: a command in every Turn, and some words.
    let words =
        "It is as it was before, and nothing that was looked at has changed since. ".repeat(8);
    let asked = Asked::default();
    let times = asked.clone();
    let stub = Stub::playing(move |asked| {
        times.now();
        match asked.input().last() {
            Some(last) if last["role"] == "user" => {
                let call = format!("call_{}", asked.number);
                Answer::new().runs(&call, "uname -a; ls -la /; date")
            }
            _ => Answer::new().says(&words),
        }
    })
    .await;
    let mut engine = Engine::new(&stub.base_url, asked).await?;
    let mut seen = Vec::new();
    let mut anew = Vec::new();
    for number in 1..=turns {
        if [2, 51, turns].contains(&number) {
            let mut some = Vec::new();
            for _ in 0..ANEW {
                some.push(engine.turn_anew().await?);
            }
            some.sort_unstable();
            anew.push((number, some[ANEW / 2]));
        }
        seen.push(engine.turn(number).await?);
    }
    let table = Table::default();
    table.head();
    report(&table, &seen, &anew);
    table.end();
    Ok(())
}

fn report(table: &Table, seen: &[Turn], anew: &[(usize, Duration)]) {
    let turns = seen.len();
    // The first Turn holds the instructions too, and goes on from nothing.
    let window = (turns / 10).max(5);
    let (early, late) = (&seen[1..=window], &seen[turns - window..]);
    let mean = |of: &[Turn], bytes: fn(&Turn) -> usize| {
        of.iter().map(bytes).sum::<usize>() as f64 / of.len() as f64 / 1_024.0
    };
    let row = |what: &str, value: f64, unit: &str, beside: String| {
        table.row(what, value, unit, &beside, Budget::None);
    };
    row(
        &format!("stored for one checkpoint, last {window} of {turns} Turns"),
        mean(late, |turn| turn.stored_bytes),
        "KiB",
        format!(
            "first ones: {:.1} KiB",
            mean(early, |turn| turn.stored_bytes)
        ),
    );
    row(
        "of that, the row",
        mean(late, |turn| turn.row_bytes),
        "KiB",
        format!("first ones: {:.1} KiB", mean(early, |turn| turn.row_bytes)),
    );
    let all: usize = seen.iter().map(|turn| turn.stored_bytes).sum();
    let last = seen.last().map_or(0, |turn| turn.named_bytes);
    row(
        "all checkpoints together",
        all as f64 / 1_048_576.0,
        "MiB",
        format!(
            "what the last one names: {:.2} MiB",
            last as f64 / 1_048_576.0
        ),
    );
    for (number, begun) in anew {
        let from = (number - 1).min(turns - window);
        row(
            &format!("from a Turn's begin to its first model call, around Turn {number}"),
            middle(&seen[from..from + window], |turn| turn.asked),
            "ms",
            format!("begun anew from the Items: {:.0} ms", millis(*begun)),
        );
    }
    row(
        "from the agent's end to the checkpoint, p50",
        middle(late, |turn| turn.taken),
        "ms",
        format!("first ones: {:.1} ms", middle(early, |turn| turn.taken)),
    );
    row(
        "the Turn itself, p50",
        middle(late, |turn| turn.whole),
        "ms",
        format!("first ones: {:.0} ms", middle(early, |turn| turn.whole)),
    );
    let lost = seen.iter().filter(|turn| turn.stored_bytes == 0).count();
    row("Turns without a checkpoint", lost as f64, "", String::new());
}

fn middle(of: &[Turn], time: fn(&Turn) -> Duration) -> f64 {
    let mut times: Vec<Duration> = of.iter().map(time).collect();
    times.sort_unstable();
    millis(times[times.len() / 2])
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
