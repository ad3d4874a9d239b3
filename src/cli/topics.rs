//! `help`: a command, an error code, or a topic.

use serde_json::{Value, json};

use super::command_line;
use super::out::{Cell, CliError, Column, Console, Kind, Table, codes};

/// Explain a command, an error code, or a topic.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things help sessions create
  rat-things help exit-codes
  rat-things help RT-0300

Topics: exit-codes, environment, formats")]
pub struct Args {
    /// A command (`sessions create`), a topic (`exit-codes`), or an error code (`RT-0300`)
    #[arg(value_name = "TOPIC")]
    topic: Vec<String>,
}

/// Runs the command.
pub fn run(console: &mut Console, args: &Args) -> Result<(), CliError> {
    let [topic] = args.topic.as_slice() else {
        return command_line::print_help(console, &args.topic);
    };
    match topic.as_str() {
        "exit-codes" => exit_codes(console),
        "environment" | "env" => environment(console),
        "formats" | "format" => formats(console),
        code if code.to_ascii_uppercase().starts_with("RT-") => error_code(console, code),
        _ => command_line::print_help(console, &args.topic),
    }
}

fn exit_codes(console: &mut Console) -> Result<(), CliError> {
    let rows: Vec<Value> = Kind::ALL
        .iter()
        .map(|kind| {
            json!({"exit_code": kind.exit_code(), "kind": name(*kind), "meaning": kind.meaning().replace("**", "")})
        })
        .collect();
    page(
        console,
        &rows,
        &[
            ("EXIT", "exit_code"),
            ("KIND", "kind"),
            ("MEANING", "meaning"),
        ],
        "What the process's exit code means. Error codes (RT-nnnn) are finer: rat-things help RT-0300",
    )
}

/// 0 is no failure, whatever led to it.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::BrokenPipe => "done",
        kind => kind.name(),
    }
}

fn error_code(console: &mut Console, typed: &str) -> Result<(), CliError> {
    let wanted = typed.to_ascii_uppercase();
    let Some(code) = codes::ALL.iter().find(|code| code.id == wanted) else {
        let message = format!("there is no error code {typed}");
        return Err(CliError::not_found(message).hint("all of them: docs/exit-codes.md"));
    };
    let row = json!({"code": code.id, "exit_code": code.kind.exit_code(), "kind": code.kind.name(), "meaning": code.meaning});
    page(
        console,
        &[row],
        &[
            ("CODE", "code"),
            ("EXIT", "exit_code"),
            ("MEANING", "meaning"),
        ],
        "The exit code says who must act: rat-things help exit-codes",
    )
}

fn environment(console: &mut Console) -> Result<(), CliError> {
    let mut rows: Vec<Value> = super::config::variables()
        .map(|(name, key, meaning)| json!({"variable": name, "overrides": key, "effect": meaning}))
        .collect();
    rows.extend(
        OTHER_VARIABLES
            .iter()
            .map(|(name, effect)| json!({"variable": name, "overrides": "", "effect": effect})),
    );
    page(
        console,
        &rows,
        &[("VARIABLE", "variable"), ("EFFECT", "effect")],
        "Variables win over the configuration file and lose against flags. Values: rat-things config show --origin",
    )
}

/// Variables that are no configuration keys.
const OTHER_VARIABLES: [(&str, &str); 8] = [
    ("RAT_THINGS_CONFIG_DIR", "Directory of config.toml."),
    (
        "RAT_THINGS_LOG",
        "What is logged, as a filter: debug, or rat_things::engine=trace.",
    ),
    ("COLUMNS", "Width of tables on a terminal."),
    ("CLICOLOR", "0: no colour."),
    ("TERM", "dumb: no colour, progress as lines."),
    (
        "ACCESSIBLE",
        "Progress, and the screen, as lines that are only ever added.",
    ),
    ("CI", "Never ask; no progress."),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "The first that is set must name UTF-8, or only ASCII is shown.",
    ),
];

fn formats(console: &mut Console) -> Result<(), CliError> {
    use clap::ValueEnum;
    let rows: Vec<Value> = super::out::Format::value_variants()
        .iter()
        .filter_map(clap::ValueEnum::to_possible_value)
        .map(|value| {
            let help = value.get_help().map(ToString::to_string);
            json!({"format": value.get_name(), "meaning": help.unwrap_or_default()})
        })
        .collect();
    page(
        console,
        &rows,
        &[("FORMAT", "format"), ("MEANING", "meaning")],
        "Given with -o. The layout of table and wide may change in any release; the others stay.",
    )
}

/// Prints rows as a table for a person even off a terminal, because help is read, not parsed; as data for who asks for it.
fn page(
    console: &mut Console,
    rows: &[Value],
    columns: &[(&'static str, &str)],
    below: &str,
) -> Result<(), CliError> {
    let mut table = Table::new(columns.iter().map(|(header, _)| Column::new(header)));
    for row in rows {
        table.row(columns.iter().map(|(_, field)| match &row[*field] {
            Value::String(text) => Cell::text(text),
            other => Cell::text(other.to_string()),
        }));
    }
    let first = columns.first().map_or("", |(_, field)| field);
    console.out.help_page(
        &rows,
        rows,
        |row| row[first].as_str().unwrap_or_default(),
        &table,
        below,
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_topic_that_help_names_exists() {
        use clap::CommandFactory;
        let after = crate::cli::Cli::command()
            .find_subcommand("help")
            .and_then(|help| help.get_after_help().map(ToString::to_string))
            .expect("help has examples");
        let (_, topics) = after.split_once("Topics: ").expect("and topics");
        let known = ["exit-codes", "environment", "formats"];
        assert_eq!(topics.split(", ").collect::<Vec<_>>(), known);
    }
}
