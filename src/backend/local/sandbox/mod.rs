//! Managed environments on this machine: bubblewrap outside, our own PID 1 inside.
pub mod init;
