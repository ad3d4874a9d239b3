//! Sizes as they are typed.

/// A number of bytes, or of `KiB`, `MiB` or `GiB`: `4096`, `64KiB`, `2MiB`.
///
/// # Errors
/// It is none; the message says what one looks like.
pub fn bytes(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is no size; write 4096, 64KiB, 2MiB or 1GiB");
    let split = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let number: u64 = number.parse().map_err(|_| bad())?;
    let unit_bytes: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(bad()),
    };
    number.checked_mul(unit_bytes).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_a_number_and_perhaps_a_unit() {
        for (text, expected) in [
            ("0", 0),
            ("4096", 4_096),
            ("7B", 7),
            ("64KiB", 65_536),
            ("2MiB", 2 << 20),
            ("1GiB", 1 << 30),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for bad in [
            "",
            "MiB",
            "-1",
            "1.5MiB",
            "1 MiB",
            "1MB",
            "1mib",
            "99999999999999999999",
            "17179869184GiB",
        ] {
            assert!(bytes(bad).is_err(), "{bad:?}");
        }
    }
}
