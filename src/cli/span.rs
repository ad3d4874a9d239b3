//! Spans of time as they are typed.

use std::time::Duration;

/// `500ms`, `30s`, `10m`, `2h` or `7d`.
///
/// # Errors
/// It is none; the message says what one looks like.
pub fn span(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text:?} is no time; write 500ms, 30s, 10m, 2h or 7d");
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| bad())?;
    match unit {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number.saturating_mul(60))),
        "h" => Ok(Duration::from_secs(number.saturating_mul(3_600))),
        "d" => Ok(Duration::from_secs(number.saturating_mul(86_400))),
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_number_and_a_unit() {
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("7d", 604_800_000),
        ] {
            assert_eq!(span(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for bad in [
            "",
            "5",
            "s",
            "-1s",
            "1.5h",
            "5 m",
            "5w",
            "99999999999999999999s",
        ] {
            assert!(span(bad).is_err(), "{bad:?}");
        }
        assert!(
            span("18446744073709551615d").is_ok(),
            "too long is for ever"
        );
    }
}
