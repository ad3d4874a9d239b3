//! `sessions import`

use std::path::PathBuf;

use serde_json::json;

use super::export::step;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::daemon;
use crate::cli::out::{Cell, CliError, Details};
use crate::engine::archive::Imported;
use crate::engine::view::turn_id;

/// Import a Session that was exported, from this or another store. It keeps its ids and becomes yours; a Turn that was going on is
/// interrupted and goes on here.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions import backup.tar.zst
  rat-things sessions import backup.tar.zst -o json

It is checked to its end before anything is written. If it is broken off after that, the same command goes on where it stopped; \
`rat-things sessions delete SESSION` gives it up.")]
pub struct Args {
    /// The archive
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("sessions import")?;
    let local = compose::open(&context.settings).await?;
    let mut first = compose::archive_source(&args.file)?;
    let mut again = compose::archive_source(&args.file)?;
    let progress = context.console.say.progress("checking");
    let imported = local
        .core
        .import_session(
            &local.owner,
            &mut *first,
            &mut *again,
            &|done_bytes, whole_bytes| progress.step(step(done_bytes, whole_bytes)),
        )
        .await;
    drop(progress);
    let imported = imported?;
    if imported.owes_work {
        daemon::ensure(context, &local.places).await;
    }
    report(context, &imported)
}

fn report(context: &mut Context, imported: &Imported) -> Result<(), CliError> {
    let session = imported.session.as_str();
    let turn = imported.turn.map(|turn| turn_id(&imported.session, turn));
    let document = json!({
        "id": session,
        "revision": imported.revision,
        "rows": imported.rows,
        "blobs": imported.blobs,
        "content_bytes": imported.content_bytes,
        "active_turn_id": turn,
        "resumed": imported.resumed,
    });
    context.console.out.one(&document, session, || {
        let resumed = if imported.resumed { "yes" } else { "no" };
        Details::new()
            .value("imported", Cell::text(session))
            .value("revision", Cell::Count(imported.revision))
            .value("rows", Cell::Count(imported.rows))
            .value("blobs", Cell::Count(imported.blobs))
            .value("content", Cell::Size(imported.content_bytes))
            .value("active turn", Cell::maybe(turn.as_deref(), Cell::text))
            .value("resumed", Cell::text(resumed))
    })
}
