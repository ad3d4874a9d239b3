//! One command and everything that descends from it, as PID 1 knows it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use super::super::wire::{Command, Reply, Status};
use super::shim::{REPORT_BYTES, Report, Step};
use crate::engine::ports::Program;

/// A command's family. It is kept until its shim is gone, or, if the agent killed the shim, until the command itself is.
pub(super) struct Family {
    /// The engine's number for it.
    pub(super) id: u64,
    /// The subreaper at its root; `None` once reaped.
    pub(super) shim: Option<i32>,
    /// The command's own process, once reported.
    pub(super) main: Option<i32>,
    /// Whether the engine knows how the command ended.
    pub(super) told: bool,
    report: Option<OwnedFd>,
    cwd: String,
    program: String,
}

impl Family {
    /// A family whose shim was just forked.
    pub(super) fn new(id: u64, shim: i32, report: OwnedFd, command: &Command) -> Family {
        let program = match &command.program {
            Program::Shell(_) => "bash or sh".to_owned(),
            Program::Argv(argv) => argv.first().cloned().unwrap_or_default(),
            Program::ApplyPatch => "the patch tool".to_owned(),
        };
        Family {
            id,
            shim: Some(shim),
            main: None,
            told: false,
            report: Some(report),
            cwd: command.cwd.clone(),
            program,
        }
    }

    /// Where its reports come from, while they may.
    pub(super) fn report(&self) -> Option<BorrowedFd<'_>> {
        self.report.as_ref().map(AsFd::as_fd)
    }

    /// Reads what the shim reported; the answer is for the engine, if there is any.
    pub(super) fn take_reports(&mut self) -> Option<Reply> {
        let mut reply = None;
        while let Some(fd) = &self.report {
            let mut record = [0; REPORT_BYTES];
            match rustix::io::read(fd, &mut record) {
                Ok(REPORT_BYTES) => match Report::decode(&record) {
                    Some(Report::Running(pid)) => self.main = Some(pid),
                    Some(Report::Refused(step, errno)) => {
                        let reason = self.reason(step, Errno::from_raw_os_error(errno));
                        reply = reply.or(self.tell(|id| Reply::NotStarted { id, reason }));
                    }
                    Some(Report::Exited(status)) => reply = reply.or(self.exited(status)),
                    None => self.report = None,
                },
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => self.report = None,
            }
        }
        reply
    }

    /// The command's own process ended.
    pub(super) fn exited(&mut self, status: Status) -> Option<Reply> {
        self.main = None;
        self.tell(|id| Reply::Exited { id, status })
    }

    /// The engine is told how a command ended once.
    fn tell(&mut self, reply: impl FnOnce(u64) -> Reply) -> Option<Reply> {
        let first = !std::mem::replace(&mut self.told, true);
        first.then(|| reply(self.id))
    }

    fn reason(&self, step: Step, errno: Errno) -> String {
        let (cwd, program) = (&self.cwd, &self.program);
        match (step, errno) {
            (Step::Directory, Errno::NOENT) => format!("no such directory: {cwd}"),
            (Step::Directory, Errno::NOTDIR) => format!("not a directory: {cwd}"),
            (Step::Directory, errno) => format!("cannot enter {cwd}: {errno}"),
            (Step::Execute, Errno::NOENT) => format!("no such program: {program}"),
            (Step::Execute, Errno::ACCESS) => format!("not executable: {program}"),
            (Step::Execute, Errno::TOOBIG) => {
                "the command is too long for the kernel (128 KiB an argument)".to_owned()
            }
            (Step::Execute, errno) => format!("cannot execute {program}: {errno}"),
            (Step::Fork, errno) => format!("no process could be started: {errno}"),
            (Step::Limits, errno) => format!("its bounds could not be set: {errno}"),
            (Step::Filter, errno) => format!("its system call filter was refused: {errno}"),
        }
    }
}
