//! The index of the integration tests: one module per behaviour, one binary, one link.

/// The wire types: their shape against the contract, strict reading, limits, what never leaves.
mod api;
/// One behaviour suite per port, run against every implementation.
mod contract;
/// The journey of an input over memory ports.
mod engine;
/// The real program, killed at every moment.
mod kill;
/// Who may use whom: design rule enforced over `use crate::` lines.
mod layout;
/// The model client, the demo model and the `responses` harness against loopback servers.
mod model;
/// Isolation of managed environments: every escape that was ever tried.
mod sandbox;
