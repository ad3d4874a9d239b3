//! `runs list`

use super::view::table;
use super::{find, machines};
use crate::api::Page;
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::out::{CliError, codes};
use crate::cli::outbox;
use crate::cli::page::{Order, PageArgs, more};
use crate::engine::ports::{ExecutionId, RunRead};

/// Agenda entries looked at for active Runs.
const ACTIVE_MAX: usize = 10_000;

/// List a Session's Runs, newest first, those that are active anywhere, or machines.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things runs list sess_7f
  rat-things runs list --all-active -o wide
  rat-things runs list --machines")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    #[arg(required_unless_present_any = ["all_active", "machines"], conflicts_with_all = ["all_active", "machines"])]
    session: Option<String>,
    /// Runs of every Session that hold a lease or are in quarantine
    #[arg(long, conflicts_with_all = ["limit", "after", "order", "all"])]
    all_active: bool,
    /// Machines that exist for Sessions, of every owner: how old each is, and what it cost
    #[arg(long, conflicts_with_all = ["all_active", "limit", "after", "order", "all"])]
    machines: bool,
    #[command(flatten)]
    page: PageArgs,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    if args.machines {
        return machines::list(context, &local).await;
    }
    let page = match &args.session {
        Some(typed) => {
            let session = local.session(typed).await?;
            let loaded = local.core.load_owned(&local.owner, &session).await?;
            let (local, session, head) = (&local, &session, &loaded.head);
            args.page
                .fetch(Order::Desc, |query| async move {
                    let alive = compose::is_alive;
                    local.core.list_runs(session, head, &query, alive).await
                })
                .await?
        }
        None => Page::new(active(&local).await?, false),
    };
    let out = &mut context.console.out;
    out.list(&page, &page.data, |run| &run.id, || table(&page.data))?;
    more(&page, &context.console, "runs");
    let on_machine = |run: &&RunRead| {
        let goes_on = run.ended_ms.is_none();
        goes_on && compose::is_on_machine(&ExecutionId(run.execution.clone()))
    };
    if page.data.iter().any(|run| on_machine(&run)) {
        let note = "instances are not asked about here: whether one still exists, --machines says";
        context.console.say.note(note);
        context.console.say.hint("rat-things runs list --machines");
    }
    Ok(())
}

/// Active Runs are those that the agenda knows: a lease and a quarantine both have an entry.
async fn active(local: &Local) -> Result<Vec<RunRead>, CliError> {
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
