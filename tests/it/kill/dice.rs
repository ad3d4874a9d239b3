//! Seeded chance: the same seed gives the same plan. What the machine makes of the plan is never the same twice, which is the point.

/// A splitmix64 generator.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// The dice of one round, independent of those of the others.
    pub fn of_round(seed: u64, round: u64) -> Dice {
        let mut dice = Dice(seed ^ round.wrapping_mul(0xD134_2543_DE82_EF95));
        Dice(dice.next())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// One of `0..bound`; the bias of the remainder does not matter here.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).expect("an index")]
    }
}

/// The seed of this run: `RAT_THINGS_TEST_SEED`, or a new one. It is printed with every result.
pub fn seed() -> u64 {
    match std::env::var("RAT_THINGS_TEST_SEED") {
        Ok(text) => text.parse().expect("RAT_THINGS_TEST_SEED is a number"),
        Err(_) => {
            let mut bytes = [0; 4];
            getrandom::fill(&mut bytes).expect("randomness");
            u32::from_le_bytes(bytes).into()
        }
    }
}
