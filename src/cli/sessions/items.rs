//! `sessions items`

use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::follow::{self, Until};
use crate::cli::out::CliError;
use crate::cli::page::{Order, PageArgs, more};
use crate::cli::show;
use crate::engine::read::{SessionRead, item_number};

/// List a Session's Items: the transcript.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions items sess_7f
  rat-things sessions items sess_7f --turn turn_3k -o json
  rat-things sessions items sess_7f --follow -o jsonl")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// Only of this Turn: its id, or the beginning of it
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
    #[command(flatten)]
    page: PageArgs,
    /// Print Items as they come, until the Session's work is over
    #[arg(long, conflicts_with_all = ["limit", "order", "all"])]
    follow: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let read = local.read(&args.session).await?;
    let turn = match &args.turn {
        Some(typed) => Some(local.turn(&read, typed).await?),
        None => None,
    };
    if args.follow {
        return follow_on(context, &local, &read, turn, args.page.after.as_deref()).await;
    }
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
    more(&page, &context.console, "items");
    Ok(())
}

/// The transcript for a person, one record after the other for a program.
async fn follow_on(
    context: &mut Context,
    local: &Local,
    read: &SessionRead,
    turn: Option<u64>,
    after: Option<&str>,
) -> Result<(), CliError> {
    let after = after.map(|id| item_number(&read.id, id)).transpose()?;
    let console = &mut context.console;
    if console.out.format().is_for_people() && after.is_none() && read.head.next.turn > 1 {
        let first = turn.unwrap_or(1);
        let (out, say) = (&mut console.out, &console.say);
        let end = follow::follow(local, out, say, &read.id, first, Until::Idle).await?;
        return match end {
            follow::Followed::Detached => Err(CliError::interrupted()),
            follow::Followed::Over(_) | follow::Followed::Waits => Ok(()),
        };
    }
    let first = match (after, turn) {
        (Some(after), _) => after + 1,
        (None, Some(turn)) => {
            let (_, row) = local.core.get_turn(read, turn).await?;
            row.first_item.unwrap_or(read.head.next.item)
        }
        (None, None) => 1,
    };
    follow::records(local, &mut console.out, &read.id, first).await?;
    Ok(())
}
