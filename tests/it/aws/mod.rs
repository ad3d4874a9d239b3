//! The AWS world against emulators on loopback: dynoxide for DynamoDB, a stand-in of ours for EC2, ministack for the rest.
//!
//! None is AWS. What they get wrong, as far as it matters here, is said by the tests it matters to.

mod account;
mod calls;
mod costs;
mod crowd;
mod emulators;
mod endpoint;
mod faults;
mod fsck;
mod journey;
mod kills;
mod machines;
mod session;
mod setup;
mod sound;
pub(crate) mod stand;
mod storm;
mod story;

pub(crate) use self::emulators::{moto, place};
