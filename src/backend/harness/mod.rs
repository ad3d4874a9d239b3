//! Adapters that drive an agent.

pub mod by_agent;
pub mod codex;
pub mod responses;
