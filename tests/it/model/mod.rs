//! The model client, the demo model and the `responses` harness against loopback servers.

/// What the harness reports, claims and ends with.
mod harness;
/// A small engine and small environments around a harness.
mod world;
