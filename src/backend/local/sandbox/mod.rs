//! Managed environments on this machine: bubblewrap outside, our own PID 1 inside, one sandbox an environment, many commands in it.
//!
//! - [`environments`](LocalEnvironments) opens, finds and removes them; `home` is one's directory and lock; `launch` and `layout` start
//!   the launcher; `refusal` says why that is impossible here.
//! - `environment` is one that is open; `control` and `wire` speak with PID 1; `exec` follows one command; `capture` takes outputs.
//! - [`proxy`] is the only way to a network.
//! - [`init`] is PID 1.
//!
//! What stops an agent is that things are not there (mounts, processes, networks), not that they are forbidden. What is surprising:
//! the engine never kills a sandbox. It closes the control socket, or dies; PID 1 leaves, and the kernel ends the rest.

mod capture;
mod config;
mod control;
mod descriptors;
mod environment;
mod environments;
mod erase;
mod exec;
mod facts;
mod home;
mod identity;
pub mod init;
mod kept;
mod launch;
mod layout;
mod orphan;
mod packet;
pub mod proxy;
mod refusal;
mod variables;
mod wire;
mod witness;
mod workspace;

pub use config::{EnvironmentLimits, LocalEnvironmentsConfig, RunAs};
pub use environments::LocalEnvironments;
pub(in crate::backend) use facts::{find_launcher, why_not};
pub(in crate::backend) use launch::{keep_open, open_program};
pub(in crate::backend) use layout::{Shown, survey};
