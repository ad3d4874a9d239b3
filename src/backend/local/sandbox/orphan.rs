//! Half-made sandboxes that nobody will ever finish.
//!
//! bubblewrap's inner process waits for its outer one before it goes on. If the outer one alone is killed in those few milliseconds
//! (by the kernel for want of memory, by an operator's kill), the inner one waits for ever, and with it the environment's lock. No
//! command ever ran in it, so ending it loses nothing.

use std::time::Duration;

use crate::backend::local::process::ProcessIdentity;

/// How long an ended process may take to be gone.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ends what is left of a launch of the environment `id` whose launcher is gone. Answers how many processes that were.
pub(super) fn end(id: &str) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let pids = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let orphans = pids.filter(|pid| is_orphan(*pid, id));
    orphans
        .filter(|pid| ProcessIdentity::of(*pid).is_ok_and(|p| p.kill_and_wait(PATIENCE).is_ok()))
        .count()
}

/// The inner process of a launch, without the outer one.
fn is_orphan(pid: u32, id: &str) -> bool {
    is_launcher(pid, id)
        && is_inner(pid)
        && parent(pid).is_none_or(|parent| !is_launcher(parent, id))
}

/// Whether it still is bubblewrap, on its way to this environment.
fn is_launcher(pid: u32, id: &str) -> bool {
    let Ok(line) = std::fs::read(format!("/proc/{pid}/cmdline")) else {
        return false;
    };
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    words.contains(&b"--unshare-user".as_slice()) && words.contains(&id.as_bytes())
}

/// Whether it is in a pid namespace below ours.
fn is_inner(pid: u32) -> bool {
    let pids = field(pid, "NSpid:").map(|value| value.split_ascii_whitespace().count());
    pids.is_some_and(|count| count > 1)
}

fn parent(pid: u32) -> Option<u32> {
    field(pid, "PPid:")?.trim().parse().ok()
}

fn field(pid: u32, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.to_owned())
}
