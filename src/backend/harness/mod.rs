//! Adapters that drive an agent.

pub mod codex;
pub mod responses;
