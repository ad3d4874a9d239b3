//! Starting a daemon in the background, when an accepted input needs one.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::lock;
use crate::cli::Context;
use crate::cli::compose::{self, Places};
use crate::cli::config::{Origin, private_file};
use crate::cli::out::{CliError, codes};

/// Makes sure that a daemon will work on what was just accepted. A failure is said and is not the command's: the input is safe.
pub async fn ensure(context: &mut Context, places: &Places) {
    if !context.settings.daemon.autostart {
        if !lock::is_held(places).unwrap_or(true) {
            context
                .console
                .say
                .note("accepted; no daemon runs, so nothing works on it yet");
            context.console.say.hint("rat-things daemon start");
        }
        return;
    }
    let started = match lock::is_held(places) {
        Ok(true) => replace_other_version(context, places).await,
        Ok(false) => start(context, places),
        Err(error) => Err(cannot(error)),
    };
    if let Err(error) = started {
        context
            .console
            .say
            .warn(format!("accepted, but no daemon could be started: {error}"));
        context.console.say.hint("rat-things daemon run");
    }
}

/// After an upgrade the old daemon hands over: it gives its leases back, and one of this version goes on.
async fn replace_other_version(context: &mut Context, places: &Places) -> Result<(), CliError> {
    let Some(note) = lock::read_note(places) else {
        return Ok(());
    };
    let own = env!("CARGO_PKG_VERSION");
    if note.version == own || compose::is_alive(&note.identity) != Some(true) {
        return Ok(());
    }
    let version = &note.version;
    context.console.say.note(format!(
        "the daemon is of version {version}, this is {own}: it is replaced"
    ));
    let grace = Duration::from_millis(context.settings.daemon.grace_ms + 10_000);
    compose::end_process(&note.identity, grace).await;
    start(context, places)
}

/// Starts a daemon in the background.
pub(super) fn start(context: &Context, places: &Places) -> Result<(), CliError> {
    let log = private_file(&places.logs().join("daemon.log")).map_err(cannot)?;
    let mut args = profile_args(context);
    args.extend(["daemon", "run", "--background"].map(str::to_owned));
    // This very program, even if its file has been replaced since.
    let spawned = Command::new("/proc/self/exe")
        .args(args)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn();
    spawned.map(drop).map_err(cannot)
}

fn cannot(error: std::io::Error) -> CliError {
    CliError::new(codes::UNAVAILABLE, error.to_string())
}

/// The arguments that make this program use the same profile and data directory.
pub(super) fn profile_args(context: &Context) -> Vec<String> {
    let settings = &context.settings;
    let mut args = vec![
        "--data-dir".to_owned(),
        settings.data_dir.value.display().to_string(),
    ];
    if settings.profile.origin != Origin::Default {
        args.extend(["--profile".to_owned(), settings.profile.value.clone()]);
    }
    args
}
