//! `runs show`

use super::find;
use super::view::details;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::CliError;
use crate::engine::ports::RunPhase;

/// Show one Run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things runs show run_6c
  rat-things runs show sess_7f -o json")]
pub struct Args {
    /// The Run: its id, or the beginning of it; a Session means its latest Run
    run: String,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let run = find::run(&local, &args.run).await?;
    context.console.out.one(&run, &run.id, || details(&run))?;
    if run.state == RunPhase::Quarantined {
        let release = format!("rat-things runs release {}", run.id);
        context.console.say.hint(release);
    }
    Ok(())
}
