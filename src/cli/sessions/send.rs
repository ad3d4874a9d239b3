//! `sessions send`

use crate::api::{Delivery, InputEvent, InputMessage, MessageInput};
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::daemon;
use crate::cli::input;
use crate::cli::key::{KeyArgs, SubmissionKey};
use crate::cli::out::{Cell, CliError, Details};
use crate::engine::accept::Accepted;
use crate::engine::ids::SessionId;
use crate::engine::receipt::Outcome;
use crate::engine::view::turn_id;

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
    let local = compose::open(&context.settings).await?;
    let session = local.session(&args.session).await?;
    let accepted = submit(&local, &session, &args.key.take(), event).await?;
    daemon::ensure(context, &local.places).await;
    let wait = args.wait || (!args.no_wait && context.console.terminal.stdout.tty);
    match turn_of(&accepted) {
        Some(turn) if wait && context.console.out.format().is_for_people() => {
            say_outcomes(context, &session, &accepted);
            super::create::finish(context, &local, &session, true, turn).await
        }
        Some(turn) if wait => super::create::finish(context, &local, &session, true, turn).await,
        _ => print_receipt(context, &session, &accepted),
    }
}

/// Sends one event under its key.
pub(super) async fn submit(
    local: &Local,
    session: &SessionId,
    key: &SubmissionKey,
    event: InputEvent,
) -> Result<Accepted, CliError> {
    let sent = local
        .core
        .send(&local.owner, session, key.as_str(), &[event])
        .await;
    sent.map_err(|error| key.explain(error))
}

fn turn_of(accepted: &Accepted) -> Option<u64> {
    accepted
        .receipt
        .outcomes
        .iter()
        .find_map(|outcome| match outcome {
            Outcome::Started { turn }
            | Outcome::Steered { turn }
            | Outcome::Queued { turn, .. } => Some(*turn),
            Outcome::Cancelled { turn }
            | Outcome::Cancelling { turn }
            | Outcome::Answered { turn } => Some(*turn),
            Outcome::Nothing { .. } => None,
        })
}

fn say_outcomes(context: &Context, session: &SessionId, accepted: &Accepted) {
    for outcome in &accepted.receipt.outcomes {
        context.console.say.note(in_words(session, outcome));
    }
}

/// What became of an input, in words.
pub(super) fn in_words(session: &SessionId, outcome: &Outcome) -> String {
    use crate::engine::input::NoOp;
    match outcome {
        Outcome::Started { turn } => format!("starts {}", turn_id(session, *turn)),
        Outcome::Steered { turn } => format!("goes to the active {}", turn_id(session, *turn)),
        Outcome::Queued { turn, position } => {
            format!("queued as {}, behind {position}", turn_id(session, *turn))
        }
        Outcome::Cancelled { turn } => format!("cancelled {}", turn_id(session, *turn)),
        Outcome::Cancelling { turn } => format!("cancelling {}", turn_id(session, *turn)),
        Outcome::Answered { turn } => format!("answers {}", turn_id(session, *turn)),
        Outcome::Nothing { result, turn } => match (result, turn) {
            (NoOp::NoActiveTurn, _) => "nothing to do: no turn is active".to_owned(),
            (NoOp::AlreadyFinished, _) => "nothing to do: that turn is over".to_owned(),
            (NoOp::AnotherTurnActive, Some(turn)) => {
                format!(
                    "nothing done: another turn is active, {}",
                    turn_id(session, *turn)
                )
            }
            (NoOp::AnotherTurnActive, None) => "nothing done: another turn is active".to_owned(),
            (NoOp::AlreadyAnswered, _) => {
                "nothing to do: the same answer was given before".to_owned()
            }
        },
    }
}

/// The receipt as a document.
pub(super) fn print_receipt(
    context: &mut Context,
    session: &SessionId,
    accepted: &Accepted,
) -> Result<(), CliError> {
    let outcomes: Vec<serde_json::Value> = accepted
        .receipt
        .outcomes
        .iter()
        .map(|outcome| {
            let mut value = serde_json::to_value(outcome).unwrap_or_default();
            if let Some(turn) = value.get("turn").and_then(serde_json::Value::as_u64) {
                value["turn_id"] = turn_id(session, turn).into();
            }
            if let Some(object) = value.as_object_mut() {
                object.remove("turn");
            }
            value
        })
        .collect();
    let document = serde_json::json!({
        "id": accepted.receipt_id,
        "object": "rat_things.receipt",
        "session_id": session.as_str(),
        "accepted_at": accepted.receipt.accepted_ms / 1000,
        "digest": accepted.receipt.digest,
        "repeated": accepted.repeated,
        "outcomes": outcomes,
    });
    let words: Vec<String> = accepted
        .receipt
        .outcomes
        .iter()
        .map(|o| in_words(session, o))
        .collect();
    context
        .console
        .out
        .one(&document, &accepted.receipt_id, || {
            Details::new()
                .value("receipt", Cell::text(&accepted.receipt_id))
                .value("session", Cell::text(session.as_str()))
                .value("became", Cell::text(words.join("; ")))
                .value(
                    "repeated",
                    Cell::text(if accepted.repeated { "yes" } else { "no" }),
                )
        })
}
