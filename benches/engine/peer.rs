//! One other engine, started by `benches/peers/start` and driven by a small program in its own language: the jobs it is given, the
//! syncs it makes and the memory it holds.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::setting::say;

/// What installs peers, as a user types it.
pub const INSTALL: &str = "benches/peers/install";

/// Starts the driver of one.
const START: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/start");

/// It ends so where the peer is not installed.
const NOT_INSTALLED: i32 = 3;

/// A peer that does not end by itself in this time is killed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks at something that will happen soon.
const LOOK: Duration = Duration::from_millis(10);

/// Work that can be asked of an engine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// One durable input of 1,000 bytes again and again, each to something new that does not begin to work.
    Accept,
    /// A whole Turn of two steps again and again, each waited for.
    Turn,
}

/// How a job went.
#[derive(Clone, Copy, Deserialize)]
pub struct Figures {
    /// How often it was done.
    pub count: u64,
    /// How often in a second.
    pub rate: f64,
    /// The time each took, and all but one in a hundred.
    pub p50_us: f64,
    pub p99_us: f64,
}

/// What a driver says first.
#[derive(Deserialize)]
struct About {
    /// The peer and its version.
    engine: String,
    /// The processes that are the peer; those they start are, too.
    pids: Vec<u32>,
}

/// A peer that runs until this is dropped.
pub struct Peer {
    driver: Child,
    jobs: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    about: About,
}

impl Peer {
    /// Starts the peer `name` with its data below `dir`; `None` where it is not installed.
    pub fn start(name: &str, dir: &Path) -> io::Result<Option<Peer>> {
        let target = target_dir()?;
        let mut driver = Command::new(START)
            .arg(name)
            .env("CARGO_TARGET_DIR", target)
            .env("TMPDIR", dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(jobs), Some(answers)) = (driver.stdin.take(), driver.stdout.take()) else {
            return Err(io::Error::other("no pipe"));
        };
        let mut answers = BufReader::new(answers);
        let mut line = String::new();
        if answers.read_line(&mut line)? == 0 {
            let status = driver.wait()?;
            return match status.code() {
                Some(NOT_INSTALLED) => Ok(None),
                _ => Err(io::Error::other(format!("{START} {name}: {status}"))),
            };
        }
        Ok(Some(Peer {
            driver,
            jobs: Some(jobs),
            answers,
            about: serde_json::from_str(&line)?,
        }))
    }

    /// The peer and its version.
    pub fn engine(&self) -> &str {
        &self.about.engine
    }

    /// Has a job done by so many clients for so long.
    pub fn run(&mut self, job: Job, clients: usize, time: Duration) -> io::Result<Figures> {
        let what = match job {
            Job::Accept => "accept",
            Job::Turn => "turn",
        };
        let jobs = self.jobs.as_mut();
        let jobs = jobs.ok_or_else(|| io::Error::other("the peer was stopped"))?;
        writeln!(jobs, "{what} {clients} {}", time.as_secs_f64())?;
        jobs.flush()?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other(format!("{} ended", self.about.engine)));
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Syncs for one accept of a lone client, counted from outside; `None` without `strace`.
    pub fn syncs(&mut self, dir: &Path, time: Duration) -> io::Result<Option<f64>> {
        let traced = dir.join("syncs");
        let mut command = Command::new("strace");
        command
            .args(["-f", "-e", "trace=fsync,fdatasync", "-o"])
            .arg(&traced);
        for pid in self.processes() {
            command.arg("-p").arg(pid.to_string());
        }
        let Ok(mut strace) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            return Ok(None);
        };
        let attached = self.attached(&mut strace)?;
        let figures = self.run(Job::Accept, 1, time)?;
        // SAFETY: the call sends a signal to our own child, which was not waited for yet.
        unsafe { libc::kill(strace.id().cast_signed(), libc::SIGINT) };
        strace.wait()?;
        if !attached {
            return Ok(None);
        }
        // A call that another process interrupts takes two lines, of which one has the parenthesis.
        let calls = fs::read_to_string(&traced)?;
        let syncs = calls.lines().filter(|line| line.contains("sync(")).count();
        Ok(Some(syncs as f64 / figures.count.max(1) as f64))
    }

    /// Waits until `strace` sees every thread of the peer.
    fn attached(&self, strace: &mut Child) -> io::Result<bool> {
        let traced = |task: &PathBuf| {
            let status = fs::read_to_string(task.join("status")).unwrap_or_default();
            let mut tracers = status
                .lines()
                .filter_map(|line| line.strip_prefix("TracerPid:"));
            tracers.any(|tracer| tracer.trim() != "0")
        };
        let since = Instant::now();
        while since.elapsed() < PATIENCE && strace.try_wait()?.is_none() {
            if self
                .processes()
                .into_iter()
                .flat_map(tasks)
                .all(|task| traced(&task))
            {
                return Ok(true);
            }
            std::thread::sleep(LOOK);
        }
        Ok(false)
    }

    /// Memory of all its processes, what they share counted once, in MiB.
    pub fn memory_mib(&self) -> Option<f64> {
        let mut sum_kib = 0.0;
        for pid in self.processes() {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
            let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
            sum_kib += kib;
        }
        Some(sum_kib / 1024.0)
    }

    /// Its processes and all that these started.
    fn processes(&self) -> Vec<u32> {
        let mut all = self.about.pids.clone();
        let mut at = 0;
        while let Some(pid) = all.get(at).copied() {
            all.extend(children(pid));
            at += 1;
        }
        all
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its input ends the driver, which ends the peer.
        drop(self.jobs.take());
        let since = Instant::now();
        while matches!(self.driver.try_wait(), Ok(None)) {
            if since.elapsed() > PATIENCE {
                say(&format!("({} does not end: killed)", self.about.engine));
                for pid in self.processes() {
                    // SAFETY: the call sends a signal to a process of the peer that this bench started.
                    unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
                }
                let _ = self.driver.kill();
                let _ = self.driver.wait();
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// The threads of a process, as the kernel shows them.
fn tasks(pid: u32) -> Vec<PathBuf> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    tasks.map_or_else(
        |_| Vec::new(),
        |tasks| tasks.flatten().map(|task| task.path()).collect(),
    )
}

/// The processes that a process started.
fn children(pid: u32) -> Vec<u32> {
    let lists = tasks(pid).into_iter().map(|task| task.join("children"));
    let texts: Vec<String> = lists.flat_map(fs::read_to_string).collect();
    let pids = texts.iter().flat_map(|text| text.split_whitespace());
    pids.filter_map(|pid| pid.parse().ok()).collect()
}

/// The directory that this program was built in, below which peers are installed.
fn target_dir() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    // …/release/deps/engine-…
    let target = program.ancestors().nth(3).map(Path::to_owned);
    target.ok_or_else(|| io::Error::other("this program is not in a target directory"))
}
