//! What a command prints. Data goes through [`Out`] to standard output, talk through [`Say`] to standard error; nothing else
//! in the program writes to either.
//!
//! Strings come in as they are: the writers sanitise what goes to a terminal and escape what goes into a record, so that no
//! command can forget it. A command ends with a [`CliError`] or without one; its kind is the process's exit code.
//! Surprising: a reader that closed the pipe is reported as an error too, of a kind that is silent and exits 0.

mod args;
mod cell;
pub mod codes;
mod console;
mod data;
mod details;
mod error;
mod format;
mod json;
mod kind;
mod live;
mod paint;
mod progress;
mod prompt;
mod say;
mod spinner_line;
mod table;
mod terminal;
mod window;
mod yaml;

#[cfg(test)]
pub(crate) mod capture;
#[cfg(test)]
mod docs;

pub use args::OutputArgs;
pub use cell::{Cell, Times};
pub use codes::Code;
pub use console::Console;
pub use data::Out;
pub use details::Details;
pub use error::CliError;
pub use format::Format;
pub use kind::Kind;
pub use live::{LineKind, Live};
pub use paint::Role;
pub use progress::{Progress, Spot};
pub use prompt::Prompts;
pub use say::{Level, Say};
pub use table::{Column, Table};
pub use terminal::{ColorChoice, Facts, Stream, Terminal};
