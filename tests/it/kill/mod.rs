//! The real program is killed at every moment, with `kill -9`, and nothing accepted is lost, nothing done is done twice.
//!
//! Each test has data directories of its own, the demo model, and the real sandbox. `RAT_THINGS_TEST_SEED` repeats a plan.

pub(crate) mod dice;
mod instant;
pub(crate) mod processes;
pub(crate) mod rat;
pub(crate) mod records;
pub(crate) mod transcript;
mod verdict;

mod adopted;
mod at_any_instant;
mod client;
mod deleted;
mod halfway;
mod many;
mod repeated;
mod silent;
mod waiting;
