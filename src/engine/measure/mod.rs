//! What can be measured of the engine at work, for who watches over it.
//!
//! Three kinds, because several processes work on one store. What passes through this process is counted where it passes
//! ([`MeasuredStore`], the counts of a dispatcher and of a deliverer). What workers and commands do is in the records, so a
//! [`Census`] reads it there. What is owed now is read from the agenda when somebody asks ([`Core::agenda_now`]). No number names a
//! Session, an owner or a text. Surprising: nothing here is stored; every count begins with this process.

mod agenda;
mod census;
mod counts;
mod requests;
mod store;
mod work;

pub use agenda::AgendaNow;
pub use census::{Census, Ended};
pub use counts::{BOUNDS_US, Counter, Durations, DurationsNow};
pub use requests::{Requested, Requests};
pub use store::{CommitEnd, MeasuredStore, StoreCounts};
pub use work::{DeliveryCounts, DispatchCounts};

use std::sync::Arc;

#[cfg(doc)]
use super::core::Core;

/// Everything that one process measures.
#[derive(Clone)]
pub struct Measures {
    /// Its commits.
    pub store: Arc<StoreCounts>,
    /// What its dispatcher did.
    pub dispatch: Arc<DispatchCounts>,
    /// What its deliverer did.
    pub deliveries: Arc<DeliveryCounts>,
    /// What became of Turns.
    pub census: Arc<Census>,
    /// What was sent to the services that the world consists of; `None`: it consists of none.
    pub requests: Option<Requests>,
}
