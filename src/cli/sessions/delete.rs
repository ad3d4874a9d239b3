//! `sessions delete`

use crate::api::AgentSessionDeleted;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::daemon;
use crate::cli::out::{Cell, CliError, Details};

/// Delete a Session, its files and its environment.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions delete sess_7f
  rat-things sessions delete sess_7f --yes")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("sessions delete")?;
    let local = compose::open(&context.settings).await?;
    let read = local.read(&args.session).await?;
    let what = match &read.head.turn {
        Some(_) => {
            "This ends the session's active turn and deletes its transcript, artifacts and workspace"
        }
        None => "This deletes the session's transcript, artifacts and workspace",
    };
    context.console.prompts(args.yes).confirm_typed(
        &context.console.say,
        what,
        read.id.as_str(),
    )?;
    local.core.delete_session(&local.owner, &read.id).await?;
    // The erasing is work like any other.
    daemon::ensure(context, &local.places).await;
    let deleted = AgentSessionDeleted::of(read.id.as_str());
    context.console.out.one(&deleted, read.id.as_str(), || {
        Details::new().value("deleted", Cell::text(read.id.as_str()))
    })
}
