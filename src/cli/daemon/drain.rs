//! The end of a daemon that is asked to stop: its workers leave, and so do those that earlier daemons left behind.

use std::time::Duration;

use tokio::time::Instant;

use crate::cli::Context;
use crate::cli::compose::{self, Local, WorkerPool};

/// What workers get beyond the grace period to give their leases back.
pub(super) const GIVE_BACK_MS: u64 = 5_000;
/// What those get that are asked to end because they still run something when the grace period is over.
const END_WITHIN: Duration = Duration::from_secs(3);
/// Between two looks at who still works.
const LOOK: Duration = Duration::from_millis(50);

/// The running Turns of our own workers get the grace period; then their leases are given back.
pub(super) async fn drain(context: &mut Context, compute: &WorkerPool) {
    let grace_ms = context.settings.daemon.grace_ms;
    if !compute.idle() {
        let grace = crate::text::duration(grace_ms);
        context
            .console
            .say
            .note(format!("stopping; running turns get {grace}"));
    }
    compute.ask_leave(grace_ms).await;
    let patience = Duration::from_millis(grace_ms + GIVE_BACK_MS);
    let _ = tokio::time::timeout(patience, compute.all_gone()).await;
}

/// Ends whoever still works when the grace period that began at `since` is over: a worker of ours that does not leave, and those of
/// earlier daemons, who can't be told of a grace period. Only for the one daemon of the data directory: it would end the workers
/// of another one, too.
pub(super) async fn end_others(context: &mut Context, local: &Local, since: Instant) {
    let grace_over = since + Duration::from_millis(context.settings.daemon.grace_ms);
    let mut left = still_working(local).await;
    while !left.is_empty() && Instant::now() < grace_over {
        tokio::time::sleep(LOOK).await;
        left = still_working(local).await;
    }
    let ended = left
        .iter()
        .map(|worker| compose::end_process(worker, END_WITHIN));
    if futures_util::future::join_all(ended).await.contains(&false) {
        context
            .console
            .say
            .warn("a worker did not leave; its turns go on as soon as a daemon runs");
    }
}

/// Processes that live and hold a lease. If that can't be found out, they are left to the next daemon.
async fn still_working(local: &Local) -> Vec<String> {
    let holders = local.core.leaseholders().await.unwrap_or_default();
    holders
        .into_iter()
        .filter(|holder| compose::is_alive(holder) == Some(true))
        .collect()
}
