//! Every port in memory, for tests and for the simulator.

pub mod bell;
pub mod blobs;
pub mod clock;
pub mod compute;
pub mod courier;
pub mod environments;
pub mod identity;
pub mod ids;
pub mod secrets;
pub mod store;

pub use store::{Fault, Faults, MemoryStore};
