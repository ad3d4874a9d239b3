//! Ending a process by its identity. It goes through a pidfd, so that a process which took over the pid can't be hit.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::ProcessIdentity;
use crate::engine::ports::Liveness;

/// Why a process could not be ended.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// It may not be signalled by this user.
    #[error("no permission to end process {0}")]
    NotPermitted(u32),
    /// It was signalled and still exists when the time was over.
    #[error("process {0} still exists {1} ms after it was told to end")]
    StillThere(u32, u128),
    /// Whether it exists could not be established, so nothing was signalled.
    #[error("it can't be established whether process {pid} exists: {why}")]
    Unknown {
        /// As its own namespace sees it.
        pid: u32,
        /// In words.
        why: String,
    },
}

impl ProcessIdentity {
    /// Kills it and waits until it is gone, at most so long. `Ok` if it was gone already. Blocks.
    pub fn kill_and_wait(&self, patience: Duration) -> Result<(), EndError> {
        self.end(Duration::ZERO, patience)
    }

    /// Asks it to end (SIGTERM), kills it after `grace`, and waits until it is gone, at most `patience` after the kill. `Ok` if
    /// it was gone already. Blocks.
    pub fn end(&self, grace: Duration, patience: Duration) -> Result<(), EndError> {
        let Some(process) = self.hold()? else {
            return Ok(());
        };
        if !grace.is_zero() {
            self.signal(&process, Signal::TERM)?;
            if self.wait(&process, grace)? {
                return Ok(());
            }
        }
        self.signal(&process, Signal::KILL)?;
        if self.wait(&process, patience)? {
            Ok(())
        } else {
            Err(EndError::StillThere(self.pid, patience.as_millis()))
        }
    }

    /// A handle on exactly this process; `None` if it is gone.
    fn hold(&self) -> Result<Option<OwnedFd>, EndError> {
        match self.inspect() {
            Liveness::Gone => return Ok(None),
            Liveness::Unknown => return Err(self.unknown("it is not visible from here")),
            Liveness::Running => {}
        }
        let pid = self
            .raw_pid()
            .ok_or_else(|| self.unknown("its pid is odd"))?;
        let held = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) => held,
            Err(Errno::SRCH) => return Ok(None),
            Err(error) => return Err(self.unknown(error)),
        };
        // Whatever the handle holds had the pid when it was opened. If the identity still fits now, it is that process.
        match self.inspect() {
            Liveness::Running => Ok(Some(held)),
            Liveness::Gone => Ok(None),
            Liveness::Unknown => Err(self.unknown("it is not visible any more")),
        }
    }

    fn signal(&self, process: &OwnedFd, signal: Signal) -> Result<(), EndError> {
        match pidfd_send_signal(process, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(Errno::PERM) => Err(EndError::NotPermitted(self.pid)),
            Err(error) => Err(self.unknown(error)),
        }
    }

    /// Whether it is gone within `patience`. The handle becomes readable when the last thread has ended.
    fn wait(&self, process: &OwnedFd, patience: Duration) -> Result<bool, EndError> {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut fds = [PollFd::new(process, PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.unknown(error)),
            }
        }
    }

    fn unknown(&self, why: impl ToString) -> EndError {
        EndError::Unknown {
            pid: self.pid,
            why: why.to_string(),
        }
    }
}
