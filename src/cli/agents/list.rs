//! `agents list`

use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::{Cell, CliError, Column, Table};
use crate::cli::page::{Order, PageArgs, more};
use crate::cli::show::time;

/// List saved Agents, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things agents list
  rat-things agents list --all -o id")]
pub struct Args {
    #[command(flatten)]
    page: PageArgs,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let of = compose::deployment(&context.settings).await?;
    let of = &*of;
    let page = args
        .page
        .fetch(
            Order::Desc,
            |query| async move { of.list_agents(&query).await },
        )
        .await?;
    context.console.out.list(
        &page,
        &page.data,
        |agent| &agent.id,
        || {
            let mut table = Table::new([
                Column::new("AGENT"),
                Column::new("MODEL").shrinks(2, 8),
                Column::new("NAME").shrinks(1, 10),
                Column::new("UPDATED"),
                Column::new("CREATED").wide(),
                Column::new("TOOLS").wide(),
            ]);
            for agent in &page.data {
                table.row([
                    Cell::text(&agent.id),
                    Cell::text(&agent.model),
                    Cell::maybe(agent.name.as_deref(), Cell::text),
                    time(agent.updated_at),
                    time(agent.created_at),
                    Cell::Count(agent.tools.len() as u64),
                ]);
            }
            table
        },
    )?;
    more(&page, &context.console, "agents");
    Ok(())
}
