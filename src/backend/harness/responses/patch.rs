//! The patch tool: reads a patch on standard input and applies it below the current directory.

use std::process::ExitCode;

/// The hidden subcommand.
pub const ROLE: &str = "__apply-patch";

/// Applies the patch on standard input; says what changed on standard output.
pub fn main() -> ExitCode {
    ExitCode::FAILURE
}
