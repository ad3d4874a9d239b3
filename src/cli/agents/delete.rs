//! `agents delete`

use crate::api::AgentDeleted;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::{Cell, CliError, Details};
use crate::cli::resolve;

/// Forget a saved Agent. Sessions created from it go on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things agents delete agent_5m
  rat-things agents delete agent_5m --yes")]
pub struct Args {
    /// The Agent: its id, or the beginning of it
    agent: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("agents delete")?;
    let of = compose::deployment(&context.settings).await?;
    let id = resolve::agent(&*of, &args.agent).await?;
    // Asked about before anything is confirmed: what is not there can't be deleted.
    of.agent(&id).await?;
    context.console.prompts(args.yes).confirm_typed(
        &context.console.say,
        "This forgets the agent; sessions created from it go on",
        &id,
    )?;
    of.delete_agent(&id).await?;
    let deleted = AgentDeleted::of(id.as_str());
    context.console.out.one(&deleted, &id, || {
        Details::new().value("deleted", Cell::text(&id))
    })
}
