//! PID 1 of the namespace that Codex runs in: starts Codex, reaps what falls to it, and leaves as soon as Codex does or nobody speaks
//! with Codex any more. The kernel ends the rest, whatever it is and however it hides.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, ExitCode};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, WaitOptions, set_parent_process_death_signal, waitpid};

use crate::backend::local::process;

/// The hidden subcommand. What follows it is the program and its arguments.
pub const ROLE: &str = "__codex-warden";

/// Runs until the program has ended, or the other end of standard input or standard error is closed: by its owner's will or death.
pub fn main() -> ExitCode {
    match run(std::env::args_os().skip(2)) {
        Ok(code) => code,
        Err(error) => {
            // Its owner reads this as the reason why Codex did not start.
            use std::io::Write;
            let _ = writeln!(io::stderr(), "{ROLE}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut words: impl Iterator<Item = OsString>) -> io::Result<ExitCode> {
    process::keep_inherited_files_from_children();
    // The launcher is single-threaded, so this cannot fire because a mere thread of it ended.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let program = words
        .next()
        .ok_or_else(|| io::Error::other("there is no program"))?;
    let child = Command::new(program).args(words).spawn()?;
    std::thread::spawn(leave_when_nobody_speaks);
    loop {
        match waitpid(None, WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == child.id() => {
                return Ok(match status.exit_status() {
                    Some(0) => ExitCode::SUCCESS,
                    _ => ExitCode::FAILURE,
                });
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reads nothing: that is for Codex. A pipe whose other end is closed says so to whoever looks: that of standard input when the owner is dead, that
/// of standard error also when the owner wants it to end before Codex can know.
fn leave_when_nobody_speaks() {
    let (stdin, stderr) = (io::stdin(), io::stderr());
    loop {
        let mut looked_at = [
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty()),
            PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::empty()),
        ];
        match poll(&mut looked_at, None) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => std::process::exit(0),
        }
    }
}
