//! `daemon run`: dispatch until asked to stop, or until there has been nothing to do for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

use super::RunArgs;
use super::drain::{GIVE_BACK_MS, drain, end_others};
use super::http::{self, Face, Serve};
use super::lock::{self, Held, Note};
use super::tls::TlsFiles;
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::config::Origin;
use crate::cli::out::{CliError, codes};
use crate::engine::dispatch::Dispatcher;
use crate::engine::keys::{AGENDA_SHARDS, Group, agenda_partition};
use crate::engine::measure::{Census, MeasuredStore, Measures};
use crate::engine::ports::{Environments, Range};
use crate::engine::reap::Reaper;

/// How often the daemon looks whether its workers need it.
const LOOK_MS: u64 = 1_000;
/// How often it asks the store whether anything is owed, before it leaves for having nothing to do: each time is a request to every
/// shard of the agenda.
const ASKED_BEFORE_LEAVING: u64 = 8;
/// Looks from one such question to the next at most.
const LOOKS_PER_QUESTION: u64 = 60;
/// After so many looks at workers without work in a row, the daemon gives back what it can do without.
const QUIET_LOOKS: u64 = 2;
/// A worker that holds nothing but idle environments may leave after this.
const WORKER_IDLE_MS: u64 = 300_000;

/// Runs the daemon.
pub async fn run(context: &mut Context, args: &RunArgs) -> Result<(), CliError> {
    context.settings.may_change("daemon run")?;
    let background = args.background;
    let serve = to_serve(context, args);
    let mut local = compose::open(&context.settings).await?;
    let store = Arc::new(MeasuredStore::new(local.core.store));
    let store_counts = store.counts();
    local.core.store = store;
    let Some(mut held) = hold(&local, background)? else {
        // Another one is there, which is what was wanted.
        return Ok(());
    };
    // Before anybody can know of it and ask it to leave.
    let mut signals = Signals::new(background)?;
    sign(context, &local, None)?;
    let environments = compose::environments(&context.settings, &local.places)?;
    let compute = compose::worker_pool(&context.settings, &local, worker_args(context)).await?;
    let (stop, stopped) = watch::channel(false);
    let core = local.core.clone();
    let dispatcher = Dispatcher::new(core, compute.compute(), Arc::clone(&environments));
    let measures = Measures {
        store: store_counts,
        dispatch: dispatcher.counts(),
        deliveries: Arc::default(),
        census: Census::begin(local.core.clone()),
        requests: compose::requests(),
    };
    let face = match serve {
        Some(serve) => {
            let begun = face(
                context,
                &local,
                serve,
                background,
                environments,
                measures,
                &stopped,
            );
            begun.await?
        }
        None => None,
    };
    let tidying = tokio::spawn(local.core.clone().keep_tidy(stopped.clone()));
    if let Some(aws) = &context.settings.aws
        && aws.workers.on_machines
    {
        let idle = Duration::from_secs(aws.workers.idle_s);
        let reaper = Reaper::new(local.core.clone(), compute.compute(), idle);
        tokio::spawn(reaper.run(stopped.clone()));
    }
    let dispatching = tokio::spawn(dispatcher.run(stopped));
    compose::sweep(&local.places).await;
    context
        .console
        .say
        .note(format!("daemon runs on {}", local.places.root.display()));
    // Who serves others can't know that nobody needs it.
    let idle_exit = (background && face.is_none())
        .then(|| Duration::from_millis(context.settings.daemon.idle_exit_ms));
    // `Some` as long as nobody else can be the daemon.
    let held = loop {
        let asked = wait(&local, &compute, idle_exit, &mut signals).await;
        if asked {
            break Some(held);
        }
        // Nobody needs it: let go first, look once more, and only then leave. What is accepted after that look finds the lock
        // free and starts another daemon.
        drop(held);
        if !owes_work(&local).await {
            break None;
        }
        match lock::take(&local.places).map_err(cannot_lock)? {
            Some(again) => held = again,
            None => break None,
        }
    };
    stop.send_replace(true);
    let _ = dispatching.await;
    let _ = tidying.await;
    if let Some(face) = face {
        face.end().await;
    }
    let since = Instant::now();
    drain(context, &compute).await;
    if held.is_some() {
        end_others(context, &local, since).await;
    }
    Ok(())
}

/// The right to be the daemon; `None` if another one has it and that is as good.
fn hold(local: &Local, background: bool) -> Result<Option<Held>, CliError> {
    let given = match background {
        true => lock::inherit(&local.places).map_err(cannot_lock)?,
        false => None,
    };
    let taken = match given {
        Some(held) => Some(held),
        None => lock::take(&local.places).map_err(cannot_lock)?,
    };
    if taken.is_none() && !background {
        let message = "a daemon runs already for this data directory";
        let error = CliError::new(codes::CONFLICT, message);
        return Err(error.hint("rat-things daemon status"));
    }
    Ok(taken)
}

fn cannot_lock(error: std::io::Error) -> CliError {
    let message = format!("cannot lock the data directory: {error}");
    CliError::new(codes::UNAVAILABLE, message)
}

