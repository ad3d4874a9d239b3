//! `completions`

use clap_complete::Shell;

use super::Cli;
use super::out::{CliError, Console};

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things completions bash > ~/.local/share/bash-completion/completions/rat-things
  rat-things completions zsh > ~/.zfunc/_rat-things
  rat-things completions fish > ~/.config/fish/completions/rat-things.fish")]
pub struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub fn run(console: &mut Console, args: &Args) -> Result<(), CliError> {
    console.out.bytes(&script(args.shell))
}

/// The completion script of a shell.
pub fn script(shell: Shell) -> Vec<u8> {
    let mut grammar = without_hidden(&Cli::grammar());
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut grammar, "rat-things", &mut script);
    script
}

/// The same grammar without what help does not show either: the generators would offer it.
fn without_hidden(command: &clap::Command) -> clap::Command {
    let shown = clap::Command::new(lasting(command.get_name()))
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()))
        .subcommands(
            command
                .get_subcommands()
                .filter(|command| !command.is_hide_set())
                .map(without_hidden),
        )
        .disable_help_subcommand(true);
    let shown = match command.get_about() {
        Some(about) => shown.about(about.clone()),
        None => shown,
    };
    match command.get_version() {
        Some(version) => shown.version(lasting(version)),
        None => shown,
    }
}

/// Names of a grammar live as long as the program, which ends when the script is printed.
fn lasting(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_know_commands_and_options_and_hide_what_is_hidden() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(script(shell)).expect("scripts are text");
            for word in ["explain", "idempotency-key", "jsonl"] {
                assert!(script.contains(word), "{shell} does not know {word}");
            }
            for word in ["--background", "things,worker", "\"worker\"", "(worker)"] {
                assert!(!script.contains(word), "{shell} shows {word}");
            }
        }
    }
}
