//! The daemon: one background process per data directory that gives accepted work to workers.
//!
//! Nothing depends on it but progress: inputs are accepted, and everything is readable, without one.

mod autostart;
mod control;
mod drain;
mod http;
mod lock;
mod serve;
mod tls;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Context;
use super::config::{AwsSettings, Settings};
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

/// Who works on the Sessions of these settings from this machine. A daemon that was told another place of AWS does not.
pub fn serving(settings: &Settings, places: &Places) -> Option<Note> {
    running(places).filter(|note| serves(settings, note))
}

/// What to do for a daemon at another place of AWS.
const ANOTHER: &str =
    "choose another data directory besides, for a daemon of its own: --data-dir DIR";

fn serves(settings: &Settings, note: &Note) -> bool {
    note.endpoint_url == told_endpoint(settings)
}

/// Where the command line says that AWS is.
fn told_endpoint(settings: &Settings) -> Option<String> {
    let aws = settings.aws.as_ref();
    aws.and_then(AwsSettings::told_endpoint).map(str::to_owned)
}

fn serves_elsewhere(note: &Note) -> String {
    let place = match &note.endpoint_url {
        Some(url) => format!("was told that AWS is at {url}"),
        None => "was told no --endpoint-url".to_owned(),
    };
    format!("the daemon of this data directory {place}, so it does not work on this")
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
  rat-things daemon run --listen 127.0.0.1:8790
  rat-things daemon run --listen 0.0.0.0:8790 --tls-cert cert.pem --tls-key key.pem")]
pub struct RunArgs {
    /// Serve the Agents API over HTTP on this address and port [default: daemon.listen, else not]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Serve everybody on this machine as you, without access keys
    #[arg(long)]
    pub no_auth: bool,
    /// Listen on an address that other machines reach, without TLS
    #[arg(long)]
    pub allow_remote: bool,
    /// PEM file of the certificate to serve with; read again when it changes [default: daemon.tls_cert, else no TLS]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// PEM file of the certificate's private key [default: daemon.tls_key]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Leave when there is nothing to do for a while; detach from the terminal
    #[arg(long, hide = true)]
    pub background: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::Run(args) => serve::run(context, &args).await,
        Command::Start => control::start(context).await,
        Command::Stop => control::stop(context).await,
        Command::Status => control::status(context).await,
    }
}
