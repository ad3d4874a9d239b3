//! What Codex starts as its environment: it connects its own streams with the engine's socket and knows nothing else.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use super::SOCKET;

/// The hidden subcommand.
pub const ROLE: &str = "__codex-exec";

/// Runs until either side closes. The working directory is the one that has the socket.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run() -> io::Result<()> {
    let socket = UnixStream::connect(SOCKET)?;
    let mut to_engine = socket.try_clone()?;
    std::thread::spawn(move || {
        // However it ends, there is nobody left to tell.
        let _ = io::copy(&mut io::stdin().lock(), &mut to_engine);
        let _ = to_engine.shutdown(Shutdown::Both);
    });
    let mut from_engine = socket;
    let mut out = io::stdout().lock();
    let mut chunk = [0; 64 << 10];
    loop {
        // Not `io::copy`: standard output holds lines back that are not complete, and these are long.
        let read = io::Read::read(&mut from_engine, &mut chunk)?;
        if read == 0 {
            return Ok(());
        }
        io::Write::write_all(&mut out, &chunk[..read])?;
        io::Write::flush(&mut out)?;
    }
}
