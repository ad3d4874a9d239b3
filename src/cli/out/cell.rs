//! One value of a table: what a person sees and what a program gets.

use jiff::tz::TimeZone;

use super::paint::Role;
use crate::text::{self, SafeText, TimeStyle};

/// How times are shown, and what now is.
#[derive(Clone, Debug)]
pub struct Times {
    /// The chosen style.
    pub style: TimeStyle,
    /// The zone of local times.
    pub zone: TimeZone,
    /// Milliseconds since the Unix epoch.
    pub now_ms: u64,
}

impl Times {
    /// Relative times seen from `now_ms`, and UTC where a zone is needed.
    pub fn relative_to(now_ms: u64) -> Times {
        Times {
            style: TimeStyle::Relative,
            zone: TimeZone::UTC,
            now_ms,
        }
    }
}

/// One value. Text may come from anywhere: it is sanitised where it is shown and escaped where it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cell {
    /// There is no value: `-` for a person, nothing for a program.
    #[default]
    Nothing,
    /// Text, in one line.
    Text(String, Role),
    /// A point in time, in milliseconds since the Unix epoch.
    Time(u64),
    /// A span of time in milliseconds.
    Span(u64),
    /// Bytes.
    Size(u64),
    /// A number.
    Count(u64),
}

impl Cell {
    /// Ordinary text.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into(), Role::Plain)
    }

    /// A status word.
    pub fn word(text: impl Into<String>, role: Role) -> Cell {
        Cell::Text(text.into(), role)
    }

    /// What `make` makes of a value, or [`Cell::Nothing`].
    pub fn maybe<T>(value: Option<T>, make: impl FnOnce(T) -> Cell) -> Cell {
        value.map_or(Cell::Nothing, make)
    }

    /// The words for a person.
    pub(super) fn shown(&self, times: &Times) -> SafeText {
        let words = match self {
            Cell::Nothing => return "-".into(),
            Cell::Text(text, _) => return SafeText::line(text),
            Cell::Time(at_ms) => text::stamp(*at_ms, times.now_ms, times.style, &times.zone),
            Cell::Span(span_ms) => text::duration(*span_ms),
            Cell::Size(bytes) => text::size(*bytes),
            Cell::Count(n) => text::count(*n),
        };
        words.into()
    }

    /// The words for a person who looks at one thing: times both relative and absolute.
    pub(super) fn shown_in_full(&self, times: &Times) -> SafeText {
        match self {
            Cell::Time(at_ms) if times.style == TimeStyle::Relative => {
                let absolute = text::absolute(*at_ms, &times.zone);
                format!("{absolute} ({})", text::ago(*at_ms, times.now_ms)).into()
            }
            other => other.shown(times),
        }
    }

    /// The exact value for a program: UTC, bytes and milliseconds without words.
    pub(super) fn exact(&self) -> String {
        match self {
            Cell::Nothing => String::new(),
            Cell::Text(text, _) => text::escape(text),
            Cell::Time(at_ms) => text::rfc3339(*at_ms),
            Cell::Span(n) | Cell::Size(n) | Cell::Count(n) => n.to_string(),
        }
    }

    pub(super) fn role(&self) -> Role {
        match self {
            Cell::Text(_, role) => *role,
            Cell::Nothing => Role::Dim,
            _ => Role::Plain,
        }
    }

    /// Numbers line up at their right ends.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Cell::Span(_) | Cell::Size(_) | Cell::Count(_))
    }
}

/// One record of tab-separated values.
pub(super) fn tsv_row<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> String {
    let fields: Vec<_> = cells.into_iter().map(Cell::exact).collect();
    format!("{}\n", fields.join("\t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_words_and_programs_get_values() {
        let times = Times::relative_to(184_000);
        for (cell, shown, exact) in [
            (Cell::Nothing, "-", ""),
            (Cell::text("a\tb\x1b[2J"), "a b␛[2J", "a\\tb\\u{1b}[2J"),
            (Cell::Time(4_000), "3m ago", "1970-01-01T00:00:04.000Z"),
            (Cell::Span(1_250), "1.2s", "1250"),
            (Cell::Size(2048), "2.0 KiB", "2048"),
            (Cell::Count(1000), "1,000", "1000"),
        ] {
            assert_eq!(cell.shown(&times).as_str(), shown);
            assert_eq!(cell.exact(), exact);
        }
        assert_eq!(
            Cell::Time(4_000).shown_in_full(&times).as_str(),
            "1970-01-01 00:00:04 +00:00 (3m ago)"
        );
    }
}
