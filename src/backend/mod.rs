//! The worlds behind the engine's ports.

pub mod harness;
pub mod local;
pub mod memory;
pub mod model;
pub mod verified;
