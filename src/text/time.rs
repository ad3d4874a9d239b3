//! Times in words. Input is always milliseconds since the Unix epoch; now and the time zone come from the caller.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How a time is shown to a person. JSON and tab-separated values always carry RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeStyle {
    /// `3m ago`.
    #[default]
    Relative,
    /// `2026-08-12 14:03:05 +02:00`.
    Local,
    /// `2026-08-12T12:03:05.000Z`.
    Utc,
}

/// A time in the given style.
pub fn stamp(at_ms: u64, now_ms: u64, style: TimeStyle, zone: &TimeZone) -> String {
    match style {
        TimeStyle::Relative => ago(at_ms, now_ms),
        TimeStyle::Local => absolute(at_ms, zone),
        TimeStyle::Utc => rfc3339(at_ms),
    }
}

/// A time as seen from now, in one unit: `now`, `42s ago`, `3m ago`, `5h ago`, `12d ago`, `4mo ago`, `2y ago`, `in 3m`.
pub fn ago(at_ms: u64, now_ms: u64) -> String {
    let seconds = at_ms.abs_diff(now_ms) / 1000;
    let words = match seconds {
        0 => return "now".to_owned(),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        172_800..5_184_000 => format!("{}d", seconds / 86_400),
        5_184_000..63_072_000 => format!("{}mo", seconds / 2_592_000),
        _ => format!("{}y", seconds / 31_536_000),
    };
    if at_ms > now_ms {
        format!("in {words}")
    } else {
        format!("{words} ago")
    }
}

/// Date, time of day and offset in `zone`.
pub fn absolute(at_ms: u64, zone: &TimeZone) -> String {
    let at = timestamp(at_ms);
    let local = at.to_zoned_datetime(zone.clone());
    // `%:z` is always there, so that a copied time still says where it was.
    local.strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// RFC 3339 in UTC with milliseconds, always 24 characters for years up to 9999.
pub fn rfc3339(at_ms: u64) -> String {
    format!("{:.3}", timestamp(at_ms))
}

/// Times after the year 9999 show as its last instant.
fn timestamp(at_ms: u64) -> Timestamp {
    i64::try_from(at_ms)
        .ok()
        .and_then(|at_ms| Timestamp::from_millisecond(at_ms).ok())
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON_MS: u64 = 1_786_536_185_123;

    #[test]
    fn relative_times_use_one_unit() {
        let s = 1000;
        for (age_ms, expected) in [
            (0, "now"),
            (999, "now"),
            (s, "1s ago"),
            (59 * s, "59s ago"),
            (60 * s, "1m ago"),
            (3_599 * s, "59m ago"),
            (36 * 3_600 * s, "36h ago"),
            (12 * 86_400 * s, "12d ago"),
            (120 * 86_400 * s, "4mo ago"),
            (800 * 86_400 * s, "2y ago"),
        ] {
            assert_eq!(ago(NOON_MS - age_ms, NOON_MS), expected);
        }
        assert_eq!(ago(NOON_MS + 180 * s, NOON_MS), "in 3m");
    }

    #[test]
    fn absolute_times_name_their_offset() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(absolute(NOON_MS, &zone), "2026-08-12 14:03:05 +02:00");
        assert_eq!(rfc3339(NOON_MS), "2026-08-12T12:03:05.123Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn times_beyond_the_calendar_do_not_panic() {
        assert!(rfc3339(u64::MAX).starts_with("9999-"));
        assert!(absolute(u64::MAX, &TimeZone::fixed(jiff::tz::offset(14))).starts_with("9999-"));
        assert_eq!(ago(u64::MAX, 0).split(' ').next(), Some("in"));
    }

    #[test]
    fn styles_choose_the_form() {
        assert_eq!(
            stamp(NOON_MS, NOON_MS, TimeStyle::Relative, &TimeZone::UTC),
            "now"
        );
        assert_eq!(
            stamp(NOON_MS, 0, TimeStyle::Local, &TimeZone::UTC),
            "2026-08-12 12:03:05 +00:00"
        );
        assert_eq!(
            stamp(NOON_MS, 0, TimeStyle::Utc, &TimeZone::UTC),
            "2026-08-12T12:03:05.123Z"
        );
    }
}
