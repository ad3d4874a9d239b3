//! The local world: SQLite, files and processes of one machine.

pub mod blobs;
pub mod sandbox;
pub mod store;
