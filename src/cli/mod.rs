//! The command line: one file per command, writers for data and talk, and the place that names concrete backends.

pub mod compose;
pub mod config;
pub mod daemon;
pub mod failure;
pub mod follow;
pub mod out;
pub mod resolve;
pub mod sessions;
pub mod show;
pub mod worker;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::config::{ConfigArgs, Settings, UiSettings, Vars};
use self::out::{CliError, Console, OutputArgs, codes};

/// Run durable AI-agent Sessions on infrastructure you own.
///
/// An accepted input is on disk before this program answers. Kill anything at any moment: the same Turn goes on, and no command
/// that completed runs again.
#[derive(Debug, Parser)]
#[command(
    name = "rat-things",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
#[allow(
    clippy::large_enum_variant,
    reason = "parsed once in the life of the process"
)]
pub enum Command {
    /// Create Sessions, talk to them, and see what they did
    #[command(subcommand)]
    Sessions(sessions::Command),
    /// The background process that gives work to workers
    #[command(subcommand)]
    Daemon(daemon::Command),
    /// A worker of a daemon; speaks with it over its standard streams
    #[command(hide = true)]
    Worker,
}

/// What every command works with.
pub struct Context {
    /// The decided configuration.
    pub settings: Settings,
    /// The standard streams.
    pub console: Console,
    /// The environment.
    pub vars: Vars,
}

/// The whole program.
pub fn main() -> ExitCode {
    compose::start_process();
    if let Some(code) = compose::hidden() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // clap prints help to standard output and mistakes to standard error, and knows its exit codes (0 and 2).
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let vars = Vars::process();
    let now_ms = compose::now_ms();
    let settings = match Settings::load(&vars, &cli.config.overrides(cli.output.color)) {
        Ok(settings) => settings,
        Err(error) => {
            let ui = UiSettings::default();
            return Console::open(&cli.output, &ui, &vars, now_ms).end(Err(error));
        }
    };
    start_log(&cli, &vars);
    let console = Console::open(&cli.output, &settings.ui, &vars, now_ms);
    let mut context = Context {
        settings,
        console,
        vars,
    };
    let result = run(&mut context, cli.command);
    context.console.end(result)
}

fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    // A command that only asks needs one thread; what works for others needs all.
    let busy = matches!(
        command,
        Command::Worker | Command::Daemon(daemon::Command::Run(_))
    );
    let mut runtime = match busy {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build().map_err(|error| {
        CliError::new(
            codes::UNAVAILABLE,
            format!("cannot start the runtime: {error}"),
        )
    })?;
    let result = runtime.block_on(async {
        match command {
            Command::Sessions(command) => sessions::run(context, command).await,
            Command::Daemon(command) => daemon::run(context, command).await,
            Command::Worker => worker::run(context).await,
        }
    });
    // A read of standard input can't be cancelled; the process ends without it.
    runtime.shutdown_background();
    result
}

/// The log goes to standard error: `-vv`, or `RAT_THINGS_LOG` with a filter.
fn start_log(cli: &Cli, vars: &Vars) {
    let background = matches!(
        cli.command,
        Command::Worker | Command::Daemon(daemon::Command::Run(_))
    );
    let filter = match vars.text("RAT_THINGS_LOG") {
        Some(filter) => filter,
        None if cli.output.verbose >= 2 => "rat_things=debug".to_owned(),
        None if background => "rat_things=info".to_owned(),
        None => return,
    };
    let _ = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        // A log that can't be written must not end the process that writes it.
        .log_internal_errors(false)
        .try_init();
}
