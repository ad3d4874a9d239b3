//! The screen: decided in messages, drawn into memory, fed by a deployment of the test's own, and once with the real program in tmux.

mod answer;
mod artifacts;
mod complaints;
mod create;
mod demo;
mod drawn;
mod endure;
mod fake;
mod find;
mod hostile;
mod keys;
mod lines;
mod palette;
mod picture;
mod records;
mod samples;
mod scale;
mod several;
mod stale;
mod style;
mod subagents;
mod tmux;
mod turns;
mod update;
mod views;
