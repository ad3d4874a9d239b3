//! The engine: its rules as tables, and the whole journey over memory ports with a real harness in a scripted world.

mod batches;
mod bench;
mod bounds;
mod faults;
mod journey;
mod late_turns;
mod matrix;
mod matrix_session;
mod mortal;
mod outbox;
mod perils;
mod property;
mod records;
mod wakeups;
mod world;
