//! A process with many Turns in flight is killed; another one takes them all over.

use std::collections::HashMap;
use std::env;
use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rat_things::backend::memory::environments::{Scripted, ScriptedEnvironments};
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{ExecSpec, Program};

use crate::Size;
use crate::floor::median;
use crate::setting::{again, runtime, say};
use crate::table::{Budget, Table, number};
use crate::world::World;

/// The role of the process that is killed.
pub const VICTIM: &str = "victim";

/// Tells it where to work, and how many Turns to begin.
const JOB: [&str; 2] = ["RAT_THINGS_BENCH_DIR", "RAT_THINGS_BENCH_COUNT"];

/// A recovery that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks at the Sessions.
const LOOK: Duration = Duration::from_millis(2);

/// Kills with 100 and with 1,000 Turns in flight.
pub fn measure(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    table.part("kill -9 of a process with Turns in flight, each in the middle of a command");
    let cases: &[(usize, usize, f64)] = match size {
        Size::Full => &[(100, 3, 0.2), (1_000, 3, 2.0)],
        Size::Quick => &[(100, 1, 0.2)],
    };
    for &(turns, rounds, budget_s) in cases {
        let mut all = Vec::new();
        for round in 0..rounds {
            all.push(once(&dir.join(format!("kill-{turns}-{round}")), turns)?);
        }
        let owned = median(all.iter().map(|one| one.owned.as_secs_f64()));
        let ended = median(all.iter().map(|one| one.ended.as_secs_f64()));
        let beside = format!("until all had ended: {} s", number(ended));
        let what = format!("{turns} Turns: all owned again");
        table.row(&what, owned, "s", &beside, Budget::AtMost(budget_s));
        let repeated: usize = all.iter().map(|one| one.repeated).sum();
        let beside = format!("{} begun", turns * rounds);
        table.row(
            "  commands repeated",
            repeated as f64,
            "",
            &beside,
            Budget::AtMost(0.0),
        );
    }
    Ok(())
}

/// What one kill led to.
struct Recovered {
    /// From the restart until every Session had a new generation.
    owned: Duration,
    /// From the restart until every Turn was over.
    ended: Duration,
    /// Commands that were begun again.
    repeated: usize,
}

fn once(dir: &Path, turns: usize) -> io::Result<Recovered> {
    let mut victim = again(VICTIM)?
        .env(JOB[0], dir)
        .env(JOB[1], turns.to_string())
        .stdin(Stdio::piped())
        .spawn()?;
    let out = victim.stdout.take();
    let mut out = BufReader::new(out.ok_or_else(|| io::Error::other("no pipe"))?);
    let mut sessions = Vec::new();
    let mut line = String::new();
    while out.read_line(&mut line)? > 0 && line.trim() != "ready" {
        sessions.extend(SessionId::parse(line.trim()));
        line.clear();
    }
    victim.kill()?;
    victim.wait()?;
    if sessions.len() != turns {
        return Err(io::Error::other(
            "the process that was to be killed ended early",
        ));
    }
    runtime()?.block_on(recover(dir, &sessions))
}

async fn recover(dir: &Path, sessions: &[SessionId]) -> io::Result<Recovered> {
    let begun = Instant::now();
    let world = World::open(dir).await?;
    let working = world.work(effects(dir, None))?;
    until(&world, sessions, begun, |head| head.fence.generation >= 2).await?;
    let owned = begun.elapsed();
    until(&world, sessions, begun, |head| head.turn.is_none()).await?;
    let ended = begun.elapsed();
    drop(working);
    let mut counts: HashMap<String, usize> = HashMap::new();
    for line in std::fs::read_to_string(dir.join("effects"))?.lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    if counts.len() < sessions.len() {
        return Err(io::Error::other("effects got lost"));
    }
    Ok(Recovered {
        owned,
        ended,
        repeated: counts.values().map(|n| n - 1).sum(),
    })
}

/// Waits until all these Sessions are so.
async fn until(
    world: &World,
    sessions: &[SessionId],
    begun: Instant,
    is: fn(&rat_things::engine::session::Head) -> bool,
) -> io::Result<()> {
    for session in sessions {
        loop {
            let loaded = world.watcher.load(session).await;
            if loaded
                .map_err(io::Error::other)?
                .is_some_and(|loaded| is(&loaded.head))
            {
                break;
            }
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::other(format!("{session} is not recovered")));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
    Ok(())
}

/// Commands that leave a line in a file each time they begin. With a counter they count there, too, and never end.
fn effects(dir: &Path, begun: Option<Arc<AtomicUsize>>) -> ScriptedEnvironments {
    let path = dir.join("effects");
    ScriptedEnvironments::new(move |spec: &ExecSpec, _| {
        let Program::Shell(text) = &spec.program else {
            return Scripted::Fails("no such program".to_owned());
        };
        let file = OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = file.and_then(|mut file| writeln!(file, "{text}")) {
            return Scripted::Fails(error.to_string());
        }
        match &begun {
            Some(begun) => {
                begun.fetch_add(1, Ordering::Relaxed);
                Scripted::Hangs {
                    output: "…".to_owned(),
                }
            }
            None => Scripted::ok("done"),
        }
    })
}

/// What the process does that is killed: begins so many Turns, waits until the command of each runs, says so, and hangs.
pub fn role() -> io::Result<()> {
    let dir = PathBuf::from(env::var_os(JOB[0]).unwrap_or_default());
    let turns = env::var(JOB[1]).ok().and_then(|n| n.parse().ok());
    let turns: usize = turns.unwrap_or(1);
    runtime()?.block_on(async {
        let world = World::open(&dir).await?;
        let begun = Arc::new(AtomicUsize::new(0));
        let working = world.work(effects(&dir, Some(Arc::clone(&begun))))?;
        let sessions = world.sessions(turns).await?;
        for (n, session) in sessions.iter().enumerate() {
            let text = format!("@exec first-{n}\n@exec second-{n}\n@say done");
            world.send(session, &text).await?;
            say(session.as_str());
        }
        let since = Instant::now();
        while begun.load(Ordering::Relaxed) < turns && since.elapsed() < PATIENCE {
            tokio::time::sleep(LOOK).await;
        }
        say("ready");
        io::stdout().flush()?;
        // The end of its input comes only if nobody kills it.
        io::stdin().read_to_end(&mut Vec::new())?;
        drop(working);
        Ok(())
    })
}
