//! One behaviour suite per port, run against every implementation.

/// The Store port: memory and SQLite.
mod store;
