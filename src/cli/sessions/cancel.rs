//! `sessions cancel`

use std::time::Duration;

use crate::api::{CancelInput, InputEvent};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::daemon;
use crate::cli::follow::Until;
use crate::cli::out::{CliError, codes};
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
    /// The same key is the same cancel [default: a random key]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
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
    let accepted = super::send::submit(&local, &read.id, args.idempotency_key, event).await?;
    let outcome = accepted.receipt.outcomes.first().cloned();
    if let Some(Outcome::Cancelling { turn }) = outcome {
        daemon::ensure(context, &local.places).await;
        if !args.no_wait {
            let progress = context.console.say.progress("cancelling");
            let over =
                super::wait::until_over(&local, &read.id, Until::Turn(turn), Some(PATIENCE)).await;
            drop(progress);
            if over.is_err() {
                super::send::print_receipt(context, &read.id, &accepted)?;
                let message = "the turn has not ended yet; it is being cancelled";
                return Err(CliError::new(codes::UNKNOWN_OUTCOME, message)
                    .hint(format!("rat-things sessions explain {}", read.id)));
            }
            let (turn, _) = local.core.get_turn(&read, turn).await?;
            use crate::api::Words;
            context
                .console
                .say
                .note(format!("{} is {}", turn.id, turn.status.as_str()));
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
