//! `environments expire`

use super::view;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::daemon;
use crate::cli::out::{CliError, codes};
use crate::engine::session::WORDS_BYTES;

/// The reason where none is given.
const NO_REASON: &str = "its operator ended it";
/// Bytes of a reason: what is kept of it.
const REASON_BYTES: usize = WORDS_BYTES;

/// End an environment for good: its processes and its machine end, its workspace is erased, and its Session takes no more messages.
/// Transcript and Artifacts stay.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things environments expire env_7f --reason 'the project is over'
  rat-things environments expire sess_7f --yes")]
pub struct Args {
    /// The environment: its id, or the beginning of it; a Session means its environment
    environment: String,
    /// Why, for whoever reads the Session later
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("environments expire")?;
    let reason = reason(args.reason.as_deref())?;
    let local = compose::open(&context.settings).await?;
    let session = local.session_of_environment(&args.environment).await?;
    let read = local.core.read_session(&local.owner, &session).await?;
    let (head, environment) = (&read.head, &read.config.environment);
    if let (None, Some(environment)) = (&head.expiry, environment) {
        let what = match head.turn {
            Some(_) => {
                "This fails the session's open turns, erases its workspace, and lets it take no more messages"
            }
            None => "This erases the session's workspace, and lets it take no more messages",
        };
        let say = &context.console.say;
        let mut prompts = context.console.prompts(args.yes);
        prompts.confirm_typed(say, what, &environment.id)?;
    }
    let expired = local
        .core
        .expire_environment(&local.owner, &session, reason);
    if expired.await?.already {
        let note = "it had expired before; nothing was changed";
        context.console.say.note(note);
    }
    // The rest is work like any other.
    daemon::ensure(context, &local.places).await;
    view::print(context, &local, &session).await
}

fn reason(given: Option<&str>) -> Result<&str, CliError> {
    let reason = given.unwrap_or(NO_REASON).trim();
    let refused = |what: &str| CliError::new(codes::INPUT, format!("--reason {what}"));
    match reason.len() {
        0 => Err(refused("is empty")),
        1..=REASON_BYTES => Ok(reason),
        _ => Err(refused(&format!("is longer than {REASON_BYTES} bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_some_words() {
        assert_eq!(reason(None).ok(), Some(NO_REASON));
        assert_eq!(reason(Some(" over ")).ok(), Some("over"));
        let long = "x".repeat(REASON_BYTES + 1);
        for wrong in ["", "  ", long.as_str()] {
            assert!(reason(Some(wrong)).is_err_and(|error| error.message.starts_with("--reason")));
        }
    }
}
