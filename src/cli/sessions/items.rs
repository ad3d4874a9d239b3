//! `sessions items`

use crate::api::{Item, Page};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::follow::{self, Until};
use crate::cli::out::{CliError, Console};
use crate::cli::page::{Order, PageArgs, more};
use crate::cli::resolve;
use crate::cli::show;
use crate::engine::ports::Deployment;
use crate::engine::read::ListQuery;

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
    let of = compose::deployment(&context.settings).await?;
    let of = &*of;
    let session = &resolve::session(of, &args.session).await?;
    let turn = match &args.turn {
        Some(typed) => Some(resolve::turn(of, session, typed).await?),
        None => None,
    };
    if args.follow {
        return follow_on(context, of, session, turn, args.page.after).await;
    }
    let turn = turn.as_deref();
    let page = args
        .page
        .fetch(Order::Asc, |query| async move {
            of.list_items(session, turn, &query).await
        })
        .await?;
    print(&mut context.console, &page)
}

/// Prints a page of Items, and whether there are more.
pub(super) fn print(console: &mut Console, page: &Page<Item>) -> Result<(), CliError> {
    console.out.list(
        page,
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
    more(page, console, "items");
    Ok(())
}

/// The transcript for a person, one record after the other for a program.
async fn follow_on(
    context: &mut Context,
    of: &dyn Deployment,
    session: &str,
    turn: Option<String>,
    after: Option<String>,
) -> Result<(), CliError> {
    let console = &mut context.console;
    let (out, say) = (&mut console.out, &console.say);
    if out.format().is_for_people() && after.is_none() && any_turn(of, session).await? {
        let first = match turn {
            Some(turn) => follow::From::Turn(turn),
            None => follow::From::Behind(None),
        };
        let end = follow::follow(of, out, say, session, first, Until::Idle).await?;
        return match end {
            follow::Followed::Detached => Err(CliError::interrupted()),
            follow::Followed::Over(_) | follow::Followed::Waits => Ok(()),
        };
    }
    let place = match (after, turn) {
        (Some(after), _) => follow::Place::Behind(after),
        (None, Some(turn)) => follow::Place::From(turn),
        (None, None) => follow::Place::Beginning,
    };
    follow::records(of, out, say, session, place).await?;
    Ok(())
}

async fn any_turn(of: &dyn Deployment, session: &str) -> Result<bool, CliError> {
    let query = ListQuery {
        limit: 1,
        ..ListQuery::default()
    };
    Ok(!of.list_turns(session, &query).await?.data.is_empty())
}
