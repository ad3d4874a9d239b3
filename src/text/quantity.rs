//! Amounts in words: bytes, spans of time and counts.

/// Bytes in binary units, at most one decimal: `512 B`, `1.2 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // Tenths of a unit, rounded; a value that rounds up to 1024 moves on to the next unit.
    let mut unit_bytes: u128 = 1024;
    let mut unit = 0;
    loop {
        let tenths = (u128::from(bytes) * 10 + unit_bytes / 2) / unit_bytes;
        if tenths < 10_240 || unit + 1 == UNITS.len() {
            return match tenths {
                0..1000 => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
                _ => format!("{} {}", (tenths + 5) / 10, UNITS[unit]),
            };
        }
        unit_bytes *= 1024;
        unit += 1;
    }
}

/// A span of time, two units at most: `850ms`, `1.2s`, `42s`, `3m 04s`, `2h 05m`, `3d 4h`.
pub fn duration(span_ms: u64) -> String {
    let seconds = span_ms / 1000;
    match seconds {
        0 => format!("{span_ms}ms"),
        1..10 => format!("{seconds}.{}s", span_ms % 1000 / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A count with thousands set apart: `100,482`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_say_them() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_258_291, "1.2 MiB"),
            (200 * 1024 * 1024, "200 MiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn durations_keep_two_units() {
        for (span_ms, expected) in [
            (0, "0ms"),
            (850, "850ms"),
            (1_250, "1.2s"),
            (42_900, "42s"),
            (184_000, "3m 04s"),
            (7_500_000, "2h 05m"),
            (273_600_000, "3d 4h"),
        ] {
            assert_eq!(duration(span_ms), expected);
        }
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (n, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (100_482, "100,482"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(n), expected);
        }
    }
}
