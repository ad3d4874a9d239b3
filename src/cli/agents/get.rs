//! `agents get`

use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::CliError;
use crate::cli::resolve;

/// Show one saved Agent.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things agents get agent_5m
  rat-things agents get agent_5m -o json")]
pub struct Args {
    /// The Agent: its id, or the beginning of it
    agent: String,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let of = compose::deployment(&context.settings).await?;
    let id = resolve::agent(&*of, &args.agent).await?;
    let agent = of.agent(&id).await?;
    super::print(context, &agent)
}
