//! The terminal UI: Sessions, one Session, a message to its agent, and what lies above them. It sees the engine through the port that commands
//! use, so a store on this machine and a server look the same; what only the records tell comes through the operator's port, where they are at hand.
//!
//! [`update`] decides, [`view`] draws, [`world`] fetches and sends, [`screen`] owns the terminal. Deciding and drawing are pure, so that tests
//! are the world. Surprising: nothing is drawn on a clock; a frame follows only from something that changed what is shown.

pub mod action;
pub mod answer;
pub mod artifacts;
pub mod columns;
pub mod composer;
pub mod copy;
pub mod create;
mod edit;
pub mod field;
pub mod filter;
pub mod find;
mod fuzzy;
pub mod inspect;
pub mod keymap;
pub mod layers;
pub mod linear;
pub mod login;
pub mod msg;
mod pager;
pub mod palette;
pub mod picture;
pub mod pixels;
pub mod preview;
pub mod reader;
pub mod reading;
pub mod records;
pub mod rows;
pub mod save;
pub mod screen;
pub mod session;
pub mod sessions;
pub mod settle;
pub mod several;
pub mod state;
pub mod subagents;
pub mod terminal;
pub mod times;
pub mod transcript;
pub mod turns;
pub mod update;
pub mod view;
pub mod window;
pub mod world;
