//! Bounds that no rlimit expresses: memory of all processes together, and free space of the disk under the workspace.
//!
//! Looked at in intervals, so a fast allocator overshoots; the bound per process (RLIMIT_DATA) holds at once.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::super::wire::Setup;
use super::procs;

/// How often, while anything runs. On the host itself the process table is the whole machine's, so it is read less often.
pub(super) fn interval(setup: &Setup) -> Duration {
    Duration::from_millis(if setup.sandboxed { 200 } else { 1_000 })
}

/// Files that must still fit on the disk of the workspace.
const MIN_FREE_FILES: u64 = 1_024;

/// A bound that was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    /// All processes together use more than this.
    Memory(u64),
    /// The disk has less than this left.
    Disk(u64),
    /// The disk has room for hardly any more files.
    Files,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Excess::Memory(limit) => write!(
                f,
                "the environment's processes used more than {} MiB of memory",
                limit >> 20
            ),
            Excess::Disk(floor) => write!(
                f,
                "less than {} MiB are free on the disk of the workspace",
                floor >> 20
            ),
            Excess::Files => {
                f.write_str("the disk of the workspace has room for hardly any more files")
            }
        }
    }
}

/// Whether the disk of the workspace is too full for commands to go on.
pub(super) fn disk(setup: &Setup) -> Option<Excess> {
    let stat = rustix::fs::statvfs(setup.workspace.as_str()).ok()?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free < setup.free_space_bytes {
        return Some(Excess::Disk(setup.free_space_bytes));
    }
    // Some file systems do not count files, and say 0 of 0.
    (stat.f_files > 0 && stat.f_favail < MIN_FREE_FILES).then_some(Excess::Files)
}

/// Whether all processes together use too much, and which ones to kill for it, largest first.
pub(super) fn memory(
    setup: &Setup,
    own_pid: i32,
    shims: &BTreeSet<i32>,
) -> Option<(Excess, Vec<i32>)> {
    let table = procs::table();
    let roots = procs::children(&table, own_pid);
    let everyone = procs::below(&table, &roots, &BTreeSet::new());
    let pids: Vec<i32> = everyone.difference(shims).copied().collect();
    let rough: u64 = pids.iter().filter_map(|pid| resident(*pid)).sum();
    if rough <= setup.memory_bytes {
        return None;
    }
    // Pages that are shared were counted once for each who shares them. Look closer before killing anyone.
    let used = pids
        .iter()
        .filter_map(|pid| Some((proportional(*pid).or_else(|| resident(*pid))?, *pid)))
        .collect();
    let victims = victims(used, setup.memory_bytes);
    (!victims.is_empty()).then_some((Excess::Memory(setup.memory_bytes), victims))
}

/// The fewest processes whose end brings the sum below the limit.
fn victims(mut used: Vec<(u64, i32)>, limit: u64) -> Vec<i32> {
    let mut sum: u64 = used.iter().map(|(bytes, _)| bytes).sum();
    used.sort_unstable_by(|a, b| b.cmp(a));
    let mut chosen = Vec::new();
    for (bytes, pid) in used {
        if sum <= limit {
            break;
        }
        chosen.push(pid);
        sum -= bytes;
    }
    chosen
}

fn resident(pid: i32) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: takes a constant and touches no memory.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(page_bytes).ok()?)
}

fn proportional(pid: i32) -> Option<u64> {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_processes_go_first_and_no_more_than_needed() {
        let used = vec![(10, 1), (50, 2), (30, 3), (20, 4)];
        assert_eq!(victims(used.clone(), 200), Vec::<i32>::new());
        assert_eq!(victims(used.clone(), 60), [2]);
        assert_eq!(victims(used.clone(), 59), [2, 3]);
        assert_eq!(victims(used, 0), [2, 3, 4, 1]);
    }
}
