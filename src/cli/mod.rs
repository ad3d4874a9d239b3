//! The command line: one file per command, writers for data and talk, and the place that names concrete backends.

pub mod agents;
pub mod artifacts;
mod aws;
mod bytes;
mod command_line;
mod completions;
pub mod compose;
pub mod config;
pub mod daemon;
pub mod deployed;
mod doctor;
mod environments;
pub mod failure;
pub mod follow;
mod fsck;
mod input;
mod key;
mod keys;
mod machine;
mod new_file;
pub mod out;
mod outbox;
mod page;
pub mod resolve;
pub mod runs;
pub mod sessions;
pub mod show;
mod span;
mod topics;
mod tui;
mod version;
pub mod worker;

use std::ffi::OsString;
use std::num::NonZero;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use self::config::{ConfigArgs, Settings, UiSettings, Vars};
use self::out::{CliError, Console, Kind, OutputArgs, codes};

const ABOUT: &str = "Run durable AI-agent Sessions on infrastructure you own.

An accepted input is on disk before this program answers. Kill anything at any moment: the same Turn goes on, and no command that \
completed runs again.";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "rat-things",
    version,
    about = ABOUT,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "Examples:
  rat-things sessions create --input 'what is in /workspace?'
  rat-things sessions list
  rat-things doctor"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
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
    /// Browse Sessions, follow one live, write to its agent
    Tui(tui::Args),
    /// Create Sessions, talk to them, and see what they did
    #[command(subcommand)]
    Sessions(sessions::Command),
    /// Get the files that Sessions made
    #[command(subcommand)]
    Artifacts(artifacts::Command),
    /// Saved Agents: named configurations that Sessions are created from
    #[command(subcommand)]
    Agents(agents::Command),
    /// Where commands of Sessions run: how an environment stands, and how it ends for good
    #[command(subcommand)]
    Environments(environments::Command),
    /// Access keys for the HTTP API
    #[command(subcommand)]
    Keys(keys::Command),
    /// Launches of workers for Sessions, and how to end a quarantine
    #[command(subcommand)]
    Runs(runs::Command),
    /// What is due: the work that Sessions owe
    #[command(subcommand)]
    Outbox(outbox::Command),
    /// The background process that gives work to workers
    #[command(subcommand)]
    Daemon(daemon::Command),
    /// Set up a deployment in an AWS account, look at it, do away with it
    #[command(subcommand)]
    Aws(aws::Command),
    /// Check this machine, the store and the configuration
    Doctor(doctor::Args),
    /// Check every record and every byte that is stored, and repair what is safe to repair
    Fsck(fsck::Args),
    /// The configuration in force, and where each value comes from
    #[command(subcommand)]
    Config(config::Command),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print versions: this program, the API it speaks, the daemon that runs
    Version(version::Args),
    /// Explain a command, an error code, or a topic: exit-codes, environment, formats
    Help(topics::Args),
    /// A worker of a daemon; speaks with it over its standard streams
    #[command(hide = true)]
    Worker,
    /// The worker of a machine that was launched for one Session
    #[command(hide = true)]
    Machine(machine::Args),
}

impl Cli {
    /// The whole command line, as help, completions and parsing see it.
    pub fn grammar() -> clap::Command {
        command_line::examples_first(<Cli as CommandFactory>::command())
    }

