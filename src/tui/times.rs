//! Times as a person wants them: seen from now, on their own clock, or in UTC. Pure.

use jiff::tz::TimeZone;

use super::state::State;
use crate::text::{TimeStyle, absolute, ago, rfc3339};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// Now, Unix milliseconds.
    pub now_ms: u64,
    /// How they are shown.
    pub style: TimeStyle,
    /// Where the clock is.
    pub zone: TimeZone,
}

impl Times {
    /// Cells of a time in a list.
    pub fn cells(&self) -> usize {
        match self.style {
            TimeStyle::Relative => 8,
            TimeStyle::Local | TimeStyle::Utc => 14,
        }
    }

    /// A time in a list: its age, or month, day and time of day.
    pub fn short(&self, at_ms: u64) -> String {
        let whole = match self.style {
            TimeStyle::Relative => return ago(at_ms, self.now_ms),
            TimeStyle::Local => absolute(at_ms, &self.zone),
            TimeStyle::Utc => absolute(at_ms, &TimeZone::UTC),
        };
        // Behind the year, and before the offset.
        whole.get(5..19).map_or(whole.clone(), str::to_owned)
    }

    /// A time among details: when, and how long ago.
    pub fn full(&self, at_ms: u64) -> String {
        let when = match self.style {
            TimeStyle::Local => absolute(at_ms, &self.zone),
            TimeStyle::Relative | TimeStyle::Utc => rfc3339(at_ms),
        };
        format!("{when}  {}", ago(at_ms, self.now_ms))
    }
}

impl State {
    /// How times are shown now.
    pub fn times(&self) -> Times {
        Times {
            now_ms: self.now_ms,
            style: self.time_style,
            zone: self.zone.clone(),
        }
    }

    /// The next way to show them.
    pub fn next_time_style(&mut self) {
        let (style, words) = match self.time_style {
            TimeStyle::Relative => (TimeStyle::Local, "times are of the clock here"),
            TimeStyle::Local => (TimeStyle::Utc, "times are UTC"),
            TimeStyle::Utc => (TimeStyle::Relative, "times are told from now"),
        };
        self.time_style = style;
        self.notice = Some(words.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_three_ways() {
        let zone = TimeZone::fixed(jiff::tz::Offset::constant(2));
        let at_ms = 1_786_536_185_123;
        let times = |style| Times {
            now_ms: at_ms + 180_000,
            style,
            zone: zone.clone(),
        };
        assert_eq!(times(TimeStyle::Relative).short(at_ms), "3m ago");
        assert_eq!(times(TimeStyle::Local).short(at_ms), "08-12 14:03:05");
        assert_eq!(times(TimeStyle::Utc).short(at_ms), "08-12 12:03:05");
        assert_eq!(
            times(TimeStyle::Local).full(at_ms),
            "2026-08-12 14:03:05 +02:00  3m ago"
        );
        assert_eq!(
            times(TimeStyle::Utc).full(at_ms),
            "2026-08-12T12:03:05.123Z  3m ago"
        );
    }
}
