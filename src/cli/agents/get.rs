//! `agents get`

use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::CliError;

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
    let local = compose::open(&context.settings).await?;
    let id = local.agent(&args.agent).await?;
    let (_, agent) = local.core.agent(&local.owner, &id).await?;
    super::print(context, &agent)
}
