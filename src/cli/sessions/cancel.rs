//! `sessions cancel`

use std::time::Duration;

use crate::api::{Became, CancelInput, InputEvent, NothingToDo, Words};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::deployed::Deployed;
use crate::cli::follow::{From, Until};
use crate::cli::key::KeyArgs;
use crate::cli::out::{CliError, Kind, codes};
use crate::cli::resolve;
use crate::engine::ports::Goes;

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
    let of = compose::deployment(&context.settings).await?;
    let session = resolve::session(&*of, &args.session).await?;
    of.session(&session).await?;
    let turn_id = match &args.turn {
        Some(typed) => Some(resolve::turn(&*of, &session, typed).await?),
        None => None,
    };
    let event = InputEvent::Cancel(CancelInput { turn_id });
    let submitted = super::send::submit(&*of, &session, &args.key.take(), event).await?;
    let outcome = submitted.receipt.outcomes.first();
    // Where nothing is told, it is the Turn that was active.
    let ending = match (outcome, &submitted.goes) {
        (Some(Became::Cancelling { turn_id }), _) | (None, Goes::To(turn_id)) => Some(turn_id),
        _ => None,
    };
    if let Some(turn) = ending {
        of.ensure_daemon(context).await;
        if !args.no_wait {
            let ended = wait_for_end(context, &of, &session, turn).await;
            if ended.is_err() {
                super::send::print_receipt(context, &submitted.receipt)?;
            }
            ended?;
        }
    }
    super::send::print_receipt(context, &submitted.receipt)?;
    match outcome {
        Some(Became::Nothing {
            result: NothingToDo::AnotherTurnActive,
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
    of: &Deployed,
    session: &str,
    turn: &str,
) -> Result<(), CliError> {
    let unknown =
        |message: &str| CliError::new(codes::UNKNOWN_OUTCOME, message).hint(of.look_into(session));
    let say = &context.console.say;
    // With neither a daemon nor a worker there is nobody to wait for.
    if !of.is_worked_on(&context.settings, session).await? {
        return Err(unknown(
            "the cancel is accepted; the turn ends when a daemon runs again",
        ));
    }
    let progress = say.progress("cancelling");
    let from = From::Turn(turn.to_owned());
    let over = super::wait::until_over(&**of, session, from, Until::OneTurn, Some(PATIENCE)).await;
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
    let turn = of.turn(session, turn).await?.turn;
    say.note(format!("{} is {}", turn.id, turn.status.as_str()));
    Ok(())
}
