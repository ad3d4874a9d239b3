//! `artifacts delete`

use crate::api::SessionArtifactDeleted;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::{Cell, CliError, Details};
use crate::cli::resolve;

/// Delete an Artifact. The file in the environment stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things artifacts delete sess_7f artf_2a
  rat-things artifacts delete sess_7f artf_2a --yes")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// The Artifact: its id, or the beginning of it
    artifact: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("artifacts delete")?;
    let of = compose::deployment(&context.settings).await?;
    let session = resolve::session(&*of, &args.session).await?;
    let id = resolve::artifact(&*of, &session, &args.artifact).await?;
    // Asked about before anything is confirmed: what is not there can't be deleted.
    of.artifact(&session, &id).await?;
    context.console.prompts(args.yes).confirm_typed(
        &context.console.say,
        "This deletes the artifact; the file in the environment stays",
        &id,
    )?;
    of.delete_artifact(&session, &id).await?;
    let deleted = SessionArtifactDeleted::of(id.as_str());
    context.console.out.one(&deleted, &id, || {
        Details::new().value("deleted", Cell::text(&id))
    })
}
