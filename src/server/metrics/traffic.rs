//! What passes through the HTTP face of this process.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::engine::measure::{Counter, Durations};
use crate::server::routes::Route;

/// Stands for every path and method that is in no route: clients choose them, and would choose what is counted.
const NO_ROUTE: (&str, &str) = ("-", "-");

/// See the module.
#[derive(Debug, Default)]
pub(in crate::server) struct Traffic {
    /// By method, route and status: as many as routes have answers.
    requests: Mutex<BTreeMap<(&'static str, &'static str, u16), u64>>,
    /// How long requests took until their answer began.
    pub(super) took: Durations,
    /// Requests that came too soon.
    pub(in crate::server) rate_limited: Counter,
    /// Sessions that were created.
    pub(in crate::server) sessions_created: Counter,
    /// Batches of inputs that were accepted.
    pub(in crate::server) inputs_accepted: Counter,
    /// Batches that had been accepted before, under the same key.
    pub(in crate::server) inputs_repeated: Counter,
    /// Connections that are open.
    pub(in crate::server) connections: Arc<Gauge>,
}

impl Traffic {
    /// A request was answered.
    pub(in crate::server) fn answered(&self, route: Option<&Route>, status: u16, time: Duration) {
        let (method, path) = route.map_or(NO_ROUTE, |route| (route.verb.name(), route.path));
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((method, path, status)).or_default() += 1;
        drop(requests);
        self.took.took(time);
    }

    /// Requests by method, route and status.
    pub(super) fn requests(&self) -> BTreeMap<(&'static str, &'static str, u16), u64> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.clone()
    }
}

/// How many of something there are.
#[derive(Debug, Default)]
pub(in crate::server) struct Gauge(AtomicU64);

impl Gauge {
    /// As many as there are now.
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(in crate::server) struct Open(Arc<Gauge>);

impl Open {
    /// One more.
    pub(in crate::server) fn one(of: &Arc<Gauge>) -> Open {
        of.0.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(of))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::routes::ROUTES;

    #[test]
    fn requests_are_counted_by_route_and_status_and_unknown_ones_together() {
        let traffic = Traffic::default();
        let moment = Duration::from_millis(1);
        traffic.answered(ROUTES.first(), 200, moment);
        traffic.answered(ROUTES.first(), 200, moment);
        traffic.answered(ROUTES.first(), 503, moment);
        traffic.answered(None, 404, moment);
        let counted: Vec<_> = traffic.requests().into_iter().collect();
        assert_eq!(
            counted,
            [
                (("-", "-", 404), 1),
                (("GET", "/healthz", 200), 2),
                (("GET", "/healthz", 503), 1)
            ]
        );
    }

    #[test]
    fn what_is_open_is_counted_until_it_is_not() {
        let gauge = Arc::new(Gauge::default());
        let (one, two) = (Open::one(&gauge), Open::one(&gauge));
        assert_eq!(gauge.get(), 2);
        drop(one);
        assert_eq!(gauge.get(), 1);
        drop(two);
        assert_eq!(gauge.get(), 0);
    }
}
