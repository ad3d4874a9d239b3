//! What each Session of the demo world is: the newest ones show one thing each, the others follow by chance. Pure.

use super::words::{self, HOSTILE, chance};

/// Items of a Turn that is over.
pub(super) const ITEMS_PER_TURN: u64 = 5;
/// Turns of a long Session at least: 10,000 Items.
const LONG_TURNS: u64 = 2_000;
/// Turns of a Session at most.
const TURNS_MAX: u64 = 200_000;

/// What there is to see in a Session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Its agent has answered.
    Quiet,
    /// Its agent writes for half an hour.
    Writing,
    /// Its agent runs ten commands.
    Commands,
    /// It waits for the result of a function.
    NeedsResult,
    /// It waits for an approval.
    NeedsApproval,
    /// Its texts attack the terminal.
    Hostile,
    /// Its Items and Artifacts are large, or no text.
    Large,
    /// Its history is long.
    Long,
    /// Its last Turn failed, and so did the Session.
    Failed,
    /// Its budget is used up.
    Budget,
}

/// What the newest Sessions are, the newest first.
const NEWEST: [Part; 9] = [
    Part::Writing,
    Part::NeedsResult,
    Part::Commands,
    Part::Hostile,
    Part::Large,
    Part::NeedsApproval,
    Part::Long,
    Part::Failed,
    Part::Budget,
];

/// The long Session among the newest: how many are newer.
pub(super) const NEWEST_LONG: u64 = 6;

impl Part {
    /// Of the Session with this number among so many; the newest has the highest number.
    pub(super) fn of(seed: u64, count: u64, number: u64) -> Part {
        // What was created meanwhile.
        let Some(behind) = (count - 1).checked_sub(number) else {
            return Part::Quiet;
        };
        if let Some(part) = NEWEST.get(behind as usize) {
            return *part;
        }
        match chance(&[seed, number, 1]) % 1000 {
            0 => Part::Long,
            1..=4 => Part::NeedsResult,
            5..=34 => Part::Failed,
            35..=39 => Part::Budget,
            _ => Part::Quiet,
        }
    }

    /// Turns that are over since before the world began. `longest` is the number of Items of the one Session with the longest history.
    pub(super) fn past_turns(self, luck: u64, longest: Option<u64>) -> u64 {
        match self {
            Part::Long => {
                let turns = longest.unwrap_or_default() / ITEMS_PER_TURN;
                turns.clamp(LONG_TURNS, TURNS_MAX)
            }
            Part::Large | Part::Hostile => 1,
            _ => 1 + luck % 3,
        }
    }

    /// What it is called.
    pub(super) fn title(self, luck: u64) -> String {
        match self {
            Part::Writing => "write the report of the quarter, chapter by chapter".into(),
            Part::Commands => "find out why the nightly build is slow".into(),
            Part::NeedsResult => format!("answer: which account may {}?", words::title(luck)),
            Part::NeedsApproval => "approve: publish the new packages".into(),
            Part::Hostile => format!("hostile {HOSTILE}"),
            Part::Large => "large and binary output".into(),
            Part::Long => format!("a long history: {}", words::title(luck)),
            Part::Quiet | Part::Failed | Part::Budget => words::title(luck),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_long_session_is_where_it_is_said_to_be() {
        assert_eq!(NEWEST[NEWEST_LONG as usize], Part::Long);
    }

    #[test]
    fn a_hundred_thousand_sessions_have_two_million_items_and_some_of_every_kind() {
        let count = 100_000;
        let mut items = 0;
        let mut of_a_kind = std::collections::BTreeMap::new();
        for number in 0..count {
            let part = Part::of(1, count, number);
            items += part.past_turns(chance(&[1, number]), None) * ITEMS_PER_TURN;
            *of_a_kind.entry(format!("{part:?}")).or_insert(0) += 1;
        }
        assert!((1_500_000..3_000_000).contains(&items), "{items}");
        assert_eq!(of_a_kind.len(), 10, "{of_a_kind:?}");
        assert!(of_a_kind["Long"] > 50, "{of_a_kind:?}");
    }
}
