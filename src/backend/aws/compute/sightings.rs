//! What is known of executions on machines, from what EC2 showed and when. No client: what decides is plain data and instants.
//!
//! EC2 shows what exists with some delay, and not every answer shows all of it. So what was never shown, or is not shown any more, is
//! gone only after a while and when it was looked for more than once.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::launch::Seen;
use super::names::{EXECUTION_TAG, execution_of};
use crate::engine::ports::{ExecutionId, Liveness};

/// A sighting is as good as a new one for so long.
pub(super) const FRESH: Duration = Duration::from_secs(15);
/// A machine that ran is taken to run for so long while the next answer is on its way.
pub(super) const STALE: Duration = Duration::from_secs(60);
/// An execution that EC2 does not show is not gone before it has been looked for this long.
const ABSENT_GRACE: Duration = Duration::from_secs(120);
/// And not before so many answers were without it, one after the other.
const ABSENT_ANSWERS: u32 = 2;
/// What nobody asked about for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(900);

/// One execution.
#[derive(Clone, Debug)]
struct Known {
    first_asked: Instant,
    last_asked: Instant,
    /// What the last answer that showed it said, and when that was asked.
    seen: Option<(Liveness, Instant)>,
    /// Answers since then that did not show it.
    absent: u32,
    /// When the last answer was asked for, whether it showed it or not.
    looked: Option<Instant>,
}

/// Everything that is known.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    known: HashMap<ExecutionId, Known>,
    /// All that EC2 showed last, for who is asked about next; and when that was asked.
    shown: HashMap<ExecutionId, Liveness>,
    asked: Option<Instant>,
}

impl Sightings {
    /// Somebody wants to know of it.
    pub(super) fn ask(&mut self, execution: &ExecutionId, now: Instant) {
        self.known(execution, now).last_asked = now;
    }

    /// When everything was asked for last.
    pub(super) fn asked(&self) -> Option<Instant> {
        self.asked
    }

    fn known(&mut self, execution: &ExecutionId, now: Instant) -> &mut Known {
        // That it was shown counts whenever that was; that it was not, only if it was there to be seen.
        let shown = self.shown.get(execution).copied().zip(self.asked);
        self.known.entry(execution.clone()).or_insert(Known {
            first_asked: now,
            last_asked: now,
            seen: shown,
            absent: 0,
            looked: shown.map(|(_, asked)| asked),
        })
    }

    /// EC2 showed all machines of the deployment, when asked at `asked`.
    pub(super) fn learn(&mut self, asked: Instant, all: &[Seen]) {
        let mut shown: HashMap<ExecutionId, Liveness> = HashMap::new();
        for seen in all {
            let Some(token) = seen.tag(EXECUTION_TAG) else {
                continue;
            };
            let liveness = shown.entry(execution_of(token)).or_insert(seen.liveness());
            *liveness = livelier(*liveness, seen.liveness());
        }
        self.known
            .retain(|_, known| asked.saturating_duration_since(known.last_asked) < FORGOTTEN);
        for (execution, known) in &mut self.known {
            note(known, asked, shown.get(execution).copied());
        }
        self.shown = shown;
        self.asked = Some(asked);
    }

    /// EC2 showed what there is of one execution, when asked at `asked`.
    pub(super) fn learn_one(&mut self, execution: &ExecutionId, asked: Instant, all: &[Seen]) {
        let shown = all.iter().map(Seen::liveness).reduce(livelier);
        note(self.known(execution, asked), asked, shown);
    }

    /// What is known of it, and since when.
    pub(super) fn of(&self, execution: &ExecutionId, now: Instant) -> (Liveness, Option<Instant>) {
        let Some(known) = self.known.get(execution) else {
            return (Liveness::Unknown, None);
        };
        let liveness = match known.seen {
            Some((Liveness::Gone, _)) => Liveness::Gone,
            Some((liveness, _)) if known.absent == 0 => liveness,
            _ if known.absent >= ABSENT_ANSWERS
                && now.saturating_duration_since(known.first_asked) >= ABSENT_GRACE =>
            {
                Liveness::Gone
            }
            _ => Liveness::Unknown,
        };
        (liveness, known.looked)
    }
}

fn note(known: &mut Known, asked: Instant, shown: Option<Liveness>) {
    // What was asked before anybody wanted to know of it may be from before its launch.
    if asked < known.first_asked || known.looked.is_some_and(|looked| asked < looked) {
        return;
    }
    known.looked = Some(asked);
    match shown {
        // Nothing that ended ever begins again.
        _ if matches!(known.seen, Some((Liveness::Gone, _))) => {}
        Some(liveness) => {
            known.seen = Some((liveness, asked));
            known.absent = 0;
        }
        None => known.absent += 1,
    }
}

