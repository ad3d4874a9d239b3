//! Workers on instances of EC2: one machine per Session at a time, launched from the deployment's template, and found again by its tags.
//!
//! Nothing here remembers an instance. An execution is named by a token that is chosen before it is claimed and becomes a tag of its
//! machine, so that any daemon can look it up after any crash. EC2 is eventually consistent: what is not shown is not gone.
//!
//! Read in this order: `names`, `launch` (what is asked of EC2), `outcome` (what its answers mean), `sightings` (what is known of
//! executions), `calls` (the only use of EC2's client), `ec2` (the port), `beside` (other workers of the same account).

mod beside;
mod calls;
mod ec2;
mod launch;
mod names;
mod outcome;
mod program;
mod sightings;
mod user_data;

pub use self::beside::Beside;
pub use self::ec2::{Ec2Compute, Ec2Config};
pub use self::launch::LaunchOptions;
pub use self::names::{
    EXECUTION_TAG, GENERATION_TAG, SESSION_TAG, execution_of, is_machine, token_of,
};
pub use self::program::WorkerProgram;
pub use self::user_data::Boot;
