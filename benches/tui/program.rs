//! The program itself: first paint, keys, memory, and what it does while nothing happens.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Size;
use crate::floor::percentile;
use crate::setting::{micros, runtime};
use crate::table::{Budget, Table, number};
use crate::terminal::Terminal;
use crate::world::World;

/// The program under test. Without link-time optimisation, see docs/performance.md.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rat-things");
/// Columns and rows.
const SIZE: (u16, u16) = (200, 60);
/// Nothing is written for so long when a screen stands still.
const STILL: Duration = Duration::from_millis(300);

/// The program on a data directory, with nothing of this process's environment.
fn program(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .env_clear()
        .env("HOME", dir)
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8")
        .env("RAT_THINGS_DATA_DIR", dir.join("data"))
        .arg("tui")
        .args(words);
    command
}

/// All of it.
pub fn measure(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    let many = size.of(10_000, 300);
    runtime()?.block_on(async {
        let world = World::open(&dir.join("data")).await?;
        world.sessions(many).await
    })?;
    table.part("the program on a terminal of 200x60");
    first_paint(dir, table, size, many)?;
    keys(dir, table, size)?;
    memory(dir, table, size)?;
    idle(dir, table, size)
}

/// From exec to the first rows.
fn first_paint(dir: &Path, table: &Table, size: Size, many: usize) -> io::Result<()> {
    let runs = size.of(20, 3);
    let (mut painted, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let begun = Instant::now();
        Command::new("/bin/true").status()?;
        floor.push(begun.elapsed());
        let begun = Instant::now();
        let mut terminal = Terminal::start(program(dir, &[]), SIZE)?;
        let at = terminal.until("the first rows", |screen| screen.contains("sess_"))?;
        painted.push(at.duration_since(begun));
    }
    let millis = |times: &[Duration], percent| micros(percentile(times, percent)) / 1e3;
    let beside = format!(
        "worst {} ms; /bin/true: {} ms",
        number(millis(&painted, 100.0)),
        number(millis(&floor, 50.0))
    );
    let what = format!("first rows of {many} Sessions, p50");
    table.row(
        &what,
        millis(&painted, 50.0),
        "ms",
        &beside,
        Budget::AtMost(100.0),
    );
    Ok(())
}

/// From a key to the bytes that show it.
fn keys(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    let mut terminal = Terminal::start(program(dir, &["--demo", "100k"]), SIZE)?;
    terminal.until("the first rows", |screen| screen.contains("sess_"))?;
    // The oldest Sessions: nothing moves there by itself.
    terminal.type_in("G")?;
    terminal.until("the end", |screen| screen.contains("100000"))?;
    while terminal.listen(STILL).is_some() {}
    let mut times = Vec::new();
    for press in 0..size.of(500, 20) {
        let key = if (press / 40) % 2 == 0 { "k" } else { "j" };
        let begun = Instant::now();
        terminal.type_in(key)?;
        let at = terminal.until("something", |_| true)?;
        times.push(at.duration_since(begun));
        // Longer than a frame, so that each key is alone.
        terminal.listen(Duration::from_millis(20));
    }
    let millis = |percent| micros(percentile(&times, percent)) / 1e3;
    let beside = format!("p50 {} ms", number(millis(50.0)));
    let what = "a key to its bytes, p99";
    table.row(what, millis(99.0), "ms", &beside, Budget::AtMost(16.0));
    Ok(())
}

/// What browsing leaves behind.
fn memory(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    let mut terminal = Terminal::start(program(dir, &["--demo", "100k"]), SIZE)?;
    terminal.until("the first rows", |screen| screen.contains("sess_"))?;
    terminal.listen(STILL);
    let before_kib = terminal.memory_kib()?;
    // Screen by screen through all of them, then a history of 100,000 Items from its end on.
    let screens = size.of(100_000 / 54, 40);
    for _ in 0..screens {
        terminal.type_in("\x04")?;
        terminal.listen(Duration::from_millis(8));
    }
    terminal.type_in("g")?;
    terminal.listen(STILL);
    terminal.type_in("jjjjjj\r")?;
    terminal.until("a long history", |screen| screen.contains("following"))?;
    for _ in 0..size.of(500, 20) {
        terminal.type_in("\x15")?;
        terminal.listen(Duration::from_millis(8));
    }
    terminal.listen(STILL);
    let after_kib = terminal.memory_kib()?;
    let mib = |kib: u64| kib as f64 / 1024.0;
    let beside = format!(
        "{} MiB at first; {} KiB written",
        number(mib(before_kib)),
        terminal.bytes / 1024
    );
    let what = "memory grown by browsing 100,000 Sessions";
    let grown = mib(after_kib.saturating_sub(before_kib));
    table.row(what, grown, "MiB", &beside, Budget::AtMost(64.0));
    Ok(())
}

/// What is written while nothing that is shown changes.
fn idle(dir: &Path, table: &Table, size: Size) -> io::Result<()> {
    let mut terminal = Terminal::start(program(dir, &["--demo", "100k"]), SIZE)?;
    terminal.until("the first rows", |screen| screen.contains("sess_"))?;
    terminal.type_in("G")?;
    while terminal.listen(STILL).is_some() {}
    let (before, cpu) = (terminal.bytes, cpu_ticks(terminal.pid())?);
    let seconds = size.of(10, 2);
    terminal.listen(Duration::from_secs(seconds as u64));
    let written = (terminal.bytes - before) as f64;
    let used = cpu_ticks(terminal.pid())? - cpu;
    let beside = format!("{used} of {} ticks of the processor", seconds * 100);
    let what = format!("bytes written in {seconds} idle seconds");
    table.row(&what, written, "bytes", &beside, Budget::AtMost(0.0));
    Ok(())
}

/// What a process used of the processor, in hundredths of a second.
fn cpu_ticks(pid: u32) -> io::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name may have blanks; what follows it has none.
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    ticks(11)
        .zip(ticks(12))
        .map(|(user, system)| user + system)
        .ok_or_else(|| io::Error::other("no times"))
}
