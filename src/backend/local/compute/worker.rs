//! One worker process of this daemon: started, spoken to, waited for.
//!
//! It is its own process group, so that ^C on the daemon's terminal does not reach it, and it is not told when the daemon dies:
//! its standard input closes, it finishes what runs and leaves by itself.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};

use super::log::WorkerLog;
use super::protocol::{self, ToWorker};
use crate::backend::local::process::ProcessIdentity;

/// How long a command may take to reach a worker's pipe. It holds hundreds of them; a worker that reads none is stuck.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(5);
/// Commands that wait for a worker's pipe.
const COMMANDS_AHEAD: usize = 256;

/// How workers are made.
#[derive(Clone, Debug)]
pub struct WorkerCommandLine {
    /// The program, by its path.
    pub program: PathBuf,
    /// Arguments of the program.
    pub args: Vec<OsString>,
    /// Variables set beside those this process has.
    pub env: Vec<(OsString, OsString)>,
    /// Where the workers' standard error goes, a file for each.
    pub log_dir: PathBuf,
}

/// Why a command did not reach a worker.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotSaid {
    /// It provably did not: the worker's pipe is closed.
    Closed,
    /// It may still reach it.
    Stuck,
}

/// The daemon's means of talking to a worker. Dropping all of them closes the worker's standard input. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct WorkerHandle {
    pub identity: ProcessIdentity,
    commands: mpsc::Sender<(String, oneshot::Sender<()>)>,
}

/// A worker that was just started, with what its tasks need.
pub(super) struct Started {
    pub handle: WorkerHandle,
    pub child: Child,
    pub says: ChildStdout,
    pub log: WorkerLog,
}

impl WorkerCommandLine {
    /// Starts a worker. Must be called within a Tokio runtime. An error means that nothing was started.
    pub(super) fn start(&self) -> io::Result<Started> {
        let mut log = WorkerLog::create(&self.log_dir)?;
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.for_worker()?)
            .process_group(0)
            .spawn()?;
        let taken = (child.id(), child.stdin.take(), child.stdout.take());
        let (Some(pid), Some(stdin), Some(says)) = taken else {
            return Err(io::Error::other("a new child has a pid and two pipes"));
        };
        // It was not waited for yet, so it is found even if it has ended already.
        let identity = match ProcessIdentity::of(pid) {
            Ok(identity) => identity,
            Err(error) => {
                let _ = child.start_kill();
                return Err(error);
            }
        };
        log.name(pid);
        let (commands, queued) = mpsc::channel(COMMANDS_AHEAD);
        tokio::spawn(write_commands(stdin, queued));
        Ok(Started {
            handle: WorkerHandle { identity, commands },
            child,
            says,
            log,
        })
    }
}

impl WorkerHandle {
    /// Hands a command over to the worker's pipe.
    pub(super) async fn say(&self, what: &ToWorker) -> Result<(), NotSaid> {
        let (done, said) = oneshot::channel();
        let hand_over = async {
            let line = protocol::line(what);
            let queued = self.commands.send((line, done)).await;
            queued.map_err(|_| NotSaid::Closed)?;
            said.await.map_err(|_| NotSaid::Closed)
        };
        tokio::time::timeout(HANDED_OVER_WITHIN, hand_over)
            .await
            .unwrap_or(Err(NotSaid::Stuck))
    }
}

/// Writes commands until the worker closes its end or all handles are gone. A line is read only with its newline, so one that
/// could not be written whole was not said.
async fn write_commands(
    mut to: ChildStdin,
    mut queued: mpsc::Receiver<(String, oneshot::Sender<()>)>,
) {
    while let Some((line, done)) = queued.recv().await {
        if to.write_all(line.as_bytes()).await.is_err() {
            return;
        }
        let _ = done.send(());
    }
}
