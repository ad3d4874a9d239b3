//! The process between PID 1 and one command: a subreaper, so that everything the command leaves behind stays in one family.
//!
//! It is a fork of PID 1 and as opaque as it. It waits for its descendants, reports how the command itself ended, and leaves
//! when nobody is left. An agent that kills it gains nothing: its children fall to PID 1, which then reports in its stead.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::io::Errno;

use super::super::wire::{Command, Setup, Status};
use super::command;
use super::{last_errno, set_process_option};

/// Where the report descriptor is in a shim and, until it executes something, in a command.
const REPORT_FD: i32 = 3;

/// What a shim tells PID 1: a fixed-size record in a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The command's own process has this pid.
    Running(i32),
    /// The command could not be executed.
    Refused(Step, i32),
    /// The command's own process ended.
    Exited(Status),
}

/// What was being done for a command when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Forking.
    Fork = 1,
    /// Entering the working directory.
    Directory,
    /// Setting bounds.
    Limits,
    /// Installing the system call filter.
    Filter,
    /// Executing the program.
    Execute,
}

/// Bytes of a report.
pub(super) const REPORT_BYTES: usize = 9;

impl Report {
    /// The record.
    pub(super) fn encode(self) -> [u8; REPORT_BYTES] {
        let (tag, a, b) = match self {
            Report::Running(pid) => (1, pid, 0),
            Report::Refused(step, errno) => (2, step as i32, errno),
            Report::Exited(Status::Code(code)) => (3, code, 0),
            Report::Exited(Status::Signal(signal)) => (4, signal, 0),
        };
        let mut record = [0; REPORT_BYTES];
        record[0] = tag;
        record[1..5].copy_from_slice(&a.to_le_bytes());
        record[5..9].copy_from_slice(&b.to_le_bytes());
        record
    }

    /// What a record says.
    pub(super) fn decode(record: &[u8; REPORT_BYTES]) -> Option<Report> {
        let number = |at: usize| {
            i32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
        };
        let (a, b) = (number(1), number(5));
        Some(match record[0] {
            1 => Report::Running(a),
            2 => {
                let step = match a {
                    1 => Step::Fork,
                    2 => Step::Directory,
                    3 => Step::Limits,
                    4 => Step::Filter,
                    5 => Step::Execute,
                    _ => return None,
                };
                Report::Refused(step, b)
            }
            3 => Report::Exited(Status::Code(a)),
            4 => Report::Exited(Status::Signal(a)),
            _ => return None,
        })
    }
}

/// What a shim is given.
pub(super) struct Task<'a> {
    /// The command.
    pub(super) command: &'a Command,
    /// Bounds.
    pub(super) setup: &'a Setup,
    /// The system call filters.
    pub(super) filters: &'a [seccompiler::BpfProgram],
    /// The command's standard input.
    pub(super) input: OwnedFd,
    /// The command's standard output, and its standard error unless there is another place for that.
    pub(super) output: OwnedFd,
    /// Where its standard error goes.
    pub(super) errors: Option<OwnedFd>,
    /// Where reports go.
    pub(super) report: OwnedFd,
}

/// Runs in the forked child, to its end.
pub(super) fn run(task: Task<'_>) -> ! {
    let code = match arrange(&task) {
        Ok(()) => supervise(&task),
        Err(_) => 1,
    };
    exit(code)
}

/// Leaves 0, 1, 2 and [`REPORT_FD`] open and nothing else: not the control socket, not the environment's lock.
fn arrange(task: &Task<'_>) -> Result<(), Errno> {
    set_process_option(libc::PR_SET_CHILD_SUBREAPER, 1)?;
    // Copies above every target first: a source may have the number of a target.
    let high = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd.as_fd(), 64);
    let (input, output, report) = (high(&task.input)?, high(&task.output)?, high(&task.report)?);
    let errors = high(task.errors.as_ref().unwrap_or(&task.output))?;
    for (source, target) in [
        (&input, 0),
        (&output, 1),
        (&errors, 2),
        (&report, REPORT_FD),
    ] {
        // SAFETY: both numbers are ours to use; this process is single-threaded and about to close everything else.
        if unsafe { libc::dup2(source.as_raw_fd(), target) } < 0 {
            return Err(last_errno());
        }
    }
    // SAFETY: see above. What is closed here is owned by values of the parent's stack that this process never drops.
    let rc = unsafe { libc::syscall(libc::SYS_close_range, REPORT_FD + 1, libc::c_uint::MAX, 0) };
    std::mem::forget((input, output, errors, report));
    if rc != 0 {
        return Err(last_errno());
    }
    // SAFETY: plain fcntl.
    unsafe { libc::fcntl(REPORT_FD, libc::F_SETFD, libc::FD_CLOEXEC) };
    Ok(())
}

fn supervise(task: &Task<'_>) -> i32 {
    // SAFETY: single-threaded, so the child may do anything.
    let main = match unsafe { libc::fork() } {
        0 => {
            // Before anything of the command runs, which may kill the shim at once.
            // SAFETY: plain getpid.
            report(Report::Running(unsafe { libc::getpid() }));
            let (step, errno) = command::become_it(task);
            report(Report::Refused(step, errno.raw_os_error()));
            exit(127)
        }
        pid if pid > 0 => pid,
        _ => {
            report(Report::Refused(Step::Fork, last_errno().raw_os_error()));
            return 1;
        }
    };
    // The command's own ends of its pipes must be the only ones, or the engine never sees them close.
    for fd in 0..3 {
        // SAFETY: plain close of descriptors that nothing in this process uses any more.
        unsafe { libc::close(fd) };
    }
    loop {
        // Looked at first, reaped only once reported: killed in between, we leave the status to PID 1 and nothing is lost.
        // SAFETY: an all-zero siginfo is valid, and it outlives the call.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: see above.
        if unsafe { libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOWAIT) } != 0 {
            match last_errno() {
                Errno::INTR => continue,
                _ => return 0,
            }
        }
        // SAFETY: waitid succeeded, so these fields are filled.
        let (pid, value) = unsafe { (info.si_pid(), info.si_status()) };
        if pid == main {
            report(Report::Exited(match info.si_code {
                libc::CLD_EXITED => Status::Code(value),
                _ => Status::Signal(value),
            }));
        }
        // SAFETY: a null status is allowed.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    }
}

/// How a wait status reads.
pub(super) fn status_of(status: i32) -> Status {
    if libc::WIFSIGNALED(status) {
        Status::Signal(libc::WTERMSIG(status))
    } else {
        Status::Code(libc::WEXITSTATUS(status))
    }
}

fn report(report: Report) {
    let record = report.encode();
    // SAFETY: the record outlives the call. A record is far below PIPE_BUF, so it is written whole or not at all.
    unsafe { libc::write(REPORT_FD, record.as_ptr().cast(), record.len()) };
}

/// Leaves without running anything that PID 1 had registered.
fn exit(code: i32) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_pipe() {
        for report in [
            Report::Running(4_000_000),
            Report::Refused(Step::Directory, libc::ENOENT),
            Report::Refused(Step::Execute, libc::E2BIG),
            Report::Exited(Status::Code(255)),
            Report::Exited(Status::Signal(9)),
        ] {
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
        assert_eq!(Report::decode(&[9; REPORT_BYTES]), None);
    }
}
