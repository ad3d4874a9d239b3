//! `runs stop --all`: the way to end everything that works, with every daemon down, too.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use serde::Serialize;
use tokio::time::Instant;

use crate::api::{HasId, Page};
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::out::{Cell, CliError, Column, Role, Table, codes};
use crate::engine::halt::Fenced;
use crate::engine::operating::process_of;
use crate::engine::ports::{Compute, ComputeError, ExecutionId, Liveness};

/// How long workers get to be gone. A machine takes about a minute.
const PATIENCE: Duration = Duration::from_secs(180);
/// Between two attempts at one that may still be there.
const AGAIN: Duration = Duration::from_secs(2);
/// Workers that are ended at the same time.
const AT_ONCE: usize = 16;

/// Fence every Run and end every worker of the deployment, whoever owns the Sessions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things runs stop --all
  rat-things runs stop --all --yes")]
pub struct Args {
    /// Everything; there is no other choice
    #[arg(long, required = true)]
    all: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// What became of one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Stopped {
    id: String,
    object: &'static str,
    /// Its machine, if it had one to itself.
    machine: Option<String>,
    /// Sessions whose Runs were fenced for it.
    session_ids: Vec<String>,
    /// It is proven gone.
    gone: bool,
    /// Why that is not known.
    problem: Option<String>,
}

impl HasId for Stopped {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// A worker that is to end.
#[derive(Default)]
struct Doomed {
    machine: Option<String>,
    runs: Vec<Fenced>,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("runs stop")?;
    let local = compose::open(&context.settings).await?;
    let compute = compose::compute(&context.settings, &local).await?;
    let what = "Every run of every owner is fenced, and every worker and machine is ended. What a command did until then stays done; its turn goes on when a daemon gives it another worker";
    let mut prompts = context.console.prompts(args.yes);
    prompts.confirm_typed(&context.console.say, what, "all")?;
    // Nothing of what still runs is visible from here on.
    let mut doomed: BTreeMap<String, Doomed> = BTreeMap::new();
    for run in local.core.fence_all().await? {
        let name = process_of(&run.execution.0).to_owned();
        doomed.entry(name).or_default().runs.push(run);
    }
    let mut problem = None;
    match compute.machines().await {
        Ok(machines) => {
            for machine in machines {
                doomed.entry(machine.execution.0).or_default().machine = Some(machine.id);
            }
        }
        Err(error) => problem = Some(error),
    }
    let ended = futures_util::stream::iter(doomed)
        .map(|(name, worker)| end(&local, &*compute, name, worker))
        .buffer_unordered(AT_ONCE);
    let mut ended: Vec<Stopped> = ended.collect().await;
    ended.sort_by(|a, b| a.id.cmp(&b.id));
    let page = Page::new(ended, false);
    let out = &mut context.console.out;
    out.list(&page, &page.data, |worker| &worker.id, || table(&page.data))?;
    say_what_is_left(context, &page.data, problem)
}

/// Ends one worker, and says in its Sessions that it is gone.
async fn end(local: &Local, compute: &dyn Compute, name: String, worker: Doomed) -> Stopped {
    let execution = ExecutionId(name.clone());
    let mut problem = until_gone(compute, &execution).await.err();
    if problem.is_none() {
        for run in &worker.runs {
            if let Err(error) = local.core.account_for(run).await {
                // The next daemon finds out for itself.
                problem = Some(format!(
                    "it is gone, and that could not be recorded: {error}"
                ));
            }
        }
    }
    Stopped {
        id: name,
        object: "rat_things.stopped_worker",
        machine: worker.machine,
        session_ids: { worker.runs.iter() }
            .map(|run| run.session.to_string())
            .collect(),
        gone: problem.is_none(),
        problem,
    }
}

async fn until_gone(compute: &dyn Compute, execution: &ExecutionId) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    loop {
        let error = match compute.stop(execution).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if compute.inspect(execution).await == Liveness::Gone {
            return Ok(());
        }
        if Instant::now() + AGAIN >= until || !is_worth_a_repeat(execution, &error) {
            return Err(error.to_string());
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// A process of another host can't be ended from here, however often it is tried.
fn is_worth_a_repeat(execution: &ExecutionId, error: &ComputeError) -> bool {
    let elsewhere = compose::is_alive(process_of(&execution.0)).is_none();
    matches!(error, ComputeError::Unknown(_)) && (compose::is_on_machine(execution) || !elsewhere)
}

/// Says what ended and what may not have; an error if anything may still be there.
fn say_what_is_left(
    context: &mut Context,
    ended: &[Stopped],
    unseen: Option<ComputeError>,
) -> Result<(), CliError> {
    let say = &context.console.say;
    let gone = ended.iter().filter(|worker| worker.gone).count();
    let sessions: usize = ended.iter().map(|worker| worker.session_ids.len()).sum();
    say.note(format!(
        "{gone} of {} workers ended; {sessions} sessions were fenced",
        ended.len()
    ));
    if sessions > 0 {
        say.note("their turns go on with the next daemon that runs; cancel those that must not");
    }
    if let Some(error) = unseen {
        let message = format!("every run is fenced, but machines can't be listed: {error}");
        return Err(CliError::new(codes::UNKNOWN_OUTCOME, message)
            .hint("repeat the command; it ends what is left"));
    }
    match gone == ended.len() {
        true => Ok(()),
        false => {
            let message = format!(
                "{} workers may still be there; every one is fenced, so that nothing it does is visible",
                ended.len() - gone
            );
            Err(CliError::new(codes::UNKNOWN_OUTCOME, message)
                .hint("repeat the command; it ends what is left"))
        }
    }
}

fn table(ended: &[Stopped]) -> Table {
    let mut table = Table::new([
        Column::new("WORKER"),
        Column::new("MACHINE"),
        Column::new("OUTCOME"),
        Column::new("SESSIONS"),
        Column::new("PROBLEM"),
    ]);
    for worker in ended {
        table.row([
            Cell::text(&worker.id),
            Cell::text(worker.machine.as_deref().unwrap_or("-")),
            match worker.gone {
                true => Cell::word("ended", Role::Dim),
                false => Cell::word("unknown", Role::Warn),
            },
            Cell::Count(worker.session_ids.len() as u64),
            Cell::text(worker.problem.as_deref().unwrap_or("")),
        ]);
    }
    table
}
