//! Texts that are made up: the same number gives the same words. Pure.

/// Mixes numbers into one that looks like chance.
pub(super) fn chance(numbers: &[u64]) -> u64 {
    let mut mixed = 0x9e37_79b9_7f4a_7c15_u64;
    for number in numbers {
        mixed ^= number.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 29;
    }
    mixed
}

/// One of these.
pub(super) fn one_of<'a>(of: &[&'a str], number: u64) -> &'a str {
    of[(number % of.len() as u64) as usize]
}

const DOINGS: &[&str] = &[
    "port",
    "review",
    "document",
    "speed up",
    "test",
    "split",
    "rename",
    "trace",
    "simplify",
    "translate",
    "benchmark",
    "repair",
    "extend",
    "audit",
    "remove",
    "explain",
];

const THINGS: &[&str] = &[
    "the billing importer",
    "the retry policy",
    "the nightly export",
    "the search index",
    "the login page",
    "the release notes",
    "the payment webhooks",
    "the cache of thumbnails",
    "the runbook for full disks",
    "the parser of invoices",
    "the rate limiter",
    "the flaky upload test",
    "the migration of accounts",
    "the metrics of the queue",
    "the command line help",
    "the backup job",
    "the access rules",
    "the time zone tables",
];

const PLACES: &[&str] = &[
    "",
    " in the staging cluster",
    " for the new schema",
    " before the release",
    " on ARM machines",
    " without the old client",
    " as the auditors asked",
    " for 40 GB of samples",
];

const COMMANDS: &[&str] = &[
    "cargo test --workspace",
    "git status --short",
    "rg -n 'retry' src",
    "ls -la /workspace",
    "python3 -m pytest -q",
    "make check",
    "wc -l src/*.rs",
    "sed -n 1,40p src/main.rs",
];

const SENTENCES: &[&str] = &[
    "The parser reads a whole file before it looks at the first record.",
    "Two tests depend on the order of a map, so they fail now and then.",
    "Nothing else calls this function, so it can go.",
    "The limit is compared before the units are made equal.",
    "A record that is cut in two is joined with the next piece.",
    "The old name stays as an alias for one release.",
    "What takes longest is the same lookup, once for each row.",
    "The error says now which file it was and what to do about it.",
    "I kept the change small: one function, and the test that failed before it.",
    "The measurement was repeated five times; the spread is below two percent.",
];

/// What a Session is called.
pub(super) fn title(number: u64) -> String {
    let doing = one_of(DOINGS, number >> 8);
    let thing = one_of(THINGS, number >> 16);
    let place = one_of(PLACES, number >> 32);
    format!("{doing} {thing}{place}")
}

/// A command that an agent could run.
pub(super) fn command(number: u64) -> &'static str {
    one_of(COMMANDS, number)
}

/// So many sentences.
pub(super) fn sentences(number: u64, count: u64) -> String {
    let texts: Vec<&str> = (0..count)
        .map(|at| one_of(SENTENCES, chance(&[number, at])))
        .collect();
    texts.join(" ")
}

/// Lines that a command could print, and the one it ends with.
pub(super) fn output(number: u64, lines: u64, good: bool) -> String {
    let mut text = String::new();
    for line in 0..lines {
        let thing = one_of(THINGS, chance(&[number, line]));
        let mark = if line + 1 == lines && !good {
            "FAILED"
        } else {
            "ok"
        };
        text.push_str(&format!("test {line:>4}: {thing} ... {mark}\n"));
    }
    text
}

/// What a terminal must not obey: escapes, controls, text that turns round, marks that have no width, characters of two cells.
pub(super) const HOSTILE: &str = "\x1b[2J\x1b[?1049l\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b[31mred\u{9b}5;5H\u{202e}turned\u{202c} \
    zero\u{200b}width e\u{301}\u{323} 日本語 👩\u{200d}👩\u{200d}👧 \u{fe0f}\r\x08\x07\x1bc|end";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_gives_the_same_words_and_others_give_others() {
        assert_eq!(title(chance(&[1, 2])), title(chance(&[1, 2])));
        let titles: std::collections::BTreeSet<String> =
            (0..200).map(|n| title(chance(&[n]))).collect();
        assert!(titles.len() > 150, "{}", titles.len());
        assert!(output(1, 3, false).ends_with("FAILED\n"));
    }
}
