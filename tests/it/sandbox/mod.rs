//! Isolation of managed environments. Every test starts real sandboxes; where none can be started, it fails with the refusal.

mod escape;
mod exec;
mod lifetime;
mod world;
