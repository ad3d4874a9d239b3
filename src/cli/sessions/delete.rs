//! `sessions delete`

use crate::api::AgentSessionDeleted;
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::daemon;
use crate::cli::out::{Cell, CliError, Details, Kind};
use crate::engine::ids::SessionId;

/// Delete a Session, its files and its environment; or give up an import that is not over.
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
    let read = match local.read(&args.session).await {
        Ok(read) => read,
        Err(error) if error.kind == Kind::NotFound => {
            return give_up_import(context, &local, &args, error).await;
        }
        Err(error) => return Err(error),
    };
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
    report(context, read.id.as_str())
}

/// A Session that is half imported is found under its whole id, and by nobody but who imports it.
async fn give_up_import(
    context: &mut Context,
    local: &Local,
    args: &Args,
    not_found: CliError,
) -> Result<(), CliError> {
    let Some(session) = SessionId::parse(&args.session) else {
        return Err(not_found);
    };
    if !local.core.imports(&local.owner, &session).await? {
        return Err(not_found);
    }
    context.console.prompts(args.yes).confirm_typed(
        &context.console.say,
        "This gives up the import of the session; its archive stays as it is",
        session.as_str(),
    )?;
    match local.core.abandon_import(&local.owner, &session).await? {
        true => report(context, session.as_str()),
        false => Err(not_found),
    }
}

fn report(context: &mut Context, session: &str) -> Result<(), CliError> {
    let deleted = AgentSessionDeleted::of(session);
    context.console.out.one(&deleted, session, || {
        Details::new().value("deleted", Cell::text(session))
    })
}