/// Of two machines with one name, the one that matters.
fn livelier(a: Liveness, b: Liveness) -> Liveness {
    match (a, b) {
        (Liveness::Running, _) | (_, Liveness::Running) => Liveness::Running,
        (Liveness::Unknown, _) | (_, Liveness::Unknown) => Liveness::Unknown,
        (Liveness::Gone, Liveness::Gone) => Liveness::Gone,
    }
}

#[cfg(test)]
mod tests {
    use super::super::launch::Phase;
    use super::super::names::{fresh, token_of};
    use super::*;

    fn execution() -> ExecutionId {
        fresh([3; 26])
    }

    fn seen(phase: Phase) -> Vec<Seen> {
        let token = token_of(&execution()).unwrap_or_default().to_owned();
        vec![Seen {
            id: "i-1".to_owned(),
            phase,
            tags: vec![(EXECUTION_TAG.to_owned(), token)],
            launched_ms: 0,
            kind: String::new(),
            spot: false,
            zone: String::new(),
        }]
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn what_is_not_shown_is_gone_only_after_a_while_and_when_looked_for_twice() {
        let begin = Instant::now();
        let name = execution();
        let mut sightings = Sightings::default();
        sightings.ask(&name, begin);
        sightings.learn(begin + seconds(1), &[]);
        sightings.learn(begin + seconds(16), &[]);
        let at = |sightings: &Sightings, s| sightings.of(&name, begin + seconds(s)).0;
        assert_eq!(at(&sightings, 17), Liveness::Unknown);
        assert_eq!(at(&sightings, 121), Liveness::Gone);

        // Once is not enough, however long ago.
        let mut sightings = Sightings::default();
        sightings.ask(&name, begin);
        sightings.learn(begin + seconds(130), &[]);
        assert_eq!(at(&sightings, 131), Liveness::Unknown);
    }

    #[test]
    fn one_answer_without_a_machine_that_runs_proves_nothing() {
        let begin = Instant::now();
        let name = execution();
        let mut sightings = Sightings::default();
        sightings.ask(&name, begin);
        sightings.learn(begin + seconds(200), &seen(Phase::Running));
        sightings.learn(begin + seconds(215), &[]);
        let later = begin + seconds(216);
        assert_eq!(sightings.of(&name, later).0, Liveness::Unknown);
        sightings.learn(begin + seconds(230), &seen(Phase::Running));
        assert_eq!(sightings.of(&name, later).0, Liveness::Running);
    }

    #[test]
    fn what_ended_stays_gone_whatever_a_late_answer_shows() {
        let begin = Instant::now();
        let name = execution();
        let mut sightings = Sightings::default();
        sightings.ask(&name, begin);
        sightings.learn(begin + seconds(1), &seen(Phase::Terminated));
        sightings.learn(begin + seconds(2), &seen(Phase::ShuttingDown));
        assert_eq!(sightings.of(&name, begin).0, Liveness::Gone);
    }

    #[test]
    fn an_answer_that_was_asked_for_before_the_launch_says_nothing_of_it() {
        let begin = Instant::now();
        let name = execution();
        let mut sightings = Sightings::default();
        sightings.ask(&name, begin + seconds(5));
        sightings.learn(begin, &[]);
        assert_eq!(sightings.of(&name, begin), (Liveness::Unknown, None));
    }

    #[test]
    fn of_two_machines_with_one_name_the_one_that_runs_counts() {
        let begin = Instant::now();
        let name = execution();
        let mut sightings = Sightings::default();
        sightings.ask(&name, begin);
        let both = [seen(Phase::Terminated), seen(Phase::Running)].concat();
        sightings.learn(begin, &both);
        assert_eq!(sightings.of(&name, begin).0, Liveness::Running);
        sightings.learn_one(&name, begin + seconds(1), &seen(Phase::Terminated));
        assert_eq!(sightings.of(&name, begin).0, Liveness::Gone);
    }

    #[test]
    fn who_was_shown_before_anybody_asked_is_known_at_once() {
        let begin = Instant::now();
        let mut sightings = Sightings::default();
        sightings.learn(begin, &seen(Phase::Running));
        let later = begin + seconds(3);
        sightings.ask(&execution(), later);
        let known = sightings.of(&execution(), later);
        assert_eq!(known, (Liveness::Running, Some(begin)));
    }

    #[test]
    fn what_nobody_asks_about_is_forgotten() {
        let begin = Instant::now();
        let mut sightings = Sightings::default();
        sightings.ask(&execution(), begin);
        sightings.learn(begin + FORGOTTEN + seconds(1), &[]);
        assert!(sightings.known.is_empty());
    }
}
