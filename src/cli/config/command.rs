//! `config …`

use serde_json::{Value, json};

use crate::cli::Context;
use crate::cli::out::{Cell, CliError, Column, Table};

/// `rat-things config …`
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Print every setting with its value, and where it comes from
    Show(ShowArgs),
}

/// Print every setting with its value.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things config show
  rat-things config show --origin -o json")]
pub struct ShowArgs {
    /// Also say where each value comes from: flag, variable, profile, file, default
    #[arg(long)]
    origin: bool,
}

/// Runs the command.
pub fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    let Command::Show(args) = command;
    let entries = context.settings.entries();
    let rows: Vec<Value> = entries
        .iter()
        .map(|entry| {
            let mut row = json!({"key": entry.key, "value": entry.value});
            if args.origin {
                row["origin"] = entry.origin.to_string().into();
            }
            row
        })
        .collect();
    let file = context
        .settings
        .config_file
        .as_ref()
        .map(|path| path.display().to_string());
    let document = json!({"config_file": file, "settings": rows});
    context.console.out.list(
        &document,
        &rows,
        |row| row["key"].as_str().unwrap_or_default(),
        || {
            let mut columns = vec![Column::new("KEY"), Column::new("VALUE").shrinks(2, 16)];
            if args.origin {
                columns.push(Column::new("ORIGIN").shrinks(1, 16));
            }
            let mut table = Table::new(columns);
            for entry in &entries {
                let value = match entry.text() {
                    text if text.is_empty() => Cell::Nothing,
                    text => Cell::text(text),
                };
                let origin = Cell::text(entry.origin.to_string());
                table.row([Cell::text(&entry.key), value, origin]);
            }
            table
        },
    )?;
    if let Some(path) = &context.settings.config_file
        && !path.exists()
    {
        let path = path.display();
        context.console.say.note(format!("there is no {path}"));
    }
    Ok(())
}
