//! Turning a forked process into a command: own session, working directory, bounds, filter, program.

use std::convert::Infallible;
use std::ffi::{CString, NulError};
use std::process::ExitCode;

use rustix::io::Errno;

use super::super::wire::{Command, Setup};
use super::last_errno;
use super::shim::{Step, Task};
use crate::backend::harness::responses::patch;
use crate::engine::ports::Program;

/// Descriptors a command may have open at once: (what it starts with, what it may raise it to). The second is below what the engine
/// itself has: descriptors on their way between processes are counted per user, against the limit of whoever sends the next one.
const OPEN_FILES: (u64, u64) = (1_024, 16_384);

/// Does not return if the command runs.
pub(super) fn become_it(task: &Task<'_>) -> (Step, Errno) {
    match try_become(task) {
        Ok(never) => match never {},
        Err(refusal) => refusal,
    }
}

fn try_become(task: &Task<'_>) -> Result<Infallible, (Step, Errno)> {
    let command = task.command;
    // SAFETY: setsid takes no arguments; it cannot fail right after a fork.
    unsafe { libc::setsid() };
    default_signals();
    rustix::process::chdir(command.cwd.as_str()).map_err(|e| (Step::Directory, e))?;
    limits(task.setup).map_err(|e| (Step::Limits, e))?;
    for filter in task.filters {
        seccompiler::apply_filter(filter).map_err(|_| (Step::Filter, last_errno()))?;
    }
    execute(command).map_err(|e| (Step::Execute, e))
}

/// PID 1 blocks every signal and ignores some; a command starts with none of that.
fn default_signals() {
    // SAFETY: signal(2) with SIG_DFL and an initialised empty mask. Signals that cannot be changed answer with an error.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

fn limits(setup: &Setup) -> Result<(), Errno> {
    let set = |resource, soft: u64, hard: u64| {
        let mut old = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: both structures outlive the calls.
        unsafe {
            if libc::getrlimit(resource, &mut old) != 0 {
                return Err(last_errno());
            }
            let max = hard.min(old.rlim_max);
            let new = libc::rlimit {
                rlim_cur: soft.min(max),
                rlim_max: max,
            };
            if libc::setrlimit(resource, &new) != 0 {
                return Err(last_errno());
            }
        }
        Ok(())
    };
    if setup.sandboxed {
        // Counted for this sandbox alone. On the host it would count the operator's whole login.
        set(libc::RLIMIT_NPROC, setup.processes, setup.processes)?;
    }
    // Not RLIMIT_AS: Node, Java and Go reserve far more address space than they use.
    set(libc::RLIMIT_DATA, setup.memory_bytes, setup.memory_bytes)?;
    set(libc::RLIMIT_FSIZE, setup.file_bytes, setup.file_bytes)?;
    set(libc::RLIMIT_CPU, setup.cpu_seconds, setup.cpu_seconds)?;
    set(libc::RLIMIT_NOFILE, OPEN_FILES.0, OPEN_FILES.1)?;
    set(libc::RLIMIT_CORE, 0, 0)
}

fn execute(command: &Command) -> Result<Infallible, Errno> {
    let env: Vec<CString> = command
        .env
        .iter()
        .map(|(name, value)| CString::new(format!("{name}={value}")))
        .collect::<Result<_, NulError>>()
        .map_err(|_| Errno::INVAL)?;
    match &command.program {
        Program::Shell(script) => {
            for shell in ["/bin/bash", "/usr/bin/bash", "/bin/sh"] {
                match exec(shell, &[shell, "-c", script], &env) {
                    Errno::NOENT => {}
                    other => return Err(other),
                }
            }
            Err(Errno::NOENT)
        }
        Program::Argv(argv) => {
            let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
            let name = *argv.first().ok_or(Errno::INVAL)?;
            Err(search(name, &argv, command.env.get("PATH"), &env))
        }
        Program::ApplyPatch => patch_here(command),
    }
}

/// Like `execvpe`: a name with a slash is a path, any other is looked up.
fn search(name: &str, argv: &[&str], path: Option<&String>, env: &[CString]) -> Errno {
    if name.contains('/') {
        return exec_or_interpret(name, argv, env);
    }
    let mut answer = Errno::NOENT;
    for directory in path
        .map_or("", String::as_str)
        .split(':')
        .filter(|d| !d.is_empty())
    {
        let file = format!("{directory}/{name}");
        match exec_or_interpret(&file, argv, env) {
            Errno::NOENT | Errno::NOTDIR => {}
            // A directory that may not be searched holds no program; a file that may not be executed is one.
            Errno::ACCESS if rustix::fs::stat(file.as_str()).is_err() => {}
            Errno::ACCESS => answer = Errno::ACCESS,
            other => return other,
        }
    }
    answer
}

/// A text file that is executable but names no interpreter is a shell script.
fn exec_or_interpret(file: &str, argv: &[&str], env: &[CString]) -> Errno {
    match exec(file, argv, env) {
        Errno::NOEXEC => {
            let mut with_shell = vec!["sh", file];
            with_shell.extend(argv.iter().skip(1));
            exec("/bin/sh", &with_shell, env)
        }
        other => other,
    }
}

fn exec(file: &str, argv: &[&str], env: &[CString]) -> Errno {
    let strings = || -> Result<_, NulError> {
        let argv: Vec<CString> = argv
            .iter()
            .map(|a| CString::new(*a))
            .collect::<Result<_, _>>()?;
        Ok((CString::new(file)?, argv))
    };
    let Ok((file, argv)) = strings() else {
        return Errno::INVAL;
    };
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter()
            .map(|s| s.as_ptr())
            .chain([std::ptr::null()])
            .collect()
    };
    // SAFETY: null-terminated arrays of null-terminated strings that outlive the call.
    unsafe {
        libc::execve(
            file.as_ptr(),
            pointers(&argv).as_ptr(),
            pointers(env).as_ptr(),
        )
    };
    last_errno()
}

/// Runs the patch tool without executing a file. Executing our own program would make it dumpable for a moment, and then a
/// process of the agent's could open it through /proc and overwrite it after it ended: the program of the engine itself.
fn patch_here(command: &Command) -> Result<Infallible, Errno> {
    // SAFETY: single-threaded; nothing reads the environment concurrently.
    unsafe {
        libc::clearenv();
        for (name, value) in &command.env {
            std::env::set_var(name, value);
        }
    }
    let code = patch::main();
    let number = (0..=u8::MAX).find(|n| ExitCode::from(*n) == code);
    std::process::exit(number.map_or(1, i32::from))
}
