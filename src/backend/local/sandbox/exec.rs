//! One command from its request to its end: output as it comes, time, cancel, and what happens to background processes.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::control::{Control, Event, Running, Unsent};
use super::kept::Kept;
use super::wire::{Command, Status};
use crate::engine::ports::{EnvironmentError, ExecEnd, ExecHow};

/// After the command's own process ended: how long its output may still be open before whoever holds it counts as a background process.
const LINGER: Duration = Duration::from_millis(200);
/// How long PID 1 may take to end a tree before the whole environment is given up.
const ENDING: Duration = Duration::from_secs(5);
/// Read at once: what a pipe holds.
const CHUNK_BYTES: usize = 64 << 10;

/// One command and what its caller wants to know of it.
pub(super) struct Exec {
    /// What to run.
    pub(super) command: Command,
    /// Its standard input.
    pub(super) stdin: Bytes,
    /// Its time.
    pub(super) timeout_ms: u64,
    /// Output kept.
    pub(super) output_limit_bytes: usize,
    /// Output as it comes.
    pub(super) live: mpsc::Sender<Bytes>,
    /// Turns true when it shall end.
    pub(super) cancel: watch::Receiver<bool>,
}

impl Exec {
    /// Runs it to its end.
    pub(super) async fn run(mut self, control: &Arc<Control>) -> Result<ExecEnd, EnvironmentError> {
        let began = Instant::now();
        let mut kept = Kept::new(self.output_limit_bytes);
        let how = if *self.cancel.borrow() {
            ExecHow::Cancelled
        } else {
            self.go(control, began, &mut kept).await?
        };
        Ok(ExecEnd {
            how,
            output_bytes: kept.total_bytes(),
            output: kept.into_text(),
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    async fn go(
        &mut self,
        control: &Arc<Control>,
        began: Instant,
        kept: &mut Kept,
    ) -> Result<ExecHow, EnvironmentError> {
        let (output, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        let output = pipe::Receiver::from_owned_fd(output)
            .map_err(|e| EnvironmentError::Failed(format!("no pipe for the command: {e}")))?;
        let (stdin, their_stdin) = self.stdin().map_err(failed)?;
        let mut fds = vec![theirs.as_fd()];
        fds.extend(their_stdin.as_ref().map(AsFd::as_fd));
        let sent = control.spawn(self.command.clone(), &fds).await;
        drop((theirs, their_stdin));
        let running = match sent {
            Ok(running) => running,
            Err(Unsent::Gone) => return Err(EnvironmentError::Failed("it is closed".to_owned())),
            Err(Unsent::TooLong) => {
                let reason = "the command and its variables are longer than 192 KiB";
                return Ok(ExecHow::NotStarted(reason.to_owned()));
            }
        };
        let feed = stdin.map(|pipe| feed(pipe, self.stdin.clone()));
        let _feed = feed.map(|feed| AbortOnDrop(tokio::spawn(feed)));
        let course = Course {
            running,
            output: Some(output),
            how: None,
            condemned: false,
            ending: false,
            deadline: began.checked_add(Duration::from_millis(self.timeout_ms)),
        };
        course.follow(self, kept).await
    }

    /// A pipe for its standard input, unless that is empty: PID 1 then gives it an empty one.
    fn stdin(&self) -> Result<(Option<OwnedFd>, Option<OwnedFd>), rustix::io::Errno> {
        if self.stdin.is_empty() {
            return Ok((None, None));
        }
        let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok((Some(ours), Some(theirs)))
    }
}

/// A command on its way.
struct Course {
    running: Running,
    /// `None` once every process that had it closed it.
    output: Option<pipe::Receiver>,
    /// How it ended, once decided.
    how: Option<ExecHow>,
    /// Its tree is to end, because of time or cancel.
    condemned: bool,
    /// PID 1 has not said yet that the tree is gone.
    ending: bool,
    /// When patience with the present state ends.
    deadline: Option<Instant>,
}

/// What happened next.
enum Next {
    Output(std::io::Result<usize>),
    Event(Option<Event>),
    Deadline,
    Cancel,
}

impl Course {
    async fn follow(
        mut self,
        exec: &mut Exec,
        kept: &mut Kept,
    ) -> Result<ExecHow, EnvironmentError> {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let next = tokio::select! {
                read = read(&mut self.output, &mut buffer) => Next::Output(read),
                event = self.running.event() => Next::Event(event),
                () = until(self.deadline) => Next::Deadline,
                () = turned_true(&mut exec.cancel), if !self.condemned => Next::Cancel,
            };
            let mut late = false;
            match next {
                Next::Output(Ok(n)) if n > 0 => say(&buffer[..n], exec, kept),
                Next::Output(_) => self.output = None,
                Next::Event(Some(Event::Exceeded(what))) => {
                    say(format!("\n[{what}]\n").as_bytes(), exec, kept);
                }
                Next::Event(Some(event)) => self.take(event),
                Next::Event(None) => return Err(lost("its PID 1 ended")),
                Next::Deadline if self.ending => {
                    self.running.give_up();
                    return Err(lost("a process tree could not be ended"));
                }
                Next::Deadline if self.how.is_some() => late = true,
                Next::Deadline => self.end(ExecHow::TimedOut).await?,
                Next::Cancel => self.end(ExecHow::Cancelled).await?,
            }
            if late || self.how.is_some() && !self.ending && self.output.is_none() {
                if self.condemned || !*exec.cancel.borrow() {
                    return Ok(self.finish());
                }
                // The cancel came at the same moment: what is left in the background goes too.
                self.end(ExecHow::Cancelled).await?;
            }
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::NotStarted(reason) => self.decided(ExecHow::NotStarted(reason)),
            Event::Exited(Status::Code(code)) => self.decided(ExecHow::Exited(code)),
            Event::Exited(Status::Signal(signal)) => self.decided(ExecHow::Signalled(signal)),
            Event::Ended => {
                self.ending = false;
                self.deadline = Instant::now().checked_add(LINGER);
            }
            Event::Exceeded(_) => {}
        }
    }

    fn decided(&mut self, how: ExecHow) {
        // A command that ends because it is being ended has been ended.
        if self.how.is_none() {
            self.how = Some(how);
            self.deadline = Instant::now().checked_add(LINGER);
        }
    }

    /// Ends the tree. A command whose own process had ended before keeps its exit code; what it left running goes all the same.
    async fn end(&mut self, how: ExecHow) -> Result<(), EnvironmentError> {
        self.how.get_or_insert(how);
        self.condemned = true;
        self.ending = true;
        self.deadline = Instant::now().checked_add(ENDING);
        self.running
            .end()
            .await
            .map_err(|gone| lost(&gone.to_string()))
    }

    /// Background processes keep their output: closing it would kill them, not reading it would stop them.
    fn finish(self) -> ExecHow {
        self.running.leave();
        if let Some(output) = self.output {
            tokio::spawn(discard(output));
        }
        self.how.unwrap_or(ExecHow::Cancelled)
    }
}

/// Keeps output and shows it live, unless nobody takes it at once.
fn say(bytes: &[u8], exec: &Exec, kept: &mut Kept) {
    kept.push(bytes);
    if let Ok(room) = exec.live.try_reserve() {
        room.send(Bytes::copy_from_slice(bytes));
    }
}

async fn read(output: &mut Option<pipe::Receiver>, buffer: &mut [u8]) -> std::io::Result<usize> {
    match output {
        Some(output) => output.read(buffer).await,
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Never, if whoever could say so is gone.
async fn turned_true(cancel: &mut watch::Receiver<bool>) {
    if cancel.wait_for(|cancelled| *cancelled).await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn discard(mut output: pipe::Receiver) {
    let mut buffer = vec![0; CHUNK_BYTES];
    while output.read(&mut buffer).await.is_ok_and(|n| n > 0) {}
}

async fn feed(pipe: OwnedFd, bytes: Bytes) {
    if let Ok(mut pipe) = pipe::Sender::from_owned_fd(pipe) {
        // A command need not read its input.
        let _ = pipe.write_all(&bytes).await;
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn failed(e: rustix::io::Errno) -> EnvironmentError {
    EnvironmentError::Failed(format!("no pipe for the command: {e}"))
}

fn lost(why: &str) -> EnvironmentError {
    EnvironmentError::Lost(why.to_owned())
}
