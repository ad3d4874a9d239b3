//! The worker's side of the pipe to its daemon.
//!
//! The daemon may die while the worker goes on; that shows as [`WorkerCommand::DaemonGone`], and everything reported
//! afterwards goes nowhere, without an error: reports only help the daemon to choose.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};

use super::protocol::{self, FromWorker, ToWorker};
use crate::engine::ports::RunGrant;

/// Commands read before the worker takes them.
const COMMANDS_AHEAD: usize = 16;

/// What a worker is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerCommand {
    /// Begin this run. The daemon says it once.
    Run(RunGrant),
    /// Take no new runs, bring those that run to a safe point within this time, and end.
    Leave {
        /// How long that may take.
        grace_ms: u64,
    },
    /// The daemon ended or let go: finish what runs, then end. Said again by every further call.
    DaemonGone,
}

/// The two ends a worker has.
pub struct WorkerPipe {
    commands: mpsc::Receiver<WorkerCommand>,
    reports: WorkerReports,
}

impl WorkerPipe {
    /// Takes over standard input and output, which must be pipes (a daemon made them). Afterwards the two are /dev/null: whatever
    /// else in this process, or in a child of it, reads or prints can't disturb the conversation. Must be called within a Tokio
    /// runtime.
    pub fn stdin_stdout() -> io::Result<WorkerPipe> {
        let from = pipe::Receiver::from_owned_fd(take(rustix::stdio::stdin())?)?;
        let to = pipe::Sender::from_owned_fd(take(rustix::stdio::stdout())?)?;
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        Ok(WorkerPipe::over(from, to))
    }

    /// The same over any two streams. Must be called within a Tokio runtime.
    pub fn over(
        from_daemon: impl AsyncRead + Send + Unpin + 'static,
        to_daemon: impl AsyncWrite + Send + Unpin + 'static,
    ) -> WorkerPipe {
        let (queue, queued) = mpsc::unbounded_channel();
        tokio::spawn(write_all(to_daemon, queued));
        let (to, commands) = mpsc::channel(COMMANDS_AHEAD);
        tokio::spawn(read_all(BufReader::new(from_daemon), to));
        WorkerPipe {
            commands,
            reports: WorkerReports { queue },
        }
    }

    /// For telling the daemon things, from any task.
    pub fn reports(&self) -> WorkerReports {
        self.reports.clone()
    }

    /// Waits for the next command. Dropping the future loses none.
    pub async fn next(&mut self) -> WorkerCommand {
        self.commands
            .recv()
            .await
            .unwrap_or(WorkerCommand::DaemonGone)
    }
}

/// Tells the daemon what it needs for choosing workers. Never blocks and never fails; cheap to clone.
#[derive(Clone)]
pub struct WorkerReports {
    queue: mpsc::UnboundedSender<Report>,
}

enum Report {
    Line(String),
    Flush(oneshot::Sender<()>),
}

impl WorkerReports {
    /// This worker takes runs now.
    pub fn report_ready(&self) {
        self.send(&FromWorker::Ready {});
    }

    /// This run is over, however it ended.
    pub fn report_ended(&self, session: &str, generation: u64) {
        self.send(&FromWorker::Ended {
            session: session.to_owned(),
            generation,
        });
    }

    /// The Sessions whose environments this worker keeps open now.
    pub fn report_holds(&self, sessions: Vec<String>) {
        self.send(&FromWorker::Holds(sessions));
    }

    /// Waits until everything reported so far was handed over or could not be; for the moment before the worker ends.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.queue.send(Report::Flush(done)).is_ok() {
            let _ = flushed.await;
        }
    }

    fn send(&self, what: &FromWorker) {
        // An error means that the writer ended because the daemon is gone.
        let _ = self.queue.send(Report::Line(protocol::line(what)));
    }
}

async fn read_all(mut from: impl AsyncBufRead + Unpin, to: mpsc::Sender<WorkerCommand>) {
    while let Some(said) = protocol::next(&mut from).await {
        let command = match said {
            ToWorker::Run(grant) => WorkerCommand::Run(grant),
            ToWorker::Leave { grace_ms } => WorkerCommand::Leave { grace_ms },
        };
        if to.send(command).await.is_err() {
            return;
        }
    }
}

async fn write_all(mut to: impl AsyncWrite + Unpin, mut queued: mpsc::UnboundedReceiver<Report>) {
    while let Some(report) = queued.recv().await {
        match report {
            Report::Line(line) => {
                if to.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
            Report::Flush(done) => {
                let _ = to.flush().await;
                let _ = done.send(());
            }
        }
    }
}

/// A private copy of a standard stream, closed in children.
fn take(stream: rustix::fd::BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(stream, 3)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn commands_arrive_and_then_the_daemon_is_gone() {
        let text = concat!(
            "{\"run\":{\"session\":\"sess_a\",\"generation\":1,\"execution\":\"x\"}}\n",
            "{\"leave\":{\"grace_ms\":9}}\n",
            "{\"leave\":{\"grace",
        );
        let mut pipe = WorkerPipe::over(text.as_bytes(), tokio::io::sink());
        assert!(matches!(pipe.next().await, WorkerCommand::Run(grant) if grant.generation == 1));
        assert_eq!(pipe.next().await, WorkerCommand::Leave { grace_ms: 9 });
        assert_eq!(pipe.next().await, WorkerCommand::DaemonGone);
        assert_eq!(pipe.next().await, WorkerCommand::DaemonGone);
    }

    #[tokio::test]
    async fn reports_arrive_in_order_and_a_gone_daemon_is_no_trouble() {
        let (near, mut far) = tokio::io::duplex(1 << 16);
        let pipe = WorkerPipe::over(tokio::io::empty(), near);
        let reports = pipe.reports();
        reports.report_ready();
        reports.report_ended("sess_a", 3);
        reports.report_holds(vec!["sess_a".to_owned()]);
        reports.flush().await;
        let mut text = vec![0; 200];
        let read = far.read(&mut text).await.expect("reads");
        let want = concat!(
            "{\"ready\":{}}\n",
            "{\"ended\":{\"session\":\"sess_a\",\"generation\":3}}\n",
            "{\"holds\":[\"sess_a\"]}\n",
        );
        assert_eq!(String::from_utf8_lossy(&text[..read]), want);
        drop(far);
        reports.report_ready();
        reports.flush().await;
        reports.report_ready();
        reports.flush().await;
    }
}
