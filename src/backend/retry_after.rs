//! How long a provider asks to wait. Pure: a date is compared with the answer's own date, so no clock is needed and a wrong one
//! does no harm.

use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

/// Milliseconds, from `retry-after-ms` or `Retry-After` in seconds or as a date.
pub fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text(&HeaderName::from_static("retry-after-ms")).and_then(number) {
        return Some(ms.ceil() as u64);
    }
    let value = text(&RETRY_AFTER)?;
    if let Some(seconds) = number(value) {
        return Some((seconds * 1_000.0).ceil() as u64);
    }
    let until = timestamp_ms(value)?;
    let now = timestamp_ms(text(&DATE)?)?;
    Some(u64::try_from(until - now).unwrap_or(0))
}

/// A number that is not negative. Casts of floats saturate, so a huge one is no danger.
fn number(text: &str) -> Option<f64> {
    text.parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0)
}

fn timestamp_ms(date: &str) -> Option<i64> {
    let date = jiff::fmt::rfc2822::parse(date).ok()?;
    Some(date.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (headers, expect) in [
            (&[("retry-after", "3")][..], Some(3_000)),
            (&[("retry-after", "0.25")], Some(250)),
            (
                &[("retry-after", "9"), ("retry-after-ms", "1500.2")],
                Some(1_501),
            ),
            (
                &[
                    ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
                    ("date", date),
                ],
                Some(30_000),
            ),
            (
                &[
                    ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"),
                    ("date", date),
                ],
                Some(0),
            ),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon"), ("date", date)], None),
            (&[("retry-after", "1e300")], Some(u64::MAX)),
            (&[], None),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                let value = value.parse().expect("this is a header value");
                map.insert(HeaderName::from_static(name), value);
            }
            assert_eq!(retry_after_ms(&map), expect, "{headers:?}");
        }
    }
}
