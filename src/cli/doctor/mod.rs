//! `doctor`: is this machine fit, and what has to be done if it is not.

mod aws;
mod check;
mod checks;
mod processes;
mod server;

pub(super) use self::check::{Check, Verdict};
use super::Context;
use super::out::{CliError, Console, codes};

/// Check this machine, the store and the configuration, and say how to mend what is wrong. Exits with 1 if a check fails.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things doctor
  rat-things doctor -o json")]
pub struct Args {}

/// The answer when there is no valid configuration, without which nothing else can be looked at.
pub fn only_configuration(console: &mut Console, error: &CliError) -> Result<(), CliError> {
    conclude(console, &[Check::from_error("configuration", error)])
}

/// Runs the command.
pub async fn run(context: &mut Context) -> Result<(), CliError> {
    let progress = context.console.say.progress("checking");
    let checks = checks::all(context).await;
    drop(progress);
    conclude(&mut context.console, &checks)
}

/// What was found, for who shows it in another way.
pub(super) async fn found(context: &Context) -> Vec<Check> {
    checks::all(context).await
}

fn conclude(console: &mut Console, checks: &[Check]) -> Result<(), CliError> {
    let failed: Vec<&str> = checks
        .iter()
        .filter(|check| check.verdict == Verdict::Failed)
        .map(|check| check.name)
        .collect();
    let document = check::document(checks);
    let id = if failed.is_empty() { "ok" } else { "failed" };
    console.out.one(&document, id, || check::details(checks))?;
    if failed.is_empty() {
        return Ok(());
    }
    // Whoever is not let in has one thing to do before anything else can be looked at.
    let code = match checks.iter().any(|check| check.auth) {
        true => codes::AUTH,
        false => codes::NEGATIVE,
    };
    let message = format!("not in order: {}", failed.join(", "));
    Err(CliError::new(code, message))
}
