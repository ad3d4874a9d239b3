//! `sessions subagents`

use super::items;
use crate::api::{Subagent, Words, agent_text};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::{Cell, CliError, Column, Table};
use crate::cli::page::{Order, PageArgs, more};
use crate::cli::resolve;
use crate::cli::show;

/// List a Session's subagents, or the transcript of one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions subagents sess_7f
  rat-things sessions subagents sess_7f sub_2k -o jsonl")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// The subagent whose Items are listed: its id, or the beginning of it
    subagent: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let of = compose::deployment(&context.settings).await?;
    let of = &*of;
    let session = &resolve::session(of, &args.session).await?;
    let Some(typed) = &args.subagent else {
        let page = args
            .page
            .fetch(Order::Asc, |query| async move {
                of.list_subagents(session, &query).await
            })
            .await?;
        context.console.out.list(
            &page,
            &page.data,
            |subagent| &subagent.id,
            || {
                let mut table = columns();
                for subagent in &page.data {
                    table.row(row(subagent));
                }
                table
            },
        )?;
        more(&page, &context.console, "subagents");
        return Ok(());
    };
    let subagent = &resolve::subagent(of, session, typed).await?;
    let page = args
        .page
        .fetch(Order::Asc, |query| async move {
            of.list_subagent_items(session, subagent, &query).await
        })
        .await?;
    items::print(&mut context.console, &page)
}

fn columns() -> Table {
    Table::new([
        Column::new("SUBAGENT"),
        Column::new("STATUS"),
        Column::new("NAME"),
        Column::new("OPENED"),
        Column::new("TOLD").shrinks(1, 20),
        Column::new("STARTED BY").wide(),
    ])
}

fn row(subagent: &Subagent) -> Vec<Cell> {
    let told = subagent.instructions.as_deref().map(agent_text);
    vec![
        Cell::text(&subagent.id),
        Cell::text(subagent.status.as_str()),
        Cell::maybe(subagent.name.as_ref(), Cell::text),
        show::time(subagent.opened_at),
        Cell::maybe(told, Cell::text),
        Cell::text(&subagent.parent_agent_id),
    ]
}
