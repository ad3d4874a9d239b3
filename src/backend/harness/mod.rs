//! Adapters that drive an agent.

pub mod responses;
