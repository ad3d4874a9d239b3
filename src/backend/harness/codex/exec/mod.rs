//! The environment of Codex: the server of its exec protocol, with the Session's own environment behind it.
//!
//! Codex starts [`relay`], our own program, which connects its standard streams with the socket that [`Place`] listens on; `serve`
//! reads the requests, `processes` runs commands, `servers` the MCP servers that are processes, and `files` reads and writes files by commands,
//! too. Whatever has an effect first goes through a [`Gate`], where the Turn has it recorded.
//!
//! There is no other way: without an environment Codex has no tool for commands, and when this end is gone they fail.

mod files;
mod processes;
pub mod relay;
mod serve;
mod servers;
mod wire;

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;

use tokio::net::UnixListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

pub use self::processes::{Ended, Processes};
pub use self::relay::ROLE;
use super::mcp::Mcp;
use crate::engine::ports::Environment;

/// Name of the socket in the directory of a process.
const SOCKET: &str = "exec.sock";

/// Asks the Turn to have an effect recorded. Nothing happens before the answer, and nothing at all if it is a refusal.
pub struct Gate {
    /// What is about to happen.
    pub effect: Effect,
    /// The id under which its call is recorded. `Err`: it must not, with a reason for the agent.
    pub answer: oneshot::Sender<Result<String, String>>,
}

/// What is about to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A command.
    Command {
        /// The model's call that asked for it, as Codex knows it.
        call_id: String,
        /// The command as an operator should read it.
        shown: String,
        /// Its working directory.
        cwd: String,
    },
    /// A change of files. Codex does not say which call asked for it.
    Files,
    /// A call of a tool of an MCP server.
    Tool {
        /// The model's call that asked for it, as Codex knows it.
        call_id: String,
        /// The server.
        server_label: String,
        /// The tool, by the server's own name.
        tool: String,
    },
}

/// Bounds of commands.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How long one may run.
    pub timeout_ms: u64,
    /// Output that is kept of one.
    pub output_limit_bytes: usize,
}

/// Where a process finds its environment. Dropped, it is closed and what runs in it is ended.
pub struct Place {
    accepting: JoinHandle<()>,
    /// What runs.
    pub processes: Arc<Processes>,
}

impl Place {
    /// Opens the place in the directory of a process. Effects are asked for over `gates`.
    ///
    /// # Errors
    /// The socket can't be made.
    pub fn open(
        home: &Path,
        environment: Arc<dyn Environment>,
        bounds: Bounds,
        gates: mpsc::Sender<Gate>,
        mcp: Arc<Mcp>,
    ) -> io::Result<Place> {
        // Through the open directory the address is short, however long its path is.
        let dir = std::fs::File::open(home)?;
        let address = format!("/proc/self/fd/{}/{SOCKET}", dir.as_raw_fd());
        let listener = UnixListener::bind(address)?;
        let processes = Arc::new(Processes::default());
        let server = serve::Server {
            environment,
            bounds,
            gates,
            mcp,
            processes: Arc::clone(&processes),
        };
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                server.serve(stream).await;
            }
        });
        Ok(Place {
            accepting,
            processes,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.accepting.abort();
        self.processes.cancel_all();
    }
}
