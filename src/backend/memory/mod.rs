//! Every port in memory, for tests and for the simulator.

pub mod store;

pub use store::{Fault, Faults, MemoryStore};
