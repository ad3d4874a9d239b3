//! Which of many requests something happens to.

/// Which of the requests that match.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// The first is 1.
    Nth(u64),
    /// The first so many.
    First(u64),
    /// All of them.
    Every,
    /// So many of a thousand, the same ones for the same seed.
    Chance { per_thousand: u64, seed: u64 },
}

impl When {
    /// Whether it is the turn of the request that matched as the n-th.
    pub(super) fn now(self, matched: u64) -> bool {
        match self {
            When::Nth(n) => matched == n,
            When::First(n) => matched <= n,
            When::Every => true,
            When::Chance { per_thousand, seed } => mixed(seed, matched) % 1000 < per_thousand,
        }
    }
}

/// One well-mixed number for each pair (the finaliser of SplitMix64).
pub(super) fn mixed(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
