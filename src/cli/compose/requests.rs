//! What this process sent to AWS.

use std::sync::{Arc, OnceLock};

use crate::backend::aws::calls::Calls;
use crate::backend::aws::client::AwsClients;
use crate::engine::measure::{Requested, Requests};

/// A process has one profile, and so one account.
static CALLS: OnceLock<Calls> = OnceLock::new();

/// Counts what these clients send.
pub(super) fn count(clients: &AwsClients) {
    let _ = CALLS.set(clients.calls());
}

/// What was sent to AWS so far; nothing, if there is no account to send it to.
pub fn requests() -> Option<Requests> {
    let calls = CALLS.get()?.clone();
    Some(Arc::new(move || {
        let counts = calls.counts().into_iter();
        let requested = counts.map(|(call, count)| Requested {
            service: call.service,
            operation: call.operation,
            purpose: call.purpose.name(),
            count,
        });
        requested.collect()
    }))
}

/// Requests that were sent to AWS so far, a line each: how many, what, what for. Nothing, if there was no account to send them to.
pub fn requests_to_aws() -> Option<Vec<String>> {
    let sent = requests()?();
    let total: u64 = sent.iter().map(|one| one.count).sum();
    let lines = sent.iter().map(|one| {
        let (count, service, operation) = (one.count, &one.service, &one.operation);
        format!("{count:>6}  {service} {operation} ({})", one.purpose)
    });
    Some(
        std::iter::once(format!("{total:>6}  requests to AWS"))
            .chain(lines)
            .collect(),
    )
}
