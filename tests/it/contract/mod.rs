//! One behaviour suite per port, run against every implementation.

mod bell;
mod blobs;
mod compute;
/// The Store port: memory and SQLite.
mod store;
