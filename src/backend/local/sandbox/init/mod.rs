//! PID 1 of a sandbox: takes spawn requests from the engine, reaps, ends trees, watches bounds.
//!
//! Single-threaded, so that it may fork without `exec`. It holds no policy and no secret; what makes it trustworthy inside the
//! sandbox is that it is PID 1 (nothing in there can kill it) and not dumpable (nothing in there can look into it, trace it or
//! reach the program file behind it). When the control socket closes, because the engine closed it or died, it ends everything
//! and leaves.
//!
//! With isolation `unsafe_none` the same code runs as an ordinary process of the host, and then touches only its descendants.

mod command;
mod family;
mod filter;
mod procs;
mod serve;
mod shim;
mod watch;

use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use rustix::io::Errno;

use super::packet;
use super::wire::{MAX_PACKET_BYTES, PROXY_PORT, Reply, Request, Setup};

/// The hidden subcommand.
pub const ROLE: &str = "__init";

/// Runs until the control socket, given as standard input, closes.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            // The engine reads this as the reason why the sandbox did not start.
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "{ROLE}: {trouble}");
            ExitCode::FAILURE
        }
    }
}

/// Why PID 1 could not do its work.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("standard input is not the engine's control socket: {0}")]
    Control(Errno),
    #[error("the first message is not a setup")]
    NoSetup,
    #[error("cannot {0}: {1}")]
    System(&'static str, Errno),
    #[error("cannot listen on 127.0.0.1:{PROXY_PORT}: {0}")]
    Listen(std::io::Error),
    #[error("cannot prepare the system call filter: {0}")]
    Filter(String),
}

fn run() -> Result<(), Trouble> {
    seal()?;
    let control = take_control()?;
    let setup = receive_setup(&control)?;
    if setup.sandboxed {
        // The launcher is single-threaded, so this cannot fire because a mere thread of it ended.
        set_process_option(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)
            .map_err(|e| Trouble::System("ask for the launcher's death notice", e))?;
    } else {
        set_process_option(libc::PR_SET_CHILD_SUBREAPER, 1)
            .map_err(|e| Trouble::System("become a subreaper", e))?;
    }
    let filters = if setup.sandboxed {
        filter::compile().map_err(Trouble::Filter)?
    } else {
        Vec::new()
    };
    let signals = block_signals()?;
    announce(&control, &setup)?;
    detach_standard_streams()?;
    serve::Server::new(control, signals, setup, filters).serve();
    Ok(())
}

/// Makes this process opaque to everything else in the sandbox, and keeps inherited descriptors (the lock of the environment,
/// our own program) from ever reaching a command.
fn seal() -> Result<(), Trouble> {
    set_process_option(libc::PR_SET_DUMPABLE, 0)
        .map_err(|e| Trouble::System("become non-dumpable", e))?;
    // SAFETY: marks descriptors close-on-exec, touches no memory.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3 as libc::c_uint,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if rc == 0 {
        Ok(())
    } else {
        Err(Trouble::System("mark descriptors", last_errno()))
    }
}

/// Moves the control socket away from standard input, where a command's would be.
fn take_control() -> Result<OwnedFd, Trouble> {
    let stdin = std::io::stdin();
    if rustix::net::sockopt::socket_type(stdin.as_fd()).map_err(Trouble::Control)?
        != rustix::net::SocketType::SEQPACKET
    {
        return Err(Trouble::Control(Errno::NOTSOCK));
    }
    rustix::io::fcntl_dupfd_cloexec(stdin.as_fd(), 10).map_err(Trouble::Control)
}

fn receive_setup(control: &OwnedFd) -> Result<Setup, Trouble> {
    let mut buffer = vec![0; MAX_PACKET_BYTES];
    let got = packet::receive(control, &mut buffer).map_err(Trouble::Control)?;
    match Request::decode(&buffer[..got.size_bytes]) {
        Ok(Request::Setup(setup)) => Ok(setup),
        _ => Err(Trouble::NoSetup),
    }
}

/// Blocks every signal and turns the one about children into a descriptor. Commands get an empty mask again.
fn block_signals() -> Result<OwnedFd, Trouble> {
    use std::os::fd::FromRawFd;
    // SAFETY: the sets are initialised by sigfillset/sigemptyset before use; signalfd returns a new descriptor or -1.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        let mut children = std::mem::zeroed();
        libc::sigemptyset(&mut children);
        libc::sigaddset(&mut children, libc::SIGCHLD);
        let fd = libc::signalfd(-1, &children, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(Trouble::System("watch its children", last_errno()));
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Tells the engine that commands may come, and hands it the proxy's listening socket. Ours is closed: only the engine accepts.
fn announce(control: &OwnedFd, setup: &Setup) -> Result<(), Trouble> {
    let ready = Reply::Ready.encode();
    let sent = if setup.proxy {
        let listener =
            std::net::TcpListener::bind(("127.0.0.1", PROXY_PORT)).map_err(Trouble::Listen)?;
        packet::send(control, &ready, &[listener.as_fd()])
    } else {
        packet::send(control, &ready, &[])
    };
    sent.map_err(Trouble::Control)
}

/// The launcher's standard error is the engine's business until here, and nobody's afterwards.
fn detach_standard_streams() -> Result<(), Trouble> {
    let null = open_null().map_err(|e| Trouble::System("open /dev/null", e))?;
    rustix::stdio::dup2_stdin(&null)
        .and_then(|()| rustix::stdio::dup2_stdout(&null))
        .and_then(|()| rustix::stdio::dup2_stderr(&null))
        .map_err(|e| Trouble::System("let go of the standard streams", e))
}

fn open_null() -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, OFlags, open};
    open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

fn set_process_option(option: libc::c_int, value: libc::c_ulong) -> Result<(), Errno> {
    // SAFETY: prctl with integer arguments touches no memory of ours.
    if unsafe { libc::prctl(option, value, 0, 0, 0) } == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
