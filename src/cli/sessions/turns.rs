//! `sessions turns`

use crate::api::Page;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::CliError;
use crate::cli::page::{Order, PageArgs, more};
use crate::cli::resolve;
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
    let of = compose::deployment(&context.settings).await?;
    let of = &*of;
    let session = &resolve::session(of, &args.session).await?;
    let reads = args
        .page
        .fetch(Order::Desc, |query| async move {
            of.list_turns(session, &query).await
        })
        .await?;
    let page = Page {
        object: reads.object,
        data: reads.data.iter().map(|read| read.turn.clone()).collect(),
        has_more: reads.has_more,
        first_id: reads.first_id,
        last_id: reads.last_id,
    };
    context.console.out.list(
        &page,
        &page.data,
        |turn| &turn.id,
        || {
            let mut table = show::turn_columns();
            for read in &reads.data {
                table.row(show::turn_row(read));
            }
            table
        },
    )?;
    more(&page, &context.console, "turns");
    Ok(())
}
