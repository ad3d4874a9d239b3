//! One behaviour suite per port, run against every implementation.

mod bell;
mod blobs;
mod compute;
mod secrets;
/// What only the SQLite store promises: several processes, crashes, damage, full disks.
mod sqlite;
/// The Store port: memory and SQLite.
mod store;
