//! `sessions turns`

use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::CliError;
use crate::cli::page::{Order, PageArgs, more};
use crate::cli::show;

/// List a Session's Turns.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions turns sess_7f
  rat-things sessions turns sess_7f --order asc --all -o jsonl")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    #[command(flatten)]
    page: PageArgs,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let read = local.read(&args.session).await?;
    let rows = std::cell::RefCell::new(Vec::new());
    let page = args
        .page
        .fetch(Order::Desc, |query| async {
            let query = query;
            let (page, more_rows) = local.core.list_turns(&read, &query).await?;
            rows.borrow_mut().extend(more_rows);
            Ok(page)
        })
        .await?;
    let rows = rows.into_inner();
    context.console.out.list(
        &page,
        &page.data,
        |turn| &turn.id,
        || {
            let mut table = show::turn_columns();
            for (turn, row) in page.data.iter().zip(&rows) {
                table.row(show::turn_row(turn, row));
            }
            table
        },
    )?;
    more(&page, &context.console, "turns");
    Ok(())
}
