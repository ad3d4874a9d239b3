//! `sessions delete`

use crate::api::{AgentSession, AgentSessionDeleted, SessionStatus};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::{Cell, CliError, Details, Kind};
use crate::cli::resolve;
use crate::engine::ports::Deployment;

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
    let of = compose::deployment(&context.settings).await?;
    let session = match found(&*of, &args.session).await {
        Ok(session) => session,
        Err(error) if error.kind == Kind::NotFound => {
            return give_up_import(context, &*of, &args, error).await;
        }
        Err(error) => return Err(error),
    };
    let what = match session.status {
        SessionStatus::InProgress | SessionStatus::RequiresAction => {
            "This ends the session's active turn and deletes its transcript, artifacts and workspace"
        }
        _ => "This deletes the session's transcript, artifacts and workspace",
    };
    context
        .console
        .prompts(args.yes)
        .confirm_typed(&context.console.say, what, &session.id)?;
    of.delete_session(&session.id).await?;
    // The erasing is work like any other.
    of.ensure_daemon(context).await;
    report(context, &session.id)
}

async fn found(of: &dyn Deployment, typed: &str) -> Result<AgentSession, CliError> {
    let id = resolve::session(of, typed).await?;
    Ok(of.session(&id).await?)
}

/// A Session that is half imported is found under its whole id, and by nobody but who imports it.
async fn give_up_import(
    context: &mut Context,
    of: &dyn Deployment,
    args: &Args,
    not_found: CliError,
) -> Result<(), CliError> {
    let session = args.session.as_str();
    if !of.imports(session).await? {
        return Err(not_found);
    }
    context.console.prompts(args.yes).confirm_typed(
        &context.console.say,
        "This gives up the import of the session; its archive stays as it is",
        session,
    )?;
    match of.abandon_import(session).await? {
        true => report(context, session),
        false => Err(not_found),
    }
}

fn report(context: &mut Context, session: &str) -> Result<(), CliError> {
    let deleted = AgentSessionDeleted::of(session);
    context.console.out.one(&deleted, session, || {
        Details::new().value("deleted", Cell::text(session))
    })
}
