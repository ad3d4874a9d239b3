//! The report: one row for each figure, with what was measured beside it, its budget, and whether it keeps to it.

use std::cell::Cell;

use crate::setting::say;

/// What a figure may be.
#[derive(Clone, Copy)]
pub enum Budget {
    /// This or less.
    AtMost(f64),
    /// This or more.
    AtLeast(f64),
    /// There is none: it explains another figure.
    None,
}

impl Budget {
    fn text(self) -> String {
        match self {
            Budget::AtMost(most) => format!("≤ {}", number(most)),
            Budget::AtLeast(least) => format!("≥ {}", number(least)),
            Budget::None => String::new(),
        }
    }

    fn kept(self, value: f64) -> Option<bool> {
        match self {
            Budget::AtMost(most) => Some(value <= most),
            Budget::AtLeast(least) => Some(value >= least),
            Budget::None => None,
        }
    }
}

/// The report so far.
#[derive(Default)]
pub struct Table {
    judged: Cell<usize>,
    over: Cell<usize>,
}

impl Table {
    /// Begins the table.
    pub fn head(&self) {
        self.line(
            "what",
            "figure",
            "",
            "measured in the same run",
            "budget",
            "",
        );
    }

    /// Begins a part of it.
    pub fn part(&self, title: &str) {
        say(&format!("── {title}"));
    }

    /// One figure in its unit, and what it was measured beside.
    pub fn row(&self, what: &str, value: f64, unit: &str, beside: &str, budget: Budget) {
        let verdict = match budget.kept(value) {
            Some(true) => "ok",
            Some(false) => "OVER",
            None => "",
        };
        self.judged
            .set(self.judged.get() + usize::from(!verdict.is_empty()));
        self.over
            .set(self.over.get() + usize::from(verdict == "OVER"));
        self.line(what, &number(value), unit, beside, &budget.text(), verdict);
    }

    /// Ends the table with the sum of it.
    pub fn end(&self) {
        say(&format!(
            "{} of {} budgets are kept",
            self.judged.get() - self.over.get(),
            self.judged.get()
        ));
    }

    fn line(
        &self,
        what: &str,
        figure: &str,
        unit: &str,
        beside: &str,
        budget: &str,
        verdict: &str,
    ) {
        let line = format!("{what:<44}{figure:>9} {unit:<8}{beside:<44}{budget:<9}{verdict}");
        say(line.trim_end());
    }
}

/// A figure with as many digits as mean something.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
