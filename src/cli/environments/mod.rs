//! `rat-things environments …`: the places where a Session's commands run.

mod expire;
mod get;
mod view;

use clap::Subcommand;

use super::Context;
use super::out::CliError;

/// `rat-things environments …`
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show one environment: its state, and what was put there
    Get(get::Args),
    /// End an environment for good; its Session stays readable and takes no more messages
    Expire(expire::Args),
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::Get(args) => get::run(context, args).await,
        Command::Expire(args) => expire::run(context, args).await,
    }
}
