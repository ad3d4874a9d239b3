//! `runs list`

use super::find;
use super::view::{RunView, table};
use crate::api::Page;
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::out::{CliError, codes};
use crate::cli::outbox;
use crate::cli::page::{Order, PageArgs, more};
use crate::engine::core::decode;
use crate::engine::error::EngineError;
use crate::engine::ids::{Kind, SessionId, number_of};
use crate::engine::keys;
use crate::engine::ports::Range;
use crate::engine::read::ListQuery;
use crate::engine::session::Head;

/// Agenda entries looked at for active Runs.
const ACTIVE_MAX: usize = 10_000;

/// List a Session's Runs, newest first, or those that are active anywhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things runs list sess_7f
  rat-things runs list --all-active -o wide")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    #[arg(required_unless_present = "all_active", conflicts_with = "all_active")]
    session: Option<String>,
    /// Runs of every Session that hold a lease or are in quarantine
    #[arg(long, conflicts_with_all = ["limit", "after", "order", "all"])]
    all_active: bool,
    #[command(flatten)]
    page: PageArgs,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let page = match &args.session {
        Some(typed) => {
            let session = local.session(typed).await?;
            let loaded = local.core.load_owned(&local.owner, &session).await?;
            let (local, session, head) = (&local, &session, &loaded.head);
            args.page
                .fetch(Order::Desc, |query| async move {
                    of_session(local, session, head, &query).await
                })
                .await?
        }
        None => Page::new(active(&local).await?, false),
    };
    let out = &mut context.console.out;
    out.list(&page, &page.data, |run| &run.id, || table(&page.data))?;
    more(&page, &context.console, "runs");
    Ok(())
}

async fn of_session(
    local: &Local,
    session: &SessionId,
    head: &Head,
    query: &ListQuery,
) -> Result<Page<RunView>, EngineError> {
    let partition = keys::session_partition(session);
    let mut range = Range::prefix(partition, "run/", query.limit);
    range.reverse = !query.ascending;
    if let Some(after) = &query.after {
        let generation = number_of(Kind::Run, session, after)
            .ok_or_else(|| EngineError::not_found("run", after.as_str()))?;
        match query.ascending {
            true => range.from = keys::run(generation + 1),
            false => range.until = Some(keys::run(generation)),
        }
    }
    let page = local.core.store.range(&range).await?;
    let mut runs = Vec::with_capacity(page.records.len());
    for record in &page.records {
        let generation = keys::number(&record.key.sort, "run/").unwrap_or_default();
        runs.push(RunView::of(session, head, generation, decode(record)?));
    }
    Ok(Page::new(runs, page.more))
}

/// Active Runs are those that the agenda knows: a lease and a quarantine both have an entry.
async fn active(local: &Local) -> Result<Vec<RunView>, CliError> {
    let due = outbox::due(local, ACTIVE_MAX + 1).await?;
    if due.len() > ACTIVE_MAX {
        let message = format!("more than {ACTIVE_MAX} sessions owe work; list those of a session");
        return Err(CliError::new(codes::INPUT, message));
    }
    let mut runs = Vec::new();
    for due in due {
        let fence = &due.head.fence;
        if due.head.deleted_ms.is_none() && (fence.lease.is_some() || fence.quarantine.is_some()) {
            runs.extend(find::latest(local, &due.session, &due.head).await?);
        }
    }
    Ok(runs)
}
