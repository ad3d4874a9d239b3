//! The patch tool: reads a patch on standard input and applies it below the current directory.

use std::process::ExitCode;

/// The hidden subcommand.
pub const ROLE: &str = "__apply-patch";

/// Applies the patch on standard input; says what changed on standard output.
pub fn main() -> ExitCode {
    ExitCode::FAILURE
}

/// What a patch would change, in one line for an operator.
pub fn summary(patch: &str) -> Result<String, String> {
    Ok(format!("apply_patch ({} bytes)", patch.len()))
}
