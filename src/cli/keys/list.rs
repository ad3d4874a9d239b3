//! `keys list`

use serde_json::json;

use super::{document, scopes};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::{Cell, CliError, Column, Role, Table};

/// List keys, oldest first, without what proves them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things keys list
  rat-things keys list -o json")]
pub struct Args {}

/// Runs the command.
pub async fn run(context: &mut Context, _: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let mut keys = local.core.list_keys(&local.owner).await?;
    keys.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
    let now_ms = compose::now_ms();
    let documents: Vec<_> = keys.iter().map(document).collect();
    let page = json!({
        "object": "list",
        "data": &documents,
        "has_more": false,
        "first_id": keys.first().map(|key| &key.id),
        "last_id": keys.last().map(|key| &key.id),
    });
    context.console.out.list(
        &page,
        &documents,
        |key| key["id"].as_str().unwrap_or_default(),
        || {
            let mut table = Table::new([
                Column::new("KEY"),
                Column::new("NAME").shrinks(1, 10),
                Column::new("STATE"),
                Column::new("CREATED"),
                Column::new("EXPIRES"),
                Column::new("SCOPES").shrinks(2, 10),
            ]);
            for key in &keys {
                table.row([
                    Cell::text(&key.id),
                    Cell::text(&key.name),
                    match key.is_expired(now_ms) {
                        true => Cell::word("expired", Role::Dim),
                        false => Cell::word("active", Role::Good),
                    },
                    Cell::Time(key.created_ms),
                    Cell::maybe(key.expires_ms, Cell::Time),
                    scopes(key),
                ]);
            }
            table
        },
    )?;
    if keys.is_empty() && context.console.out.format().is_for_people() {
        context.console.say.note("no keys");
    }
    Ok(())
}
