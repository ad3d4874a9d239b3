//! The harness `codex`: the real Codex against a model provider on loopback.

/// A home of Codex, and Turns in it without a harness.
mod exec;
/// The Codex that tests/codex/install puts below the target directory.
mod installed;
/// The model provider.
mod stub;
