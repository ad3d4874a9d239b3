//! The AWS world.

pub mod setup;
