//! `daemon start`, `stop` and `status`.

use std::time::Duration;

use serde_json::json;

use super::{Note, autostart, lock};
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::out::{Cell, CliError, Details, Role, codes};

/// How long a daemon may take to say that it is there.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// Starts a daemon and waits until it holds the data directory.
pub async fn start(context: &mut Context) -> Result<(), CliError> {
    context.settings.may_change("daemon start")?;
    let local = compose::open(&context.settings).await?;
    let Some(held) = lock::take(&local.places).map_err(cannot_look)? else {
        return another_runs(context, &local).await;
    };
    autostart::start(context, &local.places, held)?;
    // It has the lock from its birth. What can go wrong now goes wrong at once.
    let deadline = tokio::time::Instant::now() + START_PATIENCE;
    while !ready(&local) {
        if tokio::time::Instant::now() > deadline || super::running(&local.places).is_none() {
            let log = local.places.logs().join("daemon.log");
            let message = format!("the daemon did not start; its log is {}", log.display());
            return Err(CliError::new(codes::UNAVAILABLE, message));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    status(context).await
}

/// One daemon has a data directory at a time; at another place of AWS it is of no use here.
async fn another_runs(context: &mut Context, local: &Local) -> Result<(), CliError> {
    match super::running(&local.places) {
        Some(note) if !super::serves(&context.settings, &note) => {
            let error = CliError::new(codes::CONFLICT, super::serves_elsewhere(&note));
            Err(error.hint(super::ANOTHER))
        }
        _ => {
            context.console.say.note("a daemon runs already");
            status(context).await
        }
    }
}

/// Whether the daemon listens: its bell hangs beside the lock.
fn ready(local: &Local) -> bool {
    let Some(note) = super::running(&local.places) else {
        return false;
    };
    let pid = note.identity.split(':').nth(1).unwrap_or_default();
    let bell = format!("bell-{pid}-");
    std::fs::read_dir(local.places.run()).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with(&bell))
    })
}

/// Stops the daemon and waits until it is gone.
pub async fn stop(context: &mut Context) -> Result<(), CliError> {
    context.settings.may_change("daemon stop")?;
    let local = compose::open(&context.settings).await?;
    let Some(note) = super::running(&local.places) else {
        context.console.say.note("no daemon runs");
        return Ok(());
    };
    let grace_ms = context.settings.daemon.grace_ms;
    let progress = context
        .console
        .say
        .progress("running turns come to a safe point");
    let ended =
        compose::end_process(&note.identity, Duration::from_millis(grace_ms + 10_000)).await;
    drop(progress);
    if !ended {
        let message = format!("the daemon {} could not be ended", note.identity);
        return Err(CliError::new(codes::UNAVAILABLE, message));
    }
    context
        .console
        .say
        .note("stopped; what was accepted goes on with the next daemon");
    Ok(())
}

/// Shows whether a daemon runs.
pub async fn status(context: &mut Context) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let note = super::running(&local.places);
    let root = local.places.root.display().to_string();
    let log = local.places.logs().join("daemon.log").display().to_string();
    let document = json!({
        "running": note.is_some(),
        "identity": note.as_ref().map(|n| &n.identity),
        "version": note.as_ref().map(|n| &n.version),
        "started_ms": note.as_ref().map(|n| n.started_ms),
        "listen": note.as_ref().and_then(Note::base_url),
        "endpoint_url": note.as_ref().and_then(|n| n.endpoint_url.as_ref()),
        "data_dir": root,
        "log": log,
    });
    let state = match &note {
        Some(_) => Cell::word("running", Role::Good),
        None => Cell::word("not running", Role::Dim),
    };
    let identity = note
        .as_ref()
        .map(|n| n.identity.clone())
        .unwrap_or_default();
    context.console.out.one(&document, &identity, || {
        let details = Details::new()
            .value("daemon", state)
            .value(
                "process",
                Cell::maybe(note.as_ref(), |n| Cell::text(&n.identity)),
            )
            .value(
                "version",
                Cell::maybe(note.as_ref(), |n| Cell::text(&n.version)),
            )
            .value(
                "started",
                Cell::maybe(note.as_ref(), |n| Cell::Time(n.started_ms)),
            )
            .value(
                "serves",
                Cell::maybe(note.as_ref().and_then(Note::base_url), Cell::text),
            )
            .value("data directory", Cell::text(root))
            .value("log", Cell::text(log));
        match note.as_ref().and_then(|n| n.endpoint_url.as_ref()) {
            Some(url) => details.value("AWS at", Cell::text(url)),
            None => details,
        }
    })
}

fn cannot_look(error: std::io::Error) -> CliError {
    let message = format!("cannot look at the daemon's lock: {error}");
    CliError::new(codes::UNAVAILABLE, message)
}
