//! `sessions get`

use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::CliError;
use crate::cli::resolve;

/// Show one Session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions get sess_7f
  rat-things sessions get sess_7f -o json")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let of = compose::deployment(&context.settings).await?;
    let session = resolve::session(&*of, &args.session).await?;
    let resource = of.session(&session).await?;
    super::create::print(context, &resource)
}
