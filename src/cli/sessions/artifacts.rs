//! `sessions artifacts`

use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::CliError;
use crate::cli::page::{Order, PageArgs, more};
use crate::cli::resolve;
use crate::cli::show;

/// List the files that a Session's Turns left in /workspace/outputs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions artifacts sess_7f
  rat-things sessions artifacts sess_7f --turn turn_3k -o wide")]
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
    let of = compose::deployment(&context.settings).await?;
    let of = &*of;
    let session = &resolve::session(of, &args.session).await?;
    let turn = match &args.turn {
        Some(typed) => Some(resolve::turn(of, session, typed).await?),
        None => None,
    };
    let turn = turn.as_deref();
    let page = args
        .page
        .fetch(Order::Desc, |query| async move {
            of.list_artifacts(session, turn, &query).await
        })
        .await?;
    context.console.out.list(
        &page,
        &page.data,
        |artifact| &artifact.id,
        || {
            let mut table = show::artifact_columns();
            for artifact in &page.data {
                table.row(show::artifact_row(artifact));
            }
            table
        },
    )?;
    more(&page, &context.console, "artifacts");
    Ok(())
}
