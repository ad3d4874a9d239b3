//! Harness `responses`: a loop over one Responses-API model with a shell, patches and function tools.
pub mod patch;
