//! The index of the integration tests: one module per behaviour, one binary, one link.

/// The wire types: their shape against the contract, strict reading, limits, what never leaves.
mod api;
/// The AWS world, over emulators.
mod aws;
/// The program from outside: words, streams and exit codes.
mod cli;
/// The harness `codex`: the real Codex against a model provider on loopback.
mod codex;
/// One behaviour suite per port, run against every implementation.
mod contract;
/// The journey of an input over memory ports.
mod engine;
/// A whole data directory is checked, and what is safe is repaired.
mod fsck;
/// The real program, killed at every moment.
mod kill;
/// Who may use whom: design rule enforced over `use crate::` lines.
mod layout;
/// The model client, the demo model and the `responses` harness against loopback servers.
mod model;
/// A small file system of its own for one test.
mod mounts;
/// What a power cut leaves of a store.
mod power_cut;
/// Commands as clients of a server: the same as here, and through everything that a network does.
mod remote;
/// Isolation of managed environments: every escape that was ever tried.
mod sandbox;
/// The Agents API over HTTP, from a client's side of a loopback socket.
mod server;
/// Builds the library that is preloaded to make syncs slow or fail.
mod shim;
/// A child process that writes to a store until it is killed, and the proof of what it left behind.
mod store_child;
/// What a commit costs in syncs and pages.
mod sync_counts;
/// The screen: decided, drawn, and in a terminal.
mod tui;
/// The commit that stores are measured with, shared with the benches.
#[path = "../../benches/workload.rs"]
mod workload;
