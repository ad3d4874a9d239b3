//! `daemon start`, `stop` and `status`.

use std::time::Duration;

use serde_json::json;

use super::{autostart, lock};
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::out::{Cell, CliError, Details, Role, codes};

/// How long a daemon may take to say that it is there.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// Starts a daemon and waits until it holds the data directory.
pub async fn start(context: &mut Context) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    if held(&local)? {
        context.console.say.note("a daemon runs already");
        return status(context).await;
    }
    autostart::start(context, &local.places)?;
    let deadline = tokio::time::Instant::now() + START_PATIENCE;
    while !(held(&local)? && alive(&local).is_some()) {
        if tokio::time::Instant::now() > deadline {
            let log = local.places.logs().join("daemon.log");
            let message = format!("the daemon did not start; its log is {}", log.display());
            return Err(CliError::new(codes::UNAVAILABLE, message));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    status(context).await
}

/// Stops the daemon and waits until it is gone.
pub async fn stop(context: &mut Context) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let Some(note) = alive(&local).filter(|_| held(&local).unwrap_or(true)) else {
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
    let note = alive(&local).filter(|_| held(&local).unwrap_or(false));
    let root = local.places.root.display().to_string();
    let log = local.places.logs().join("daemon.log").display().to_string();
    let document = json!({
        "running": note.is_some(),
        "identity": note.as_ref().map(|n| &n.identity),
        "version": note.as_ref().map(|n| &n.version),
        "started_ms": note.as_ref().map(|n| n.started_ms),
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
        Details::new()
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
            .value("data directory", Cell::text(root))
            .value("log", Cell::text(log))
    })
}

fn held(local: &Local) -> Result<bool, CliError> {
    lock::is_held(&local.places).map_err(|error| {
        CliError::new(
            codes::UNAVAILABLE,
            format!("cannot look at the daemon's lock: {error}"),
        )
    })
}

fn alive(local: &Local) -> Option<lock::Note> {
    lock::read_note(&local.places).filter(|note| compose::is_alive(&note.identity) != Some(false))
}
