//! The model client, the demo model and the `responses` harness against loopback servers.

/// The demo model: its documentation, and going on after crashes.
mod demo;
/// What the harness reports, claims and ends with.
mod harness;
/// The client of a Responses-API server.
mod http;
/// The patch tool as a process.
mod patch;
/// A model provider on loopback.
mod server;
/// A small engine and small environments around a harness.
mod world;
