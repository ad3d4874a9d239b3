//! `sessions answer`

use crate::api::{FunctionOutput, InputEvent, RequiredAction, ToolResultInput};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::input;
use crate::cli::key::KeyArgs;
use crate::cli::out::{CliError, codes};
use crate::cli::resolve;
use crate::engine::ports::Deployment;

/// Answer a function call that a Turn waits for.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions answer sess_7f --result '{\"ok\":true}'
  rat-things sessions answer sess_7f --call call_2 --error 'no such ticket'")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// The call; may be left out when only one is open
    #[arg(long, value_name = "CALL")]
    call: Option<String>,
    /// What the function returned; - reads standard input
    #[arg(long, value_name = "TEXT", required_unless_present = "error")]
    result: Option<String>,
    /// Why the function failed
    #[arg(long, value_name = "TEXT", conflicts_with = "result")]
    error: Option<String>,
    #[command(flatten)]
    key: KeyArgs,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("sessions answer")?;
    let output = match &args.result {
        Some(given) if given.is_empty() => Some(String::new()),
        Some(given) => Some(input::text(given, "--result")?),
        None => None,
    };
    let of = compose::deployment(&context.settings).await?;
    let session = resolve::session(&*of, &args.session).await?;
    let key = args.key.take();
    let call = args.call.as_deref();
    // With its key, an answer can be given again when the call is long over.
    let earlier = match key.given() {
        true => of.answered_call(&session, key.as_str(), call).await?,
        false => None,
    };
    let (call_id, turn_id) = match earlier {
        Some(answered) => answered,
        None => open_call(&*of, &session, call).await?,
    };
    let event = InputEvent::ToolResult(ToolResultInput {
        call_id,
        success: args.error.is_none(),
        turn_id,
        error: args.error.clone(),
        output: output.map(FunctionOutput::Text),
    });
    let submitted = super::send::submit(&*of, &session, &key, event).await?;
    of.ensure_daemon(context).await;
    super::send::print_receipt(context, &submitted.receipt)
}

/// The call that is meant, with its Turn: of those that are open, the one that is named, or the only one.
async fn open_call(
    of: &dyn Deployment,
    session: &str,
    named: Option<&str>,
) -> Result<(String, String), CliError> {
    let resource = of.session(session).await?;
    let open: Vec<(String, String)> = resource
        .required_actions
        .iter()
        .filter_map(|action| match action {
            RequiredAction::FunctionCall {
                call_id, turn_id, ..
            } => Some((call_id.clone(), turn_id.clone())),
            _ => None,
        })
        .collect();
    let list = || {
        open.iter()
            .map(|(call, _)| call.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (named, open.as_slice()) {
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(CliError::new(
            codes::CONFLICT,
            "the session waits for no answer",
        )),
        (None, _) => Err(CliError::new(
            codes::INPUT,
            format!("several calls are open: {}", list()),
        )
        .hint("name one with --call")),
        (Some(call), open) => match open.iter().find(|(id, _)| id == call) {
            Some(found) => Ok(found.clone()),
            None => {
                let message = format!("no open call {call:?}; open: {}", list());
                Err(CliError::new(codes::NOT_FOUND, message))
            }
        },
    }
}
