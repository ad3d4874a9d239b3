//! Names the concrete backends; no other face file may.

use std::process::ExitCode;

use crate::backend::harness::responses::patch;
use crate::backend::local::sandbox::init;

/// The binary's private roles, taken before any option is parsed: PID 1 of a sandbox, and the patch tool inside one.
pub fn hidden() -> Option<ExitCode> {
    let role = std::env::args_os().nth(1)?;
    match role.to_str()? {
        init::ROLE => Some(init::main()),
        patch::ROLE => Some(patch::main()),
        _ => None,
    }
}
