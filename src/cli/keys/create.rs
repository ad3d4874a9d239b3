//! `keys create`

use std::time::Duration;

use super::{details, document};
use crate::cli::Context;
use crate::cli::bytes::bytes;
use crate::cli::compose;
use crate::cli::out::{Cell, CliError};
use crate::cli::span::span;
use crate::engine::access::{KeyLimits, MAX_BODY_BYTES, NewKey};
use crate::engine::scope::{Scope, Scopes};

/// Make a key that opens your Sessions over HTTP. It is shown once; nothing can show it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things keys create --name laptop
  rat-things keys create --name ci --expires 15m -o json
  rat-things keys create --name watcher --scope api.agents.read --rate 5")]
pub struct Args {
    /// What you call it: who uses it, or for what
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: String,
    /// It opens nothing any more after so long: 15m, 12h, 90d [default: never]
    #[arg(long, value_name = "TIME", value_parser = span)]
    expires: Option<Duration>,
    /// What it may be used for; repeat for more: api.agents.read, api.agents.write, api.responses.write, api.vaults.read, api.vaults.write, api.files.read, api.files.write [default: everything]
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scope)]
    scopes: Vec<Scope>,
    /// Requests a second; twice as many may come at once [default: daemon.requests_per_second]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Option<u32>,
    /// Longest body of a request: 4096, 64KiB, 2MiB [default: 16MiB, which is the most]
    #[arg(long, value_name = "SIZE", value_parser = body_bytes)]
    max_body: Option<u64>,
}

fn scope(text: &str) -> Result<Scope, String> {
    Scope::parse(text).ok_or_else(|| {
        let known = Scope::ALL.map(Scope::name).join(", ");
        format!("expected one of {known}")
    })
}

fn body_bytes(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        size @ 1..=MAX_BODY_BYTES => Ok(size),
        _ => Err(format!("expected 1 to {MAX_BODY_BYTES} bytes")),
    }
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
    let new = NewKey {
        name: args.name,
        lifetime_ms,
        scopes: match args.scopes.is_empty() {
            true => Scopes::All,
            false => Scopes::only(args.scopes),
        },
        limits: KeyLimits {
            requests_per_second: args.rate,
            body_bytes: args.max_body,
        },
    };
    let (key, text) = local.core.create_key(&local.owner, new).await?;
    let mut document = document(&key);
    document["key"] = text.as_str().into();
    context.console.out.one(&document, &key.id, || {
        details(&key).value("secret", Cell::text(&text))
    })?;
    let power = match key.scopes.are_all() {
        true => "do over HTTP what you can",
        false => "use your scopes of it over HTTP",
    };
    let note = format!("the key is not shown again; whoever has it can {power}");
    context.console.say.note(note);
    Ok(())
}
