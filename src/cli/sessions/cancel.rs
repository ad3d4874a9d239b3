//! `sessions cancel`

use std::time::Duration;

use crate::api::{CancelInput, InputEvent, Words};
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::daemon;
use crate::cli::follow::Until;
use crate::cli::key::KeyArgs;
use crate::cli::out::{CliError, Kind, codes};
use crate::cli::runs::process_of;
use crate::engine::read::SessionRead;
use crate::engine::receipt::Outcome;

/// How long a cancel waits for the Turn's end before it says that it still goes on.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stop the active Turn, or the one that is named.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions cancel sess_7f
  rat-things sessions cancel sess_7f --turn turn_3k")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// Only this Turn: its id, or the beginning of it
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
    #[command(flatten)]
    key: KeyArgs,
    /// Answer as soon as the cancel is accepted
    #[arg(long)]
    no_wait: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("sessions cancel")?;
    let local = compose::open(&context.settings).await?;
    let read = local.read(&args.session).await?;
    let turn_id = match &args.turn {
        Some(typed) => {
            let number = local.turn(&read, typed).await?;
            Some(crate::engine::view::turn_id(&read.id, number))
        }
        None => None,
    };
    let event = InputEvent::Cancel(CancelInput { turn_id });
    let accepted = super::send::submit(&local, &read.id, &args.key.take(), event).await?;
    let outcome = accepted.receipt.outcomes.first().cloned();
    if let Some(Outcome::Cancelling { turn }) = outcome {
        daemon::ensure(context, &local.places).await;
        if !args.no_wait {
            let ended = wait_for_end(context, &local, &read, turn).await;
            if ended.is_err() {
                super::send::print_receipt(context, &read.id, &accepted)?;
            }
            ended?;
        }
    }
    super::send::print_receipt(context, &read.id, &accepted)?;
    match outcome {
        Some(Outcome::Nothing {
            result: crate::engine::input::NoOp::AnotherTurnActive,
            ..
        }) => Err(CliError::new(
            codes::CONFLICT,
            "another turn than the named one is active; nothing was done",
        )),
        _ => Ok(()),
    }
}

/// A cancel is reported done only when its Turn has ended.
async fn wait_for_end(
    context: &Context,
    local: &Local,
    read: &SessionRead,
    turn: u64,
) -> Result<(), CliError> {
    let unknown = |message: &str| {
        CliError::new(codes::UNKNOWN_OUTCOME, message)
            .hint(format!("rat-things sessions explain {}", read.id))
    };
    let say = &context.console.say;
    // With neither a daemon nor a worker there is nobody to wait for.
    let worker = read
        .head
        .fence
        .lease
        .as_ref()
        .and_then(|lease| compose::is_alive(process_of(&lease.execution.0)));
    if worker != Some(true) && daemon::running(&local.places).is_none() {
        return Err(unknown(
            "the cancel is accepted; the turn ends when a daemon runs again",
        ));
    }
    let progress = say.progress("cancelling");
    let over = super::wait::until_over(local, &read.id, Until::Turn(turn), Some(PATIENCE)).await;
    drop(progress);
    match over {
        Ok(_) => {}
        Err(error) if error.kind == Kind::Timeout => {
            return Err(unknown(
                "the cancel is accepted; the turn has not ended yet",
            ));
        }
        Err(error) => return Err(error),
    }
    let (turn, _) = local.core.get_turn(read, turn).await?;
    say.note(format!("{} is {}", turn.id, turn.status.as_str()));
    Ok(())
}
