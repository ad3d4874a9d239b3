//! Ports: everything the engine needs from outside, and the promise of each that matters.
//!
//! Implementations live in `backend`. One contract suite per port (`tests/it/contract`) runs against every implementation.
//! Errors say who must act and whether it happened, did not happen, or may have happened; the last is never folded into the
//! other two.

mod blobs;
mod checkpoint;
mod compute;
mod courier;
mod deployment;
mod environment;
mod harness;
mod live;
mod model;
mod model_input;
mod operator;
mod secrets;
mod store;
mod subagent;
mod surroundings;
mod workspace;

pub use blobs::*;
pub use checkpoint::*;
pub use compute::*;
pub use courier::*;
pub use deployment::*;
pub use environment::*;
pub use harness::*;
pub use live::*;
pub use model::*;
pub use model_input::*;
pub use operator::*;
pub use secrets::*;
pub use store::*;
pub use subagent::*;
pub use surroundings::*;
pub use workspace::*;
