//! The engine: its rules as tables, and the whole journey over memory ports with a real harness in a scripted world.

mod archive_refusals;
pub mod archives;
mod batches;
pub mod bench;
mod bounds;
pub mod checker;
mod crowd;
mod deliveries;
mod delivery_perils;
mod entries;
mod erasing;
mod faults;
mod harnesses;
mod journey;
mod keys;
mod late_turns;
mod loss;
mod matrix;
mod matrix_session;
mod meanwhile;
mod mortal;
mod perils;
mod property;
mod quarantine;
mod records;
mod wakeups;
pub mod world;
