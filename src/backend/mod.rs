//! The worlds behind the engine's ports.

pub mod aws;
pub mod demo;
pub mod harness;
pub mod key;
pub mod local;
pub mod memory;
pub mod model;
mod outbound;
pub mod remote;
mod retry_after;
mod sse;
pub mod verified;
