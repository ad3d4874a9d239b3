//! `outbox list`: the agenda, which is the work that Sessions owe and when it is due.

use serde_json::{Value, json};

use super::Context;
use super::compose::{self, Local};
use super::daemon;
use super::out::{Cell, CliError, Column, Role, Table};
use crate::engine::fence::RunState;
use crate::engine::operating::{Due, why};
use crate::engine::session::Head;

/// `rat-things outbox …`
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List what is due, soonest first
    List(ListArgs),
}

/// List what is due, soonest first: which Session, when, and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things outbox list
  rat-things outbox list --limit 1000 -o jsonl")]
pub struct ListArgs {
    /// Entries at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    limit: u16,
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    let Command::List(args) = command;
    let local = compose::open(&context.settings).await?;
    let limit = usize::from(args.limit);
    let mut due = due(&local, limit + 1).await?;
    let more = due.len() > limit;
    due.truncate(limit);
    let rows: Vec<Value> = due
        .iter()
        .map(|due| {
            json!({
                "session_id": due.session.as_str(),
                "group": due.group.name(),
                "due_ms": due.due_ms,
                "why": why(&due.head, due.group),
            })
        })
        .collect();
    let document = json!({"object": "list", "data": rows, "has_more": more});
    let now_ms = compose::now_ms();
    context.console.out.list(
        &document,
        &rows,
        |row| row["session_id"].as_str().unwrap_or_default(),
        || {
            let mut table = Table::new([
                Column::new("DUE"),
                Column::new("SESSION"),
                Column::new("GROUP"),
                Column::new("WHY"),
            ]);
            for due in &due {
                table.row([
                    Cell::Time(due.due_ms),
                    Cell::text(due.session.as_str()),
                    Cell::text(due.group.name()),
                    Cell::word(why(&due.head, due.group), role(&due.head)),
                ]);
            }
            table
        },
    )?;
    let say = &context.console.say;
    if more {
        say.note(format!("more than {limit}: give a higher --limit"));
    } else if due.is_empty() && context.console.out.format().is_for_people() {
        say.note("nothing is due");
    }
    let overdue = due.iter().filter(|due| due.due_ms <= now_ms).count();
    if overdue > 0 && daemon::serving(&context.settings, &local.places).is_none() {
        say.warn(match context.settings.aws {
            None => "work is due and no daemon runs",
            Some(_) => "work is due and no daemon runs here",
        });
        say.hint("rat-things daemon start");
    }
    Ok(())
}

/// The owner's entries of both groups, soonest first, at most `limit`.
pub async fn due(local: &Local, limit: usize) -> Result<Vec<Due>, CliError> {
    Ok(local.core.due(&local.owner, limit).await?)
}

fn role(head: &Head) -> Role {
    match head.fence.state() {
        RunState::Quarantined => Role::Warn,
        RunState::Leased => Role::Active,
        RunState::Free => Role::Plain,
    }
}
