//! The local world: SQLite, files and processes of one machine.

pub mod archive;
pub mod bell;
pub mod blobs;
pub mod clock;
pub mod compute;
mod datagrams;
pub mod identity;
pub mod ids;
pub mod inventory;
pub mod process;
pub mod sandbox;
pub mod secrets;
pub mod store;
