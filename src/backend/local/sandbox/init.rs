//! PID 1 of a sandbox: takes spawn requests, reaps, ends trees.

use std::process::ExitCode;

/// The hidden subcommand.
pub const ROLE: &str = "__init";

/// Runs as PID 1 until the control socket closes.
pub fn main() -> ExitCode {
    ExitCode::FAILURE
}
