//! The daemon: one background process per data directory that gives accepted work to workers.
//!
//! Nothing depends on it but progress: inputs are accepted, and everything is readable, without one.

mod autostart;
mod control;
mod drain;
mod lock;
mod serve;

use clap::{Args, Subcommand};

use super::Context;
use super::out::CliError;

pub use autostart::ensure;
pub use lock::Note;

use super::compose::Places;

/// Who the running daemon of a data directory is, if one runs.
pub fn running(places: &Places) -> Option<Note> {
    // Looking must not make anything: without the directory there is no daemon.
    if !places.run().is_dir() {
        return None;
    }
    lock::holder(places).unwrap_or_else(|_| lock::living(places))
}

/// `rat-things daemon …`
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the daemon in the foreground until Ctrl-C
    Run(RunArgs),
    /// Start the daemon in the background, if none runs
    #[command(after_help = "Examples:
  rat-things daemon start
  rat-things daemon start -o json")]
    Start,
    /// Stop the daemon: running Turns get a grace period, then their leases are given back
    #[command(after_help = "Examples:
  rat-things daemon stop
  rat-things daemon stop -q")]
    Stop,
    /// Whether a daemon runs, and which one
    #[command(after_help = "Examples:
  rat-things daemon status
  rat-things daemon status -o json")]
    Status,
}

/// `daemon run`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rat-things daemon run
  rat-things daemon run -vv")]
pub struct RunArgs {
    /// Leave when there is nothing to do for a while; detach from the terminal
    #[arg(long, hide = true)]
    pub background: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::Run(args) => serve::run(context, args.background).await,
        Command::Start => control::start(context).await,
        Command::Stop => control::stop(context).await,
        Command::Status => control::status(context).await,
    }
}
