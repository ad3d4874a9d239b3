//! `keys revoke`

use serde_json::json;

use super::details;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::CliError;

/// Take a key's power away, at once and for good. Streams that it opened end within seconds.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things keys revoke key_5m
  rat-things keys revoke key_5m --yes")]
pub struct Args {
    /// The key: its id (not the key itself), or the beginning of it
    key: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("keys revoke")?;
    let local = compose::open(&context.settings).await?;
    let id = local.access_key(&args.key).await?;
    context.console.prompts(args.yes).confirm_typed(
        &context.console.say,
        "Whoever uses this key is locked out",
        &id,
    )?;
    let key = local.core.revoke_key(&local.owner, &id).await?;
    let document =
        json!({ "id": key.id, "object": "rat_things.access_key.deleted", "deleted": true });
    context
        .console
        .out
        .one(&document, &key.id, || details(&key))
}
