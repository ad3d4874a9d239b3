//! The engine: its rules as tables, and the whole journey over memory ports with a real harness in a scripted world.

mod batches;
mod bench;
mod bounds;
mod journey;
mod matrix;
mod matrix_session;
mod outbox;
mod property;
mod records;
mod world;
