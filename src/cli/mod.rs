//! The command line: one file per command, writers for data and talk, and the place that names concrete backends.

pub mod compose;
pub mod config;
pub mod out;

use std::process::ExitCode;

/// The whole program.
pub fn main() -> ExitCode {
    if let Some(code) = compose::hidden() {
        return code;
    }
    ExitCode::SUCCESS
}
