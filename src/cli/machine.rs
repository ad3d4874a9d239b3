//! The worker of a machine that was launched for one Session. It ends, and its machine with it, when there is nothing more to do here.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::Context;
use super::compose::{self, ThisMachine};
use super::out::{CliError, codes};
use crate::engine::ids::SessionId;
use crate::engine::post::{Limits, Post};
use crate::engine::run::Worker;

/// A machine that is taken back has two minutes. Running Turns get this much of them, and the rest is for saying so.
const CALLED_BACK_GRACE_MS: u64 = 60_000;
/// What running Turns get when the machine is shut down.
const TERM_GRACE_MS: u64 = 5_000;
/// How often the machine's place is asked for a notice.
const NOTICE_LOOK: Duration = Duration::from_secs(5);

/// What the machine was launched for.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The Session
    #[arg(long)]
    session: String,
    /// Token of the execution
    #[arg(long)]
    execution: String,
}

/// Works until there is no reason to stay.
pub async fn run(context: &mut Context, args: &Args) -> Result<(), CliError> {
    let session = SessionId::parse(&args.session)
        .ok_or_else(|| CliError::new(codes::INPUT, format!("{:?} is no session", args.session)))?;
    let execution = compose::execution(&args.execution)?;
    let Some(aws) = context.settings.aws.clone() else {
        let message = "the worker of a machine needs a profile of kind \"aws\"";
        return Err(CliError::new(codes::USAGE, message));
    };
    let here = ThisMachine::here();
    let proven = here.prove(&aws.deployment, session.as_str(), &args.execution);
    let id = proven.await?;
    tracing::info!(machine = id, %session, %execution, "the machine is the one that was meant");
    compose::read_provider_key(&mut context.settings).await?;
    let machine = compose::machine(&context.settings).await?;
    let environments = compose::environments(&context.settings, &machine.places)?;
    let harness = compose::harness(&context.settings)?;
    let worker = Worker::new(machine.core.clone(), harness, environments);
    worker.listen();
    let limits = Limits {
        idle: Duration::from_secs(aws.workers.idle_s),
        unreachable: Duration::from_secs(aws.workers.unreachable_s),
    };
    let leave = leave_when_asked(here)?;
    let post = Post::new(
        machine.core,
        Arc::clone(&worker),
        machine.reached,
        (session, execution),
        limits,
    );
    let end = post.keep(leave).await;
    tracing::info!(machine = id, "the worker ends: {}", end.words());
    Ok(())
}

/// Tells the grace that running Turns get, once the machine is shut down or taken back.
fn leave_when_asked(here: ThisMachine) -> Result<watch::Receiver<Option<u64>>, CliError> {
    let failed = |error| {
        let message = format!("cannot listen for signals: {error}");
        CliError::new(codes::UNAVAILABLE, message)
    };
    let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
    let (leave, asked) = watch::channel(None);
    tokio::spawn(async move {
        let grace_ms = tokio::select! {
            _ = terminated.recv() => TERM_GRACE_MS,
            () = here.called_back(NOTICE_LOOK) => CALLED_BACK_GRACE_MS,
        };
        tracing::warn!(grace_ms, "the machine is about to end");
        leave.send_replace(Some(grace_ms));
        // As long as somebody listens.
        leave.closed().await;
    });
    Ok(asked)
}
