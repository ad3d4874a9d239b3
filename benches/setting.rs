//! The circumstances of a measurement: priority, a slow sync, other processes, and the paper that results are written on.

use std::env;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that makes this program one of its own helpers.
pub const ROLE: &str = "RAT_THINGS_BENCH_ROLE";

/// Writes one line of the report.
pub fn say(line: fmt::Arguments<'_>) {
    // A report that nobody reads to its end is no failure.
    let _ = writeln!(io::stdout(), "{line}");
}

/// Gives this thread, and all it starts from now on, a real-time priority: on a busy machine every sync otherwise waits for a time
/// slice, and that is all one would measure. `false` where it is not permitted.
pub fn real_time() -> bool {
    let wanted = libc::sched_param { sched_priority: 5 };
    // SAFETY: the call reads the struct, which lives here, and changes nothing else of this process.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const wanted) == 0 }
}

/// Compiles the library that makes syncs slow into `dir`.
pub fn build_shim(dir: &Path) -> io::Result<PathBuf> {
    let library = dir.join("sync_shim.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/sync_shim.c");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .args([library.as_os_str(), source.as_ref()])
        .arg("-ldl")
        .status()?;
    if status.success() {
        Ok(library)
    } else {
        Err(io::Error::other(format!("cc: {status}")))
    }
}

/// This program again, as the helper `role`; what it prints can be read.
pub fn again(role: &str) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.env(ROLE, role).stdout(Stdio::piped());
    Ok(command)
}
