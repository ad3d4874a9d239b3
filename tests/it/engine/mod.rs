//! The whole journey over memory ports: real engine, real harness, scripted world.

mod journey;
mod world;
