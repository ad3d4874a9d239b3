//! `/metrics`: numbers about the daemon at work, in the text format of Prometheus.
//!
//! They are totals of all owners and name nobody: no id, no text, no address. What each counts, and since when, is in its help text
//! and in `docs/metrics.md`, which lists them all.

mod page;
mod text;
mod traffic;

pub(super) use page::page;
pub(super) use traffic::{Gauge, Open, Traffic};
