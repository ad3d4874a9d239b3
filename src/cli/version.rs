//! `version`

use serde_json::json;

use super::compose::{self, Places};
use super::config::Settings;
use super::daemon;
use super::out::{Cell, CliError, Console, Details, Role};

/// Print versions: this program, the API it speaks, the daemon that runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things version
  rat-things version -o json")]
pub struct Args {}

/// The version of the Agents API, as its paths have it.
pub const API: &str = "v1";

/// Runs the command. It tells what it can without a configuration.
pub fn run(console: &mut Console, settings: Option<&Settings>) -> Result<(), CliError> {
    let own = env!("CARGO_PKG_VERSION");
    let target = target();
    let daemon = settings.and_then(|settings| {
        let places = Places {
            root: settings.data_dir.value.clone(),
        };
        daemon::running(&places)
    });
    let schema = compose::schema_version();
    let document = json!({
        "version": own,
        "target": target,
        "api": API,
        "schema": schema,
        "daemon": daemon.as_ref().map(|note| &note.version),
    });
    let mismatch = daemon.as_ref().is_some_and(|note| note.version != own);
    console.out.one(&document, own, || {
        Details::new()
            .value("rat-things", Cell::text(own))
            .value("target", Cell::text(target))
            .value("API", Cell::text(API))
            .value("schema", Cell::Count(schema))
            .value(
                "daemon",
                match &daemon {
                    Some(note) if mismatch => Cell::word(&note.version, Role::Warn),
                    Some(note) => Cell::text(&note.version),
                    None => Cell::word("not running", Role::Dim),
                },
            )
    })?;
    if let Some(note) = daemon.filter(|_| mismatch) {
        console.say.warn(format!(
            "the daemon is of version {}; the next command that needs one replaces it",
            note.version
        ));
        console
            .say
            .hint("now: rat-things daemon stop && rat-things daemon start");
    }
    Ok(())
}

/// Machine and system that this program was built for.
pub fn target() -> String {
    let environment = match cfg!(target_env = "musl") {
        true => "-musl",
        false if cfg!(target_env = "gnu") => "-gnu",
        false => "",
    };
    format!(
        "{}-{}{environment}",
        std::env::consts::ARCH,
        std::env::consts::OS
    )
}
