//! `sessions send`

use crate::api::{Became, Delivery, InputEvent, InputMessage, MessageInput, NothingToDo, Receipt};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::follow::From;
use crate::cli::input;
use crate::cli::key::{KeyArgs, SubmissionKey};
use crate::cli::out::{Cell, CliError, Details};
use crate::cli::resolve;
use crate::engine::ports::{Deployment, Goes, Submitted};

/// Send a message: it starts a Turn, or steers the one that runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions send sess_7f --input 'and now the tests'
  rat-things sessions send sess_7f --queue --input - < next.txt")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// The message; - reads standard input
    #[arg(long, value_name = "TEXT")]
    input: String,
    /// Start the next Turn instead of steering the one that runs
    #[arg(long)]
    queue: bool,
    #[command(flatten)]
    key: KeyArgs,
    /// Follow the Turn to its end [default: on a terminal]
    #[arg(long, overrides_with = "no_wait")]
    wait: bool,
    /// Answer as soon as the message is accepted [default: off a terminal]
    #[arg(long)]
    no_wait: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("sessions send")?;
    let text = input::text(&args.input, "--input")?;
    let event = InputEvent::Message(MessageInput {
        input: vec![InputMessage::text(text)],
        delivery: args.queue.then_some(Delivery::NextTurn),
    });
    let of = compose::deployment(&context.settings).await?;
    let session = resolve::session(&*of, &args.session).await?;
    let submitted = submit(&*of, &session, &args.key.take(), event).await?;
    of.ensure_daemon(context).await;
    let wait = args.wait || (!args.no_wait && context.console.terminal.stdout.tty);
    let from = match submitted.goes {
        Goes::To(turn) => From::Turn(turn),
        Goes::Behind(turn) => From::Behind(turn),
        Goes::Nowhere => return print_receipt(context, &submitted.receipt),
    };
    if !wait {
        return print_receipt(context, &submitted.receipt);
    }
    if context.console.out.format().is_for_people() {
        for outcome in &submitted.receipt.outcomes {
            context.console.say.note(in_words(outcome));
        }
    }
    super::create::finish(context, &*of, &session, from).await
}

/// Sends one event under its key.
pub(super) async fn submit(
    of: &dyn Deployment,
    session: &str,
    key: &SubmissionKey,
    event: InputEvent,
) -> Result<Submitted, CliError> {
    let sent = of.send(session, key.as_str(), &[event]).await;
    sent.map_err(|error| key.explain(error))
}

/// What became of an input, in words.
pub(super) fn in_words(outcome: &Became) -> String {
    match outcome {
        Became::Started { turn_id } => format!("starts {turn_id}"),
        Became::Steered { turn_id } => format!("goes to the active {turn_id}"),
        Became::Queued { turn_id, position } => format!("queued as {turn_id}, behind {position}"),
        Became::Cancelled { turn_id } => format!("cancelled {turn_id}"),
        Became::Cancelling { turn_id } => format!("cancelling {turn_id}"),
        Became::Answered { turn_id } => format!("answers {turn_id}"),
        Became::Nothing { result, turn_id } => match (result, turn_id) {
            (NothingToDo::NoActiveTurn, _) => "nothing to do: no turn is active".to_owned(),
            (NothingToDo::AlreadyFinished, _) => "nothing to do: that turn is over".to_owned(),
            (NothingToDo::AnotherTurnActive, Some(turn_id)) => {
                format!("nothing done: another turn is active, {turn_id}")
            }
            (NothingToDo::AnotherTurnActive, None) => {
                "nothing done: another turn is active".to_owned()
            }
            (NothingToDo::AlreadyAnswered, _) => {
                "nothing to do: the same answer was given before".to_owned()
            }
        },
    }
}

/// The receipt as a document.
pub(super) fn print_receipt(context: &mut Context, receipt: &Receipt) -> Result<(), CliError> {
    let words: Vec<String> = receipt.outcomes.iter().map(in_words).collect();
    let became = match words.is_empty() {
        true => "accepted".to_owned(),
        false => words.join("; "),
    };
    context.console.out.one(receipt, &receipt.id, || {
        Details::new()
            .value("receipt", Cell::text(&receipt.id))
            .value("session", Cell::text(&receipt.session_id))
            .value("became", Cell::text(became))
            .value(
                "repeated",
                Cell::maybe(receipt.repeated, |repeated| {
                    Cell::text(if repeated { "yes" } else { "no" })
                }),
            )
    })
}
