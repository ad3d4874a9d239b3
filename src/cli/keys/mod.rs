//! `rat-things keys …`: access keys for the HTTP API, one file per verb.

mod create;
mod list;
mod revoke;

use clap::Subcommand;
use serde_json::{Value, json};

use super::Context;
use super::out::{Cell, CliError, Details};
use crate::engine::access::AccessKey;

/// `rat-things keys …`
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a key that opens your Sessions over HTTP; it is shown once
    Create(create::Args),
    /// List keys, without what proves them
    List(list::Args),
    /// Take a key's power away, at once and for good
    Revoke(revoke::Args),
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::Create(args) => create::run(context, args).await,
        Command::List(args) => list::run(context, args).await,
        Command::Revoke(args) => revoke::run(context, args).await,
    }
}

/// A key's record as a document.
fn document(key: &AccessKey) -> Value {
    json!({
        "id": key.id,
        "object": "rat_things.access_key",
        "name": key.name,
        "created_at": key.created_ms / 1000,
        "expires_at": key.expires_ms.map(|ms| ms / 1000),
        "scopes": key.scopes.names(),
        "requests_per_second": key.limits.requests_per_second,
        "max_body_bytes": key.limits.body_bytes,
    })
}

fn details(key: &AccessKey) -> Details {
    Details::new()
        .value("key", Cell::text(&key.id))
        .value("name", Cell::text(&key.name))
        .value("created", Cell::Time(key.created_ms))
        .value("expires", Cell::maybe(key.expires_ms, Cell::Time))
        .value("scopes", scopes(key))
        .value("rate", Cell::maybe(key.limits.requests_per_second, rate))
        .value("max body", Cell::maybe(key.limits.body_bytes, Cell::Size))
}

/// What it may be used for, in one cell.
fn scopes(key: &AccessKey) -> Cell {
    match key.scopes.are_all() {
        true => Cell::text("all"),
        false => Cell::text(key.scopes.names().join(" ")),
    }
}

fn rate(requests_per_second: u32) -> Cell {
    Cell::text(format!("{requests_per_second}/s"))
}
