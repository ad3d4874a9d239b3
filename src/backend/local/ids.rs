//! The kernel's randomness.

use crate::engine::ports::Ids;

/// Random bits from the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemIds;

impl Ids for SystemIds {
    fn fill(&self, bytes: &mut [u8]) {
        fill(bytes);
    }
}

/// Fills `bytes` with random bits.
///
/// # Panics
///
/// If the kernel has no random bytes to give, which no supported system does: ids that may repeat are worse than no program.
pub fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes)
        .expect("the kernel gives random bytes; without them no id would be unique");
}
