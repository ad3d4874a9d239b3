//! `rat-things artifacts …`

mod delete;
mod get;

use clap::Subcommand;

use super::Context;
use super::out::CliError;

pub(super) use get::into_file;

/// `rat-things artifacts …`
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Get the bytes of an Artifact, verified by their digest
    Get(get::Args),
    /// Delete an Artifact
    Delete(delete::Args),
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::Get(args) => get::run(context, args).await,
        Command::Delete(args) => delete::run(context, args).await,
    }
}
