//! `environments get`

use super::view;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::CliError;

/// Show one environment: its state as it was last told, and what was put there.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things environments get env_7f
  rat-things environments get sess_7f -o json")]
pub struct Args {
    /// The environment: its id, or the beginning of it; a Session means its environment
    environment: String,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let session = local.session_of_environment(&args.environment).await?;
    view::print(context, &local, &session).await
}
