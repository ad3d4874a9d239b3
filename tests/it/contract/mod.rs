//! One behaviour suite per port, run against every implementation.

mod bell;
mod blobs;
mod compute;