    /// Reads a command line; the first word is the program's name.
    ///
    /// # Errors
    /// What clap says instead: help, the version, or a mistake.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let mut grammar = Cli::grammar();
        let matches = grammar.try_get_matches_from_mut(words)?;
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut grammar))
    }
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
    let vars = Vars::process();
    let now_ms = compose::now_ms();
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::read(words.iter().cloned()) {
        Ok(cli) => cli,
        Err(error) => {
            let output = command_line::output_asked_for(&words);
            let console = Console::open(&output, &UiSettings::default(), &vars, now_ms);
            return command_line::answer(console, &error, &words);
        }
    };
    let settings = Settings::load(&vars, &cli.config.overrides(cli.output.color));
    let ui = settings.as_ref().map(|s| s.ui).unwrap_or_default();
    let mut console = Console::open(&cli.output, &ui, &vars, now_ms);
    // What works without a configuration works with one that is wrong.
    let command = match cli.command {
        None if tui::can_be_shown(&console) => Command::Tui(tui::Args::default()),
        None => {
            let result = command_line::print_help(&mut console, &[]);
            return console.end(result);
        }
        Some(Command::Help(args)) => {
            let result = topics::run(&mut console, &args);
            return console.end(result);
        }
        Some(Command::Completions(args)) => {
            let result = completions::run(&mut console, &args);
            return console.end(result);
        }
        Some(Command::Version(_)) => {
            let result = version::run(&mut console, settings.ok().as_ref());
            return console.end(result);
        }
        Some(command) => command,
    };
    // A log on the terminal would be written over the screen.
    if !(matches!(command, Command::Tui(_)) && console.terminal.stderr.tty) {
        start_log(&command, &cli.output, &vars);
    }
    let settings = match (settings, &command) {
        (Ok(settings), _) => settings,
        (Err(error), Command::Doctor(_)) => {
            let result = doctor::only_configuration(&mut console, &error);
            return console.end(result);
        }
        (Err(error), _) => return console.end(Err(error)),
    };
    let mut context = Context {
        settings,
        console,
        vars,
    };
    let result = run(&mut context, command);
    if context.settings.aws.is_some()
        && result.as_ref().is_err_and(|error| error.kind == Kind::Auth)
    {
        compose::forget_callers(&context.settings);
    }
    if cli.output.stats {
        for line in compose::requests_to_aws().unwrap_or_default() {
            context.console.say.note(line);
        }
    }
    context.console.end(result)
}

fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    // A command that only asks needs one thread; what works for others needs all, and so does a screen that never stands still.
    let mut runtime = match works_for_others(&command) || matches!(command, Command::Tui(_)) {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    // One thread may be held by a disk that hangs, so that there are two even on one core.
    let runtime = runtime
        .worker_threads(cores.max(2))
        .enable_all()
        .build()
        .map_err(|error| {
            CliError::new(
                codes::UNAVAILABLE,
                format!("cannot start the runtime: {error}"),
            )
        })?;
    let result = runtime.block_on(async {
        match command {
            Command::Tui(args) => tui::run(context, args).await,
            Command::Sessions(command) => sessions::run(context, command).await,
            Command::Artifacts(command) => artifacts::run(context, command).await,
            Command::Agents(command) => agents::run(context, command).await,
            Command::Environments(command) => environments::run(context, command).await,
            Command::Keys(command) => keys::run(context, command).await,
            Command::Runs(command) => runs::run(context, command).await,
            Command::Outbox(command) => outbox::run(context, command).await,
            Command::Daemon(command) => daemon::run(context, command).await,
            Command::Aws(command) => aws::run(context, command).await,
            Command::Doctor(_) => doctor::run(context).await,
            Command::Fsck(args) => fsck::run(context, &args).await,
            Command::Config(command) => config::run(context, command),
            Command::Worker => worker::run(context).await,
            Command::Machine(args) => machine::run(context, &args).await,
            // Answered before there was a configuration.
            Command::Completions(_) | Command::Version(_) | Command::Help(_) => Ok(()),
        }
    });
    // A read of standard input can't be cancelled; the process ends without it.
    runtime.shutdown_background();
    result
}

fn works_for_others(command: &Command) -> bool {
    matches!(
        command,
        Command::Worker | Command::Machine(_) | Command::Daemon(daemon::Command::Run(_))
    )
}

/// The log goes to standard error: `-vv`, or `RAT_THINGS_LOG` with a filter.
fn start_log(command: &Command, output: &OutputArgs, vars: &Vars) {
    let filter = match vars.text("RAT_THINGS_LOG") {
        Some(filter) => filter,
        None if output.verbose >= 2 => "rat_things=debug".to_owned(),
        None if works_for_others(command) => "rat_things=info".to_owned(),
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
