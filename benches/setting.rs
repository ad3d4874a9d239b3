//! The circumstances of a measurement: priority, a slow sync, other processes, and the paper that results are written on.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rat_things::backend::local::store::{SqliteStore, StoreOptions};

/// The variable that makes this program one of its own helpers.
pub const ROLE: &str = "RAT_THINGS_BENCH_ROLE";

/// Writes one line of the report.
pub fn say(line: &str) {
    // A report that nobody reads to its end is no failure.
    let _ = writeln!(io::stdout(), "{line}");
}

/// Writes one figure of the report: what it is, its value and unit, and its goal or a remark.
pub fn figure(what: &str, value: f64, unit: &str, remark: &str) {
    let digits = if value < 100.0 { 2 } else { 0 };
    say(format!("{what:<36}{value:>9.digits$} {unit:<6}{remark}").trim_end());
}

/// A time in microseconds.
pub fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Processor time that all threads of this process took so far, in microseconds.
pub fn processor_us() -> f64 {
    let mut used = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills the struct, which lives here; all zeros are a value of it.
    let used = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, used.as_mut_ptr());
        used.assume_init()
    };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    us(used.ru_utime) + us(used.ru_stime)
}

/// The runtime on which clients live: as many threads whatever the machine, so that figures can be compared.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}

/// Opens the store at `path`.
pub fn open(path: &Path, gather: bool) -> io::Result<Arc<SqliteStore>> {
    let options = StoreOptions {
        gather,
        ..StoreOptions::default()
    };
    SqliteStore::open(path, options)
        .map(Arc::new)
        .map_err(io::Error::other)
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
