//! The program itself, as a process: how it starts, lists many Sessions, and what it holds while it has nothing to do.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rat_things::engine::read::{ListQuery, SessionFilter};

use crate::Size;
use crate::floor::percentile;
use crate::setting::{micros, runtime, say};
use crate::table::{Budget, Table, number};
use crate::world::World;

/// Sessions in the large store.
const MANY: usize = 100_000;

/// The program under test. Without link-time optimisation, see docs/performance.md.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rat-things");

/// A daemon is idle so long before its memory is looked at: it has looked at the agenda a few times by then.
const SETTLE: Duration = Duration::from_millis(3_000);

/// Start, lists, memory and size.
pub fn measure(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    let (empty, full) = (dir.join("empty"), dir.join("full"));
    let many = size.of(MANY, 2_000);
    let runs = size.of(40, 10);
    let list_us = runtime()?.block_on(async {
        World::open(&empty).await?.sessions(1).await?;
        let world = World::open(&full).await?;
        world.sessions(many).await?;
        list(&world, runs).await
    })?;
    // By turns, so that a busy moment meets all of them.
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..runs {
        let commands = [
            Command::new("/bin/true"),
            program(dir, &empty, &["--version"]),
            program(dir, &empty, &["sessions", "list"]),
            program(dir, &full, &["sessions", "list"]),
        ];
        for (command, times) in commands.into_iter().zip(&mut times) {
            times.push(run(command)?);
        }
    }
    let [floor_ms, version_ms, one_ms, many_ms] =
        times.map(|times| micros(percentile(&times, 50.0)) / 1e3);
    let floor = format!("/bin/true: {} ms", number(floor_ms));
    table.part(&format!(
        "the program as a process, and a store with {many} Sessions"
    ));
    table.row(
        "--version, p50",
        version_ms,
        "ms",
        &floor,
        Budget::AtMost(10.0),
    );
    table.row(
        "sessions list, 1 Session, p50",
        one_ms,
        "ms",
        &floor,
        Budget::None,
    );
    let what = format!("sessions list, {many} Sessions, p50");
    table.row(&what, many_ms, "ms", &floor, Budget::AtMost(50.0));
    let what = "  the newest 20 through the engine, p50";
    table.row(what, list_us / 1e3, "ms", "", Budget::AtMost(50.0));
    memory(dir, &empty, &full, many, table)?;
    binary(dir, table)
}

/// The newest Sessions, through the engine; p50 in µs.
async fn list(world: &World, runs: usize) -> io::Result<f64> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let begun = Instant::now();
        let (query, filter) = (ListQuery::default(), SessionFilter::default());
        let page = world
            .core
            .list_sessions(&world.owner, &query, &filter)
            .await;
        times.push(begun.elapsed());
        if page.map_err(io::Error::other)?.data.len() != query.limit {
            return Err(io::Error::other("a page is not full"));
        }
    }
    Ok(micros(percentile(&times, 50.0)))
}

/// The program on a data directory, with nothing of this process's environment.
fn program(dir: &Path, data: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .env_clear()
        .env("HOME", dir)
        .env("RAT_THINGS_DATA_DIR", data)
        .args(args)
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end; how long that took.
fn run(mut command: Command) -> io::Result<Duration> {
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let begun = Instant::now();
    let child = command.spawn()?;
    let output = child.wait_with_output()?;
    let took = begun.elapsed();
    match output.status.success() {
        true => Ok(took),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(io::Error::other(format!("{command:?}: {said}")))
        }
    }
}

/// What an idle daemon holds, without and with idle Sessions.
fn memory(dir: &Path, empty: &Path, full: &Path, many: usize, table: &Table) -> io::Result<()> {
    let (Some(alone), Some(beside)) = (idle(dir, empty)?, idle(dir, full)?) else {
        say("(memory is not measured: no /proc)");
        return Ok(());
    };
    let mib = |kib: u64| kib as f64 / 1024.0;
    let own = format!(
        "of that, not shared with files: {} MiB",
        number(mib(alone.own_kib))
    );
    table.row(
        "idle daemon, resident",
        mib(alone.all_kib),
        "MiB",
        &own,
        Budget::AtMost(15.0),
    );
    let more = alone.own_kib.abs_diff(beside.own_kib);
    let sign = if beside.own_kib < alone.own_kib {
        -1.0
    } else {
        1.0
    };
    let each = sign * more as f64 / (many as f64 / 1e3);
    let with = format!("with {many}: {} MiB", number(mib(beside.all_kib)));
    table.row(
        "  more for 1,000 idle Sessions",
        each,
        "KiB",
        &with,
        Budget::AtMost(1.0),
    );
    Ok(())
}

/// Memory of a process.
struct Resident {
    /// All of it.
    all_kib: u64,
    /// Without pages of files, which the page cache has anyway.
    own_kib: u64,
}

/// What a daemon on a new data directory holds while it is idle, in MiB.
pub fn idle_mib(dir: &Path) -> io::Result<Option<f64>> {
    let resident = idle(dir, &dir.join("daemon"))?;
    Ok(resident.map(|resident| resident.all_kib as f64 / 1024.0))
}

fn idle(dir: &Path, data: &Path) -> io::Result<Option<Resident>> {
    let mut command = program(dir, data, &["daemon", "run"]);
    let mut daemon = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(said) = daemon.stderr.take() {
        // Its first words are that it runs.
        BufReader::new(said).read_line(&mut String::new())?;
    }
    std::thread::sleep(SETTLE);
    let resident = resident(&daemon);
    // SAFETY: the call sends a signal to our own child, which was not waited for yet.
    unsafe { libc::kill(daemon.id().cast_signed(), libc::SIGTERM) };
    let status = daemon.wait()?;
    match resident {
        _ if !status.success() => Err(io::Error::other(format!("the daemon: {status}"))),
        resident => Ok(resident),
    }
}

fn resident(process: &Child) -> Option<Resident> {
    let text = fs::read_to_string(format!("/proc/{}/status", process.id())).ok()?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some(Resident {
        all_kib: field("VmRSS:")?,
        own_kib: field("RssAnon:")?,
    })
}

/// The size of the program, without its symbols.
fn binary(dir: &Path, table: &Table) -> io::Result<()> {
    let copy = dir.join("stripped");
    let strip = Command::new("strip")
        .arg("-o")
        .arg(&copy)
        .arg(PROGRAM)
        .status();
    let (path, how) = match strip {
        Ok(status) if status.success() => (copy.as_path(), "stripped, not optimised at link time"),
        _ => (Path::new(PROGRAM), "with symbols: there is no `strip`"),
    };
    let size = fs::metadata(path)?.len() as f64 / 1e6;
    table.row("the program's file", size, "MB", how, Budget::AtMost(40.0));
    Ok(())
}
