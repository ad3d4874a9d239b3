//! The program from outside: words, streams and exit codes, in a hermetic environment.

mod agents;
mod archives;
mod artifacts;
mod aws;
mod daemon;
mod disk;
pub mod env;
mod environments;
mod formats;
mod frame;
mod fsck;
mod help;
mod hostile;
mod live;
mod operator;
mod refusals;
mod scrub;
mod secrets;
mod sessions;
mod stored;
mod streams;
mod terminal;
mod tty;
