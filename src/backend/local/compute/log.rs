//! Where a worker's standard error goes: a file of its own, `worker-<pid>.log`.
//!
//! The worker writes to the file itself, not through a pipe: it outlives its daemon, and its last words matter most when the
//! daemon is gone. The daemon keeps the file small by copying it aside once and cutting it to nothing; the worker appends, so it
//! goes on at the new beginning.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::backend::local::ids;

/// Size at which a log is put aside.
const LOG_BYTES: u64 = 1 << 20;
/// Logs of workers that are kept, newest first.
const LOGS_KEPT: usize = 20;

/// One worker's log.
#[derive(Debug)]
pub(super) struct WorkerLog {
    file: File,
    path: PathBuf,
}

impl WorkerLog {
    /// A new, empty one in `dir`, which is made if needed. It gets its name when the worker has a pid.
    pub(super) fn create(dir: &Path) -> io::Result<WorkerLog> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mut random = [0u8; 8];
        ids::fill(&mut random);
        let path = dir.join(format!(
            "worker-new-{}.log",
            data_encoding::HEXLOWER.encode(&random)
        ));
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        Ok(WorkerLog { file, path })
    }

    /// What the worker gets as its standard error.
    pub(super) fn for_worker(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives the log the worker's name, in place of an earlier worker with the same pid.
    pub(super) fn name(&mut self, pid: u32) {
        let named = self.path.with_file_name(format!("worker-{pid}.log"));
        if fs::rename(&self.path, &named).is_ok() {
            let _ = fs::remove_file(aside(&named));
            self.path = named;
        }
    }

    /// Puts the log aside when it has become large. What is written in the same moment may be lost.
    pub(super) fn bound(&self) {
        let large = self
            .file
            .metadata()
            .is_ok_and(|meta| meta.len() > LOG_BYTES);
        if large {
            // Without room for the copy it is cut all the same.
            if let Err(error) = copy_end(&self.path, &aside(&self.path)) {
                tracing::debug!(%error, "a worker's log could not be put aside");
            }
            let _ = self.file.set_len(0);
        }
    }

    /// After the worker ended: an empty log says nothing and goes.
    pub(super) fn close(self) {
        self.bound();
        if self.file.metadata().is_ok_and(|meta| meta.len() == 0) && !aside(&self.path).exists() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the oldest logs beyond those that are kept. Blocks.
pub(super) fn prune(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    let mut logs: Vec<_> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"worker-"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    logs.sort();
    let surplus = logs.len().saturating_sub(LOGS_KEPT);
    for (_, path) in &logs[..surplus] {
        let _ = fs::remove_file(path);
    }
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

/// Copies at most the last [`LOG_BYTES`] of a file.
fn copy_end(from: &Path, to: &Path) -> io::Result<()> {
    use io::{Read, Seek};
    let mut from = File::open(from)?;
    let start = from.metadata()?.len().saturating_sub(LOG_BYTES);
    from.seek(io::SeekFrom::Start(start))?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    io::copy(&mut from.take(LOG_BYTES), &mut options.open(to)?).map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_large_log_is_put_aside_once_and_goes_on_from_the_beginning() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut log = WorkerLog::create(&dir.path().join("logs")).expect("creates");
        log.name(7);
        let mut worker = log.for_worker().expect("clones");
        for fill in [b'a', b'b'] {
            worker
                .write_all(&vec![fill; LOG_BYTES as usize + 1])
                .expect("writes");
            log.bound();
            let kept = fs::read(dir.path().join("logs/worker-7.log.1")).expect("kept");
            assert_eq!(kept, vec![fill; LOG_BYTES as usize]);
        }
        worker.write_all(b"more").expect("writes");
        log.bound();
        let text = fs::read(dir.path().join("logs/worker-7.log")).expect("there");
        assert_eq!(text, b"more");
    }

    #[test]
    fn empty_logs_go_and_old_ones_are_pruned() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let count = || dir.path().read_dir().expect("lists").count();
        WorkerLog::create(dir.path()).expect("creates").close();
        assert_eq!(count(), 0);
        for pid in 0..30 {
            let mut log = WorkerLog::create(dir.path()).expect("creates");
            log.name(pid);
            log.file.write_all(b"words").expect("writes");
            log.close();
        }
        assert_eq!(count(), 30);
        prune(dir.path());
        assert_eq!(count(), LOGS_KEPT);
    }
}
