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
use crate::engine::ports::{Conversation, EnvironmentError, ExecEnd, ExecHow};

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
    /// Its standard input, and where its standard output goes.
    pub(super) streams: Streams,
    /// What it leaves running is ended with it.
    pub(super) alone: bool,
    /// Its time.
    pub(super) timeout_ms: u64,
    /// Output kept.
    pub(super) output_limit_bytes: usize,
    /// Output as it comes.
    pub(super) live: mpsc::Sender<Bytes>,
    /// Turns true when it shall end.
    pub(super) cancel: watch::Receiver<bool>,
}

/// What goes in and out beside what is kept.
pub(super) enum Streams {
    /// All of its input is known. What it writes is its output, whichever way it takes.
    Plain(Bytes),
    /// It is spoken with. Only what it writes to standard error is kept.
    Spoken {
        /// To its standard input.
        input: mpsc::Receiver<Bytes>,
        /// From its standard output.
        output: mpsc::Sender<Bytes>,
    },
}

impl Streams {
    /// Of a conversation.
    pub(super) fn of(conversation: Conversation) -> Streams {
        Streams::Spoken {
            input: conversation.input,
            output: conversation.output,
        }
    }
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
        let (kept_from, their_kept) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        let kept_from = pipe::Receiver::from_owned_fd(kept_from)
            .map_err(|e| EnvironmentError::Failed(format!("no pipe for the command: {e}")))?;
        let streams = std::mem::replace(&mut self.streams, Streams::Plain(Bytes::new()));
        let Ends { theirs, ours } = Ends::of(streams, their_kept).map_err(failed)?;
        let fds: Vec<_> = theirs.iter().map(AsFd::as_fd).collect();
        let sent = control.spawn(self.command.clone(), &fds).await;
        drop(theirs);
        let running = match sent {
            Ok(running) => running,
            Err(Unsent::Gone) => return Err(EnvironmentError::Failed("it is closed".to_owned())),
            Err(Unsent::TooLong) => {
                let reason = "the command and its variables are longer than 192 KiB";
                return Ok(ExecHow::NotStarted(reason.to_owned()));
            }
        };
        let mut carried: Vec<AbortOnDrop> = ours.into_iter().map(carry).collect();
        let course = Course {
            running,
            output: Some(kept_from),
            how: None,
            condemned: false,
            ending: false,
            deadline: began.checked_add(Duration::from_millis(self.timeout_ms)),
        };
        let how = course.follow(self, kept).await?;
        if self.alone
            && let Some(last) = carried.last_mut()
        {
            // All that could write is gone: what is left of its last words is in the pipe.
            let _ = tokio::time::timeout(LINGER, &mut last.0).await;
        }
        Ok(how)
    }
}

/// Both ends of what goes in and out.
struct Ends {
    /// The command's, in the order in which PID 1 takes them.
    theirs: Vec<OwnedFd>,
    /// What is carried between our ends and the caller.
    ours: Vec<Carried>,
}

/// Bytes on their way.
enum Carried {
    /// To the command.
    Bytes(OwnedFd, Bytes),
    /// To the command, as they come.
    Said(OwnedFd, mpsc::Receiver<Bytes>),
    /// From the command.
    Heard(OwnedFd, mpsc::Sender<Bytes>),
}

impl Ends {
    /// `kept` is where what is kept is written to. Without input PID 1 gives an empty one.
    fn of(streams: Streams, kept: OwnedFd) -> Result<Ends, rustix::io::Errno> {
        Ok(match streams {
            Streams::Plain(bytes) if bytes.is_empty() => Ends {
                theirs: vec![kept],
                ours: Vec::new(),
            },
            Streams::Plain(bytes) => {
                let (their_input, input) = pipe_with(PipeFlags::CLOEXEC)?;
                Ends {
                    theirs: vec![kept, their_input],
                    ours: vec![Carried::Bytes(input, bytes)],
                }
            }
            Streams::Spoken { input, output } => {
                let (their_input, ours_in) = pipe_with(PipeFlags::CLOEXEC)?;
                let (ours_out, their_output) = pipe_with(PipeFlags::CLOEXEC)?;
                Ends {
                    theirs: vec![their_output, their_input, kept],
                    ours: vec![
                        Carried::Said(ours_in, input),
                        Carried::Heard(ours_out, output),
                    ],
                }
            }
        })
    }
}

/// Carries bytes until their source ends, or nobody is there to take them.
fn carry(carried: Carried) -> AbortOnDrop {
    AbortOnDrop(match carried {
        Carried::Bytes(pipe, bytes) => tokio::spawn(feed(pipe, bytes)),
        Carried::Said(pipe, input) => tokio::spawn(say_to(pipe, input)),
        Carried::Heard(pipe, output) => tokio::spawn(hear(pipe, output)),
    })
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
                if self.condemned || !(exec.alone || *exec.cancel.borrow()) {
                    return Ok(self.finish());
                }
                // What is left in the background goes too, also if the cancel came at this moment.
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

async fn say_to(pipe: OwnedFd, mut input: mpsc::Receiver<Bytes>) {
    let Ok(mut pipe) = pipe::Sender::from_owned_fd(pipe) else {
        return;
    };
    while let Some(bytes) = input.recv().await {
        // It closed its input: whoever speaks on is told by the closed channel.
        if pipe.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

async fn hear(pipe: OwnedFd, output: mpsc::Sender<Bytes>) {
    let Ok(mut pipe) = pipe::Receiver::from_owned_fd(pipe) else {
        return;
    };
    let mut buffer = vec![0; CHUNK_BYTES];
    while let Ok(n @ 1..) = pipe.read(&mut buffer).await {
        if output
            .send(Bytes::copy_from_slice(&buffer[..n]))
            .await
            .is_err()
        {
            return;
        }
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
