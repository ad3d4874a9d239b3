//! `sessions list`

use crate::api::{SessionStatus, Words};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::input;
use crate::cli::out::CliError;
use crate::cli::page::{Order, PageArgs, more};
use crate::cli::resolve;
use crate::cli::show;
use crate::engine::read::SessionFilter;

/// List Sessions, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions list
  rat-things sessions list --status requires_action -o id")]
pub struct Args {
    #[command(flatten)]
    page: PageArgs,
    /// Only in this state; repeat it for more
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<SessionStatus>,
    /// Only of this saved Agent
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
    /// Only with this name and value; repeat it for more
    #[arg(long, value_name = "NAME=VALUE", value_parser = input::pair)]
    metadata: Vec<(String, String)>,
}

fn status(text: &str) -> Result<SessionStatus, String> {
    SessionStatus::ALL
        .iter()
        .copied()
        .find(|s| s.as_str() == text)
        .ok_or_else(|| {
            let all: Vec<&str> = SessionStatus::ALL.iter().map(|s| s.as_str()).collect();
            format!("expected one of {}", all.join(", "))
        })
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let of = compose::deployment(&context.settings).await?;
    let of = &*of;
    let agent_id = match &args.agent_id {
        Some(typed) => Some(resolve::agent(of, typed).await?),
        None => None,
    };
    let filter = SessionFilter {
        agent_id,
        metadata: args.metadata.iter().cloned().collect(),
        status: args.status.clone(),
    };
    let filter = &filter;
    let page = args
        .page
        .fetch(Order::Desc, |query| async move {
            of.list_sessions(&query, filter).await
        })
        .await?;
    context.console.out.list(
        &page,
        &page.data,
        |s| &s.id,
        || {
            let mut table = show::session_columns();
            for session in &page.data {
                table.row(show::session_row(session));
            }
            table
        },
    )?;
    more(&page, &context.console, "sessions");
    Ok(())
}
