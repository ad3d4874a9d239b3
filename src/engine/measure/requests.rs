//! Requests to services that a world consists of: what the composition knows of them, for whoever shows it.

use std::sync::Arc;

/// One kind of request, and how often it was sent by this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The service, as it calls itself.
    pub service: String,
    /// The operation, as the service calls it.
    pub operation: String,
    /// What for, in one word.
    pub purpose: &'static str,
    /// How often.
    pub count: u64,
}

/// Tells what was sent so far.
pub type Requests = Arc<dyn Fn() -> Vec<Requested> + Send + Sync>;
