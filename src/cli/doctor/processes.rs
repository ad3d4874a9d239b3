//! Worker processes of a data directory, found by their command lines.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A worker process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerProcess {
    pub(super) pid: u32,
    /// Who started it; 1 or a reaper when that one is gone.
    pub(super) parent: u32,
}

/// Workers of this data directory that exist now. Where /proc hides other processes, none.
pub(super) fn workers_of(data_dir: &Path) -> Vec<WorkerProcess> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut workers: Vec<WorkerProcess> = entries
        .filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            if !is_worker(&words, data_dir) {
                return None;
            }
            let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
            let parent = parent.trim().parse().ok()?;
            Some(WorkerProcess { pid, parent })
        })
        .collect();
    workers.sort_by_key(|worker| worker.pid);
    workers
}

/// `… --data-dir DIR … worker`
fn is_worker(cmdline: &[u8], data_dir: &Path) -> bool {
    let words: Vec<&[u8]> = cmdline
        .split(|b| *b == 0)
        .filter(|w| !w.is_empty())
        .collect();
    let here = words
        .windows(2)
        .any(|pair| pair[0] == b"--data-dir" && pair[1] == data_dir.as_os_str().as_bytes());
    here && words.last() == Some(&b"worker".as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_known_by_their_command_line() {
        let dir = Path::new("/data/a b");
        for (line, expected) in [
            ("rat-things\0--data-dir\0/data/a b\0worker\0", true),
            ("/x\0--data-dir\0/data/a b\0--profile\0p\0worker\0", true),
            ("/x\0--data-dir\0/data/a\0worker\0", false),
            ("/x\0--data-dir\0/data/a b\0daemon\0run\0", false),
            ("", false),
        ] {
            assert_eq!(is_worker(line.as_bytes(), dir), expected, "{line:?}");
        }
    }
}
