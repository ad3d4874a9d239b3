//! `sessions items`

use super::page::{Order, PageArgs, more};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::CliError;
use crate::cli::show;

/// List a Session's Items: the transcript.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions items sess_7f
  rat-things sessions items sess_7f --turn turn_3k -o json")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// Only of this Turn: its id, or the beginning of it
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let read = local.read(&args.session).await?;
    let turn = match &args.turn {
        Some(typed) => Some(local.turn(&read, typed).await?),
        None => None,
    };
    let (core, read) = (&local.core, &read);
    let page = args
        .page
        .fetch(Order::Asc, |query| async move {
            core.list_items(read, turn, &query).await
        })
        .await?;
    context.console.out.list(
        &page,
        &page.data,
        |item| show::item_id(item),
        || {
            let mut table = show::item_columns();
            for item in &page.data {
                table.row(show::item_row(item));
            }
            table
        },
    )?;
    more(&page, &context.console.say);
    Ok(())
}
