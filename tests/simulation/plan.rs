//! What an agent does in a Turn.

use rat_things::backend::memory::ids::SeededIds;

/// One thing that an agent does.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// It says something.
    Say,
    /// It reasons.
    Think,
    /// It uses a tool, which may run a command in the Session's environment.
    Tool {
        /// It does.
        command: bool,
    },
    /// It asks its client, so many questions at once.
    Ask(u64),
    /// It waits for so many milliseconds before it tries again.
    Wait(u64),
    /// It fails.
    Fail,
}

/// What a Turn's agent does before its last words.
pub fn plan(turn: &str, managed: bool) -> Vec<Step> {
    let seed = turn.bytes().fold(7u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let chance = SeededIds::new(seed);
    let steps = [0, 1, 1, 2, 3, 5][chance.below(6) as usize];
    let step = |_| match chance.below(10) {
        0 | 1 => Step::Say,
        2 => Step::Think,
        3..=8 => Step::Tool {
            command: managed && chance.below(2) == 0,
        },
        _ => Step::Ask([1, 1, 1, 1, 2, 3, 7, 19][chance.below(8) as usize]),
    };
    (0..steps).map(step).collect()
}
