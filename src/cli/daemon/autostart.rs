//! Starting a daemon in the background, when an accepted input needs one.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::lock::{self, Held, Note};
use crate::cli::Context;
use crate::cli::compose::{self, Places};
use crate::cli::config::private_file;
use crate::cli::out::{CliError, codes};

/// A daemon that starts with a longer log begins a new one.
const LOG_MAX_BYTES: u64 = 4 << 20;

/// Makes sure that a daemon will work on what was just accepted. A failure is said and is not the command's: the input is safe.
pub async fn ensure(context: &mut Context, places: &Places) {
    if context.settings.read_only {
        return;
    }
    if context.settings.aws.is_some()
        && let Some(note) = super::running(places)
        && !super::serves(&context.settings, &note)
    {
        context.console.say.note(super::serves_elsewhere(&note));
        context.console.say.hint(super::ANOTHER);
        return;
    }
    if !context.settings.daemon.autostart {
        if super::running(places).is_none() {
            context.console.say.note(match context.settings.aws {
                None => "no daemon runs, so nothing works on it yet",
                Some(_) => "no daemon runs here, so nothing works on it unless one runs elsewhere",
            });
            context.console.say.hint("rat-things daemon start");
        }
        return;
    }
    let started = match lock::take(places) {
        Ok(Some(held)) => start(context, places, held),
        Ok(None) => replace_other_version(context, places).await,
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
    match lock::take(places).map_err(cannot)? {
        Some(held) => start(context, places, held),
        None => Ok(()),
    }
}

/// Starts a daemon in the background, which holds the lock from its first moment.
pub(super) fn start(context: &Context, places: &Places, held: Held) -> Result<(), CliError> {
    let log = log_file(places).map_err(cannot)?;
    let mut args = profile_args(context);
    args.extend(["daemon", "run", "--background"].map(str::to_owned));
    // This very program, even if its file has been replaced since.
    let child = Command::new("/proc/self/exe")
        .arg0("rat-things")
        .args(args)
        .current_dir("/")
        // Ctrl-C here is not meant for the daemon.
        .process_group(0)
        .stdin(held.for_child().map_err(cannot)?)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(cannot)?;
    // It will say so itself; until then this is how it is found.
    if let Some(identity) = compose::identity_of(child.id()) {
        let note = Note {
            identity,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_ms: compose::now_ms(),
            listen: None,
            endpoint_url: super::told_endpoint(&context.settings),
            tls: false,
        };
        let _ = lock::write_note(places, &note);
    }
    Ok(())
}

/// The daemons' log. One that has become large is put aside, once.
fn log_file(places: &Places) -> std::io::Result<std::fs::File> {
    let path = places.logs().join("daemon.log");
    let large = std::fs::metadata(&path).is_ok_and(|meta| meta.len() > LOG_MAX_BYTES);
    if large {
        std::fs::rename(&path, path.with_extension("log.1"))?;
    }
    private_file(&path)
}

fn cannot(error: std::io::Error) -> CliError {
    CliError::new(codes::UNAVAILABLE, error.to_string())
}

/// The arguments that make this program use the same profile, data directory and endpoint, whatever the configuration chooses by then.
pub(super) fn profile_args(context: &Context) -> Vec<String> {
    let settings = &context.settings;
    let mut args = vec![
        "--data-dir".to_owned(),
        settings.data_dir.value.display().to_string(),
        "--profile".to_owned(),
        settings.profile.value.clone(),
    ];
    if let Some(url) = super::told_endpoint(settings) {
        args.extend(["--endpoint-url".to_owned(), url]);
    }
    args
}
