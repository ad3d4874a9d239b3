//! The processes of one data directory, found in /proc and killed by identity: never anybody else's, however busy the machine is.

use std::fs;
use std::time::Duration;

use rat_things::backend::local::process::ProcessIdentity;
use rat_things::engine::ports::Liveness;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// What a process is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Daemon,
    Worker,
    /// Anything else of the program: a command that a person would have typed.
    Command,
    /// The launcher of a sandbox and everything in the sandbox.
    Sandbox,
}

/// One process.
#[derive(Clone, Debug)]
pub struct Process {
    pub identity: ProcessIdentity,
    pub role: Role,
    shown: String,
}

impl Process {
    /// One that was found by its name in a record.
    pub fn of(identity: ProcessIdentity, role: Role) -> Process {
        let shown = "found in a record".to_owned();
        Process {
            identity,
            role,
            shown,
        }
    }

    /// Sends a signal, unless the process is gone; answers whether it was sent.
    pub fn signal(&self, signal: Signal) -> bool {
        let pid = i32::try_from(self.identity.pid)
            .ok()
            .and_then(Pid::from_raw);
        let held = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // The handle was opened by number; if the identity still fits, it is the right process.
        match held {
            Some(held) if self.identity.inspect() == Liveness::Running => {
                pidfd_send_signal(&held, signal).is_ok()
            }
            _ => false,
        }
    }

    pub fn kill(&self) -> bool {
        self.signal(Signal::KILL)
    }

    /// Waits until a process that was killed is gone, with every lock that it held.
    pub fn wait_gone(&self) {
        let ended = self.identity.kill_and_wait(Duration::from_secs(60));
        ended.unwrap_or_else(|e| panic!("{}: {e}", self.shown));
    }
}

/// The daemons and workers of the data directory with this unique name. While a worker starts a sandbox there may be a copy of it,
/// which is neither any more.
pub fn of_program(marker: &str) -> Vec<Process> {
    find(marker, false)
}

/// Whether a process is the child of another that is there for the same: a copy that has not become something else yet.
pub fn is_copy(process: &Process, among: &[Process]) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.identity.pid));
    // Behind the name in parentheses: the state, then the parent.
    let parent = stat.ok().and_then(|stat| {
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_ascii_whitespace().nth(1)?.parse::<u32>().ok()
    });
    let mut others = among.iter().filter(|other| other.role == process.role);
    others.any(|other| Some(other.identity.pid) == parent)
}

/// Every process of that data directory, those in sandboxes included.
pub fn all(marker: &str) -> Vec<Process> {
    find(marker, true)
}

/// In words, for a failure's message.
pub fn shown(processes: &[Process]) -> String {
    let lines = processes
        .iter()
        .map(|p| format!("{:?} {} {}", p.role, p.identity, p.shown));
    lines.collect::<Vec<_>>().join("\n")
}

fn find(marker: &str, sandboxes: bool) -> Vec<Process> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").expect("/proc");
    let pids = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != own)
        .filter_map(|pid| look(pid, marker, sandboxes))
        .collect()
}

fn look(pid: u32, marker: &str, sandboxes: bool) -> Option<Process> {
    // Taken first: if the pid changes hands while we look, the identity is of the process that is gone.
    let identity = ProcessIdentity::of(pid).ok()?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<String> = line
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    let has = |word: &str| words.iter().any(|w| w == word);
    let role = if words.iter().any(|word| word.contains(marker)) && has("--data-dir") {
        if has("worker") {
            Role::Worker
        } else if has("daemon") && has("run") {
            Role::Daemon
        } else {
            Role::Command
        }
    } else if sandboxes && sees(pid, marker) {
        Role::Sandbox
    } else {
        return None;
    };
    // A child that has not become what it was made for yet still looks like its parent.
    if role != Role::Sandbox && parent_line(pid).is_some_and(|parent| parent == line) {
        return None;
    }
    (identity.inspect() != Liveness::Gone).then(|| Process {
        identity,
        role,
        shown: words.join(" "),
    })
}

fn parent_line(pid: u32) -> Option<Vec<u8>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    fs::read(format!("/proc/{}/cmdline", parent.trim())).ok()
}

/// Whether something of the data directory is mounted where the process lives: the workspace is, in every sandbox.
fn sees(pid: u32, marker: &str) -> bool {
    fs::read(format!("/proc/{pid}/mountinfo"))
        .is_ok_and(|mounts| String::from_utf8_lossy(&mounts).contains(marker))
}
