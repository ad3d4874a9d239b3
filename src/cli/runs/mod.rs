//! `rat-things runs …`: launches of workers for Sessions. Private to this program: no part of the Agents API.

mod find;
mod list;
mod machines;
mod release;
mod show;
mod stop;
mod view;

use clap::Subcommand;

use super::Context;
use super::out::CliError;

/// `rat-things runs …`
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List a Session's Runs, those that are active anywhere, or machines
    List(list::Args),
    /// Show one Run
    #[command(visible_alias = "get")]
    Show(show::Args),
    /// End a quarantine: you vouch that the Run's worker is gone
    Release(release::Args),
    /// Fence every Run and end every worker and machine
    Stop(stop::Args),
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(context, args).await,
        Command::Show(args) => show::run(context, args).await,
        Command::Release(args) => release::run(context, args).await,
        Command::Stop(args) => stop::run(context, args).await,
    }
}
