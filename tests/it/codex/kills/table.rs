//! What was seen, as a table in Markdown.

use std::collections::BTreeMap;
use std::fmt;

use super::moment::{Moment, Target};
use super::round::{Outcome, Plan};

/// One row for each moment and target.
#[derive(Default)]
pub struct Table(BTreeMap<(Moment, Target), Row>);

/// Counts of rounds. A round that is not what it must be is no row: it fails the test.
#[derive(Default)]
struct Row {
    rounds: usize,
    hits: usize,
    ran: usize,
    told_output: usize,
    told_unknown: usize,
    requests: usize,
}

impl Table {
    /// Counts one round.
    pub fn add(&mut self, plan: &Plan, outcome: &Outcome) {
        let moment = match plan.moment {
            Moment::At(_) => Moment::At(0),
            moment => moment,
        };
        let row = self.0.entry((moment, plan.target)).or_default();
        row.rounds += 1;
        row.hits += usize::from(outcome.hit);
        row.ran += usize::from(outcome.ran);
        row.told_output += usize::from(!outcome.unknown);
        row.told_unknown += usize::from(outcome.unknown);
        row.requests += outcome.requests;
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| killed when | what | rounds | hit | same Turn completed | effect happened once / not at all | told output / unknown | inputs lost or twice |"
        )?;
        writeln!(f, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")?;
        let mut all = Row::default();
        for ((moment, target), row) in &self.0 {
            row.line(f, moment.words(), target.words())?;
            all.rounds += row.rounds;
            all.hits += row.hits;
            all.ran += row.ran;
            all.told_output += row.told_output;
            all.told_unknown += row.told_unknown;
            all.requests += row.requests;
        }
        all.line(f, "all", "")?;
        write!(
            f,
            "\nRequests to the model that were looked at: {}",
            all.requests
        )
    }
}

impl Row {
    fn line(&self, f: &mut fmt::Formatter<'_>, moment: &str, target: &str) -> fmt::Result {
        writeln!(
            f,
            "| {moment} | {target} | {} | {} | {} | {} / {} | {} / {} | 0 |",
            self.rounds,
            self.hits,
            self.rounds,
            self.ran,
            self.rounds - self.ran,
            self.told_output,
            self.told_unknown,
        )
    }
}
