//! Isolation of managed environments. Every test starts real sandboxes; where none can be started, it fails with the refusal.

mod bare;
mod converse;
mod escape;
mod exec;
mod lifetime;
mod limits;
mod network;
mod ordinary;
mod outputs;
mod world;
