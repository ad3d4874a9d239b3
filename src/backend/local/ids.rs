//! The kernel's randomness.

use std::cell::RefCell;

use crate::engine::ports::Ids;

/// Random bits from the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemIds;

/// Bits for ids that each thread asks for at once: asking takes longer than all else about an id.
const STOCK_BYTES: usize = 512;

thread_local! {
    static STOCK: RefCell<Stock> = const { RefCell::new(Stock { bytes: [0; STOCK_BYTES], used: STOCK_BYTES }) };
}

/// Random bits, of which the first `used` bytes were given away.
struct Stock {
    bytes: [u8; STOCK_BYTES],
    used: usize,
}

impl Stock {
    fn take(&mut self, bytes: &mut [u8]) {
        if bytes.len() > STOCK_BYTES {
            return fill(bytes);
        }
        if bytes.len() > STOCK_BYTES - self.used {
            fill(&mut self.bytes);
            self.used = 0;
        }
        let end = self.used + bytes.len();
        bytes.copy_from_slice(&self.bytes[self.used..end]);
        self.used = end;
    }
}

impl Ids for SystemIds {
    fn fill(&self, bytes: &mut [u8]) {
        STOCK.with_borrow_mut(|stock| stock.take(bytes));
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_bits_of_the_stock_are_given_away_twice() {
        let mut seen = HashSet::new();
        for n in 0..1_000usize {
            let mut bytes = vec![0; [16, 17, 100, 600][n % 4]];
            SystemIds.fill(&mut bytes);
            for part in bytes.chunks_exact(16) {
                assert!(seen.insert(part.to_vec()), "{n}");
            }
        }
    }
}
