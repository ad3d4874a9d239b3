//! `runs release`

use super::find;
use super::view::details;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::daemon;
use crate::cli::out::{CliError, codes};
use crate::engine::ids::SessionId;
use crate::engine::ports::RunPhase;

/// End a quarantine: you vouch that the Run's worker is gone, and the Session goes on with another one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things runs release run_6c
  rat-things runs release sess_7f --yes")]
pub struct Args {
    /// The Run: its id, or the beginning of it; a Session means its latest Run
    run: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("runs release")?;
    let local = compose::open(&context.settings).await?;
    let run = find::run(&local, &args.run).await?;
    if run.state != RunPhase::Quarantined {
        let message = format!(
            "{} is not in quarantine; there is nothing to release",
            run.id
        );
        return Err(CliError::new(codes::CONFLICT, message)
            .hint(format!("rat-things sessions explain {}", run.session_id)));
    }
    let what = format!(
        "You vouch that the worker {} of {} is gone. If it still runs, its commands and those of the next worker can meet",
        run.execution, run.session_id
    );
    context
        .console
        .prompts(args.yes)
        .confirm_typed(&context.console.say, &what, &run.id)?;
    let session = SessionId::parse(&run.session_id)
        .ok_or_else(|| CliError::bug(format!("{} is no session id", run.session_id)))?;
    local
        .core
        .release_quarantine(&local.owner, &session)
        .await?;
    daemon::ensure(context, &local.places).await;
    let run = find::run(&local, &run.id).await?;
    context.console.out.one(&run, &run.id, || details(&run))
}
