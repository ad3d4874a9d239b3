//! What clap says instead of running a command: help, the version, and mistakes. All of it goes through our own writers, so that
//! a mistake has an error code, and is JSON for who asked for JSON.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::ValueEnum;
use clap::error::ErrorKind;

use super::Cli;
use super::out::{CliError, Console, Format, OutputArgs};

/// Examples stand right below the usage: they are what most readers look for.
const TEMPLATE: &str =
    "{before-help}{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}";

/// Gives every command of the tree the same help layout.
pub(super) fn examples_first(command: clap::Command) -> clap::Command {
    command
        .help_template(TEMPLATE)
        .mut_subcommands(examples_first)
}

/// Answers a command line that is not a command to run.
pub(super) fn answer(mut console: Console, error: &clap::Error, words: &[OsString]) -> ExitCode {
    let result = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => print_styled(&mut console, error),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            if !console.out.format().wants_json_errors() =>
        {
            console.say.plain(error.render().to_string());
            return ExitCode::from(2);
        }
        _ => Err(mistake(error, words)),
    };
    console.end(result)
}

/// Prints the help of the command at `path`, on standard output.
///
/// # Errors
/// There is no such command, or the output can't be written.
pub(super) fn print_help(console: &mut Console, path: &[String]) -> Result<(), CliError> {
    let words: Vec<OsString> = std::iter::once("rat-things")
        .chain(path.iter().map(String::as_str))
        .chain(["--help"])
        .map(OsString::from)
        .collect();
    match Cli::read(words.iter().cloned()) {
        Err(error) if error.kind() == ErrorKind::DisplayHelp => print_styled(console, &error),
        Err(error) => Err(mistake(&error, &words)),
        Ok(_) => Err(CliError::bug("--help was not understood")),
    }
}

fn print_styled(console: &mut Console, error: &clap::Error) -> Result<(), CliError> {
    let text = error.render();
    let text = match console.terminal.stdout.colour {
        true => text.ansi().to_string(),
        false => text.to_string(),
    };
    console.out.bytes(text.as_bytes())
}

/// A mistake in the words of this program: one sentence, then what to do.
fn mistake(error: &clap::Error, words: &[OsString]) -> CliError {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return CliError::usage("a command is missing").hint(help_of(words));
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(one_line);
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let mut mistake = CliError::usage(message);
    for paragraph in paragraphs {
        // One tip a line was made one line of tips.
        for tip in paragraph.split("tip: ").map(str::trim) {
            let about_help = tip.starts_with("For more information");
            if !tip.is_empty() && !about_help {
                mistake = mistake.hint(match tip.strip_prefix("Usage: ") {
                    Some(usage) => format!("usage: {usage}"),
                    None => tip.to_owned(),
                });
            }
        }
    }
    if mistake.hint.is_empty() {
        mistake = mistake.hint(help_of(words));
    }
    mistake
}

/// The help of the command that was meant, as far as it can be recognised.
fn help_of(words: &[OsString]) -> String {
    let grammar = Cli::grammar();
    let mut command = &grammar;
    let mut path = "rat-things help".to_owned();
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = command.find_subcommand(word) {
            command = below;
            path.push_str(&format!(" {}", below.get_name()));
        }
    }
    path
}

fn one_line(paragraph: &str) -> String {
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    words.join(" ")
}

/// The output options of a command line that can't be parsed: a program that asked for JSON gets its error as JSON, too.
pub(super) fn output_asked_for(words: &[OsString]) -> OutputArgs {
    let mut asked = OutputArgs::default();
    let mut words = words
        .iter()
        .skip(1)
        .map(|word| word.to_string_lossy())
        .take_while(|word| word != "--");
    while let Some(word) = words.next() {
        let value = match word.as_ref() {
            "--json" => {
                asked.json = true;
                continue;
            }
            "-o" | "--output" => words.next(),
            other => other
                .strip_prefix("--output=")
                .or_else(|| other.strip_prefix("-o"))
                .filter(|_| !other.starts_with("--o") || other.starts_with("--output="))
                .map(|value| value.to_owned().into()),
        };
        if let Some(format) = value.and_then(|value| Format::from_str(&value, false).ok()) {
            asked.format = Some(format);
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn failed(line: &str) -> CliError {
        mistake(
            &Cli::read(words(line)).expect_err("a mistake"),
            &words(line),
        )
    }

    #[test]
    fn mistakes_are_one_sentence_and_hints() {
        let error = failed("rat-things sessions lits");
        assert_eq!(error.message, "unrecognized subcommand 'lits'");
        assert_eq!(error.code, "RT-0200");
        assert!(error.hint[0].contains("'list'"), "{:?}", error.hint);
        let error = failed("rat-things sessions get");
        assert_eq!(
            error.message,
            "the following required arguments were not provided: <SESSION>"
        );
        assert_eq!(
            error.hint,
            ["usage: rat-things sessions get <SESSION>"],
            "{:?}",
            error.hint
        );
        let error = failed("rat-things sessions list --limit 1000");
        assert_eq!(
            error.message,
            "invalid value '1000' for '--limit <N>': 1000 is not in 1..=100"
        );
        assert_eq!(error.hint, ["rat-things help sessions list"]);
    }

    #[test]
    fn the_format_is_known_even_if_nothing_else_is() {
        for (line, expected) in [
            ("x sessions lits -o json", Some(Format::Json)),
            ("x -ojsonl sessions lits", Some(Format::Jsonl)),
            ("x --output=id nonsense", Some(Format::Id)),
            ("x --output yaml nonsense", Some(Format::Yaml)),
            ("x nonsense -- -o json", None),
            ("x nonsense -o nonsense", None),
            ("x --options json", None),
        ] {
            assert_eq!(output_asked_for(&words(line)).format, expected, "{line}");
        }
        assert!(output_asked_for(&words("x nonsense --json")).json);
    }

    #[test]
    fn the_grammar_is_consistent() {
        Cli::grammar().debug_assert();
    }
}
