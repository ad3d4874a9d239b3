//! The screen: decided in messages, drawn into memory, fed by a deployment of the test's own, and once with the real program in tmux.

mod answer;
mod artifacts;
mod create;
mod drawn;
mod fake;
mod find;
mod hostile;
mod keys;
mod palette;
mod records;
mod samples;
mod scale;
mod stale;
mod tmux;
mod turns;
mod update;
mod views;
