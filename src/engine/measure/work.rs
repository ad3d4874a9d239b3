//! What a dispatcher and a deliverer of this process did.

use super::counts::Counter;
use crate::engine::delivery::DeliveryState;

/// What a dispatcher did, each counted once it was committed.
#[derive(Debug, Default)]
pub struct DispatchCounts {
    /// Runs that were given to a worker: a generation was claimed for each.
    pub claimed: Counter,
    /// Leases that were taken from a worker that was proven gone, so that another one goes on.
    pub taken_over: Counter,
    /// Runs whose worker was silent and could not be proven gone, or was being stopped: fenced.
    pub fenced: Counter,
    /// Workers that provably did not start.
    pub not_started: Counter,
}

/// What became of deliveries.
#[derive(Debug, Default)]
pub struct DeliveryCounts {
    /// They arrived.
    pub delivered: Counter,
    /// They did not, and are not tried again.
    pub failed: Counter,
    /// Nobody knows.
    pub uncertain: Counter,
    /// The attempt came to nothing, and there will be another.
    pub postponed: Counter,
}

impl DeliveryCounts {
    /// An attempt left a delivery in this state.
    pub fn left(&self, state: DeliveryState) {
        match state {
            DeliveryState::Delivered => self.delivered.one(),
            DeliveryState::Failed => self.failed.one(),
            DeliveryState::Uncertain => self.uncertain.one(),
            DeliveryState::Pending => self.postponed.one(),
            DeliveryState::Sending => {}
        }
    }
}
