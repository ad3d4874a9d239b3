//! `keys create`

use std::time::Duration;

use super::{details, document};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::{Cell, CliError};
use crate::cli::span::span;

/// Make a key that opens your Sessions over HTTP. It is shown once; nothing can show it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things keys create --name laptop
  rat-things keys create --name ci --expires 15m -o json")]
pub struct Args {
    /// What you call it: who uses it, or for what
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: String,
    /// It opens nothing any more after so long: 15m, 12h, 90d [default: never]
    #[arg(long, value_name = "TIME", value_parser = span)]
    expires: Option<Duration>,
}

fn name(text: &str) -> Result<String, String> {
    const CHARS_MAX: usize = 64;
    match text.chars().count() {
        1..=CHARS_MAX => Ok(text.to_owned()),
        n => Err(format!("expected 1 to {CHARS_MAX} characters, not {n}")),
    }
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("keys create")?;
    let local = compose::open(&context.settings).await?;
    let lifetime_ms = args
        .expires
        .map(|expires| u64::try_from(expires.as_millis()).unwrap_or(u64::MAX));
    let (key, text) = local
        .core
        .create_key(&local.owner, &args.name, lifetime_ms)
        .await?;
    let mut document = document(&key);
    document["key"] = text.as_str().into();
    context.console.out.one(&document, &key.id, || {
        details(&key).value("secret", Cell::text(&text))
    })?;
    context
        .console
        .say
        .note("the key is not shown again; whoever has it can do over HTTP what you can");
    Ok(())
}
