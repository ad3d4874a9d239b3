//! A worker process: takes runs from its daemon, works on them, and reports what it holds.
//!
//! It outlives its daemon: when the daemon is gone it finishes what runs, gives nothing new a start, and ends.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::Context;
use super::compose::{self, DaemonLine, Told};
use super::out::{CliError, codes};
use crate::engine::ports::ExecutionId;
use crate::engine::run::Worker;

/// Time that running Turns get when the machine asks a worker to end (SIGTERM).
const TERM_GRACE_MS: u64 = 1_000;

/// Runs the worker until it is asked to leave and everything it ran is at a safe point.
pub async fn run(context: &mut Context) -> Result<(), CliError> {
    let mut pipe = DaemonLine::open().map_err(|error| {
        let message = format!("a worker is started by a daemon, with pipes: {error}");
        CliError::new(codes::USAGE, message).hint("start a daemon: rat-things daemon start")
    })?;
    let local = compose::open(&context.settings).await?;
    let environments = compose::environments(&context.settings, &local.places)?;
    compose::read_provider_key(&mut context.settings).await?;
    let harness = compose::harness(&context.settings)?;
    let worker = Worker::new(local.core.clone(), harness, Arc::clone(&environments));
    worker.listen();
    let reports = pipe.reports();
    reports.ready();
    let running = Arc::new(watch::Sender::new(0usize));
    let holds = Arc::new(Mutex::new(BTreeSet::new()));
    let mut terminated = terminated()?;
    let mut leaving = false;
    loop {
        let command = tokio::select! {
            command = pipe.next(), if !leaving => command,
            _ = terminated.recv() => Told::Leave { grace_ms: TERM_GRACE_MS },
            () = idle(&running), if leaving => break,
        };
        match command {
            Told::Run(grant) => {
                running.send_modify(|n| *n += 1);
                let (worker, reports) = (Arc::clone(&worker), reports.clone());
                let (running, holds) = (Arc::clone(&running), Arc::clone(&holds));
                tokio::spawn(async move {
                    let (session, generation) = (grant.session.clone(), grant.generation);
                    worker.run(grant).await;
                    let held: Vec<String> = {
                        let mut holds = holds.lock().unwrap_or_else(PoisonError::into_inner);
                        holds.insert(session.clone());
                        holds.iter().cloned().collect()
                    };
                    reports.ended(&session, generation, held);
                    running.send_modify(|n| *n -= 1);
                });
            }
            Told::Leave { grace_ms } => {
                worker.leave(grace_ms);
                leaving = true;
            }
            Told::DaemonGone => {
                leaving = true;
                give_back(&worker, &running);
            }
        }
    }
    reports.flush().await;
    Ok(())
}

/// What the daemon claimed for this worker and did not live to hand over is given back, if the worker stays for what it has.
fn give_back(worker: &Arc<Worker>, running: &watch::Sender<usize>) {
    if *running.borrow() == 0 {
        return;
    }
    if let Some(identity) = compose::process_identity() {
        let worker = Arc::clone(worker);
        tokio::spawn(async move {
            let execution = ExecutionId(identity);
            worker.give_back_what_never_came(&execution).await;
        });
    }
}

async fn idle(running: &watch::Sender<usize>) {
    let mut watched = running.subscribe();
    let _ = watched.wait_for(|n| *n == 0).await;
}

fn terminated() -> Result<tokio::signal::unix::Signal, CliError> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).map_err(|error| {
        CliError::new(
            codes::UNAVAILABLE,
            format!("cannot listen for signals: {error}"),
        )
    })
}
