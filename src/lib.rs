//! `rat-things` runs durable AI-agent Sessions on infrastructure its operator owns.
//!
//! The map, from the outside in:
//!
//! - [`cli`] is the face on a terminal and in a pipe. It parses, calls the engine and prints.
//! - [`tui`] is the face that fills a terminal: lists, a transcript that moves, a message that is written.
//! - [`server`] is the face over HTTP: the Agents API.
//! - [`engine`] is the core: the rules and the journey of one input. It has no IO of its own.
//! - [`backend`] is the world: SQLite, files, processes, sandboxes, models behind the engine's ports.
//! - [`api`] holds the wire types of the Agents API, the only promises made in JSON.
//! - [`text`] makes text from agents safe, measures it and formats times and sizes.
//!
//! Who may use whom is a table in `ARCHITECTURE.md`; `tests/it/layout.rs` enforces it.

pub mod api;
pub mod backend;
pub mod cli;
pub mod engine;
pub mod server;
pub mod text;
pub mod tui;
