//! What stands between the AWS clients and what they talk to, so that a test decides what goes wrong.
//!
//! Everything here runs on threads of its own: it outlives any runtime of a test, and a process that is killed does not take it along.

pub(crate) mod ec2;
pub(crate) mod host;
mod listen;
pub(crate) mod proxy;
pub(crate) mod scripted;
pub(crate) mod when;
mod wire;