/// What to serve over HTTP, if anything: by flag, else by configuration.
fn to_serve(context: &Context, args: &RunArgs) -> Option<Serve> {
    let daemon = &context.settings.daemon;
    let no_auth = args.no_auth || daemon.no_auth;
    let flags = args.tls_cert.clone().zip(args.tls_key.clone());
    let tls = flags.or_else(|| daemon.tls.clone());
    // Without keys there is nobody to be protected from but oneself: only on an explicit wish.
    let limit_wished = context.settings.origin("daemon.requests_per_second") != Origin::Default;
    Some(Serve {
        address: args.listen.or(daemon.listen)?,
        no_auth,
        allow_remote: args.allow_remote,
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        requests_per_second: daemon
            .requests_per_second
            .filter(|_| limit_wished || !no_auth),
    })
}

/// Begins to serve. In the foreground, what was asked for and can't be done is an error; in the background the work, for which the
/// daemon was started, comes first.
async fn face(
    context: &mut Context,
    local: &Local,
    serve: Serve,
    background: bool,
    environments: Arc<dyn Environments>,
    measures: Measures,
    stopped: &watch::Receiver<bool>,
) -> Result<Option<Face>, CliError> {
    let begun = http::begin(local, serve, environments, measures, stopped.clone());
    let face = match begun.await {
        Ok(face) => face,
        Err(error) if background => {
            let said = format!("works without HTTP: {error}");
            context.console.say.warn(said);
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let note = sign(context, local, Some(&face))?;
    let base = note.base_url().unwrap_or_default();
    context.console.say.note(format!("serves {base}"));
    Ok(Some(face))
}

/// Says of itself who holds the lock, and where it serves.
fn sign(context: &Context, local: &Local, face: Option<&Face>) -> Result<Note, CliError> {
    let note = Note {
        identity: compose::process_identity().unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_ms: compose::now_ms(),
        listen: face.map(|face| face.address),
        endpoint_url: super::told_endpoint(&context.settings),
        tls: face.is_some_and(|face| face.is_tls),
    };
    lock::write_note(&local.places, &note).map_err(cannot_lock)?;
    Ok(note)
}

/// The arguments that make this program a worker of the same profile.
fn worker_args(context: &Context) -> Vec<String> {
    let mut args = super::autostart::profile_args(context);
    args.push("worker".to_owned());
    args
}

/// Waits until the daemon is asked to stop (`true`) or has had nothing to do for so long (`false`).
async fn wait(
    local: &Local,
    compute: &compose::WorkerPool,
    idle_exit: Option<Duration>,
    signals: &mut Signals,
) -> bool {
    let mut looking = tokio::time::interval(Duration::from_millis(LOOK_MS));
    looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut idle_since: Option<Instant> = None;
    let mut quiet_looks = 0u64;
    let looks_per_question = idle_exit.map_or(1, looks_per_question);
    for look in 0u64.. {
        tokio::select! {
            () = signals.any() => return true,
            _ = looking.tick() => {}
        }
        compute
            .ask_idle_to_leave(WORKER_IDLE_MS, GIVE_BACK_MS)
            .await;
        quiet_looks = match compute.idle() {
            true => quiet_looks + 1,
            false => 0,
        };
        if quiet_looks == QUIET_LOOKS {
            compose::give_code_back();
        }
        let Some(idle_exit) = idle_exit else { continue };
        let ask = look.is_multiple_of(looks_per_question);
        if !compute.idle() || (ask && owes_work(local).await) {
            idle_since = None;
            continue;
        }
        let since = *idle_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= idle_exit {
            return false;
        }
    }
    true
}

/// Looks from one question to the store to the next. Whoever waits for long can ask rarely.
fn looks_per_question(idle_exit: Duration) -> u64 {
    (idle_exit.as_secs() * 1_000 / LOOK_MS / ASKED_BEFORE_LEAVING).clamp(1, LOOKS_PER_QUESTION)
}

/// Whether any Session has an agenda entry. Trouble counts as yes: a daemon that can't tell stays.
async fn owes_work(local: &Local) -> bool {
    for group in [Group::Execute, Group::Deliver] {
        for shard in 0..AGENDA_SHARDS {
            let range = Range {
                partition: agenda_partition(group, shard),
                from: String::new(),
                until: None,
                reverse: false,
                limit: 1,
            };
            match local.core.store.range(&range).await {
                Ok(page) if page.records.is_empty() => {}
                Ok(_) | Err(_) => return true,
            }
        }
    }
    false
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// A terminal was closed, which is none of a background process's business.
    _hangup: Option<Signal>,
}

impl Signals {
    fn new(background: bool) -> Result<Signals, CliError> {
        let failed = |error| {
            CliError::new(
                codes::UNAVAILABLE,
                format!("cannot listen for signals: {error}"),
            )
        };
        Ok(Signals {
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            _hangup: match background {
                true => Some(signal(SignalKind::hangup()).map_err(failed)?),
                false => None,
            },
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_waits_for_long_asks_its_store_rarely_and_always_before_it_leaves() {
        for (idle_s, looks) in [(0, 1), (1, 1), (8, 1), (80, 10), (600, 60), (86_400, 60)] {
            assert_eq!(looks_per_question(Duration::from_secs(idle_s)), looks);
        }
    }
}
