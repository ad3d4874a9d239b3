//! Kinds of outcome: who must act, and the exit code that tells a script.

/// What an error is, chosen by who must act on it. Each kind has one exit code, documented in `docs/exit-codes.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The reader of our output left: silent, and no failure.
    BrokenPipe,
    /// The command worked and its answer is no: the Turn failed, nothing matched.
    Negative,
    /// The user must change the command, the configuration or the place it points at. Nothing happened.
    Usage,
    /// What was named does not exist, or belongs to somebody else.
    NotFound,
    /// Credentials are missing or expired, or access was denied.
    Auth,
    /// The state forbids it; the same command will not succeed later by itself.
    Conflict,
    /// It may have happened. Find out before repeating.
    UnknownOutcome,
    /// Something outside does not work now. It did not happen; repeating is safe.
    Unavailable,
    /// The time given by `--timeout` is over.
    Timeout,
    /// A mistake in rat-things.
    Bug,
    /// The user interrupted the command.
    Interrupted,
}

impl Kind {
    /// Every kind, ordered by exit code.
    pub const ALL: [Kind; 11] = [
        Kind::BrokenPipe,
        Kind::Negative,
        Kind::Usage,
        Kind::NotFound,
        Kind::Auth,
        Kind::Conflict,
        Kind::UnknownOutcome,
        Kind::Unavailable,
        Kind::Timeout,
        Kind::Bug,
        Kind::Interrupted,
    ];

    /// The process's exit code. 70 is what `sysexits.h` calls an internal software error; 130 is 128 + SIGINT.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::BrokenPipe => 0,
            Kind::Negative => 1,
            Kind::Usage => 2,
            Kind::NotFound => 3,
            Kind::Auth => 4,
            Kind::Conflict => 5,
            Kind::UnknownOutcome => 6,
            Kind::Unavailable => 7,
            Kind::Timeout => 8,
            Kind::Bug => 70,
            Kind::Interrupted => 130,
        }
    }

    /// The word in JSON errors.
    pub fn name(self) -> &'static str {
        match self {
            Kind::BrokenPipe => "broken_pipe",
            Kind::Negative => "negative",
            Kind::Usage => "usage",
            Kind::NotFound => "not_found",
            Kind::Auth => "auth",
            Kind::Conflict => "conflict",
            Kind::UnknownOutcome => "unknown_outcome",
            Kind::Unavailable => "unavailable",
            Kind::Timeout => "timeout",
            Kind::Bug => "bug",
            Kind::Interrupted => "interrupted",
        }
    }

    /// One sentence for the table of exit codes.
    pub fn meaning(self) -> &'static str {
        match self {
            Kind::BrokenPipe => {
                "Done. Also when the reader of the output went away early, as `head` does."
            }
            Kind::Negative => {
                "It worked and the answer is no: the Turn failed or was cancelled, the condition does not hold."
            }
            Kind::Usage => {
                "Bad flag, bad or ambiguous id, bad input, bad configuration, unusable data directory or store. Nothing happened."
            }
            Kind::NotFound => "What was named does not exist, was deleted, or is not yours.",
            Kind::Auth => "No credentials, expired credentials, or access denied.",
            Kind::Conflict => {
                "The state forbids it: already finished, another Turn is active, a key reused with other content."
            }
            Kind::UnknownOutcome => {
                "**It may have happened.** The message names the command that finds out."
            }
            Kind::Unavailable => {
                "Something outside does not work now: daemon, network, output. It did not happen; repeating is safe."
            }
            Kind::Timeout => "The time given by `--timeout` is over. What was started goes on.",
            Kind::Bug => "A mistake in rat-things. Please report it.",
            Kind::Interrupted => "Interrupted with Ctrl-C. What was accepted before goes on.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_kind_has_its_own_exit_code_and_name() {
        let codes: HashSet<_> = Kind::ALL.iter().map(|k| k.exit_code()).collect();
        let names: HashSet<_> = Kind::ALL.iter().map(|k| k.name()).collect();
        assert_eq!(
            (codes.len(), names.len()),
            (Kind::ALL.len(), Kind::ALL.len())
        );
        assert!(Kind::ALL.is_sorted_by_key(|k| k.exit_code()));
        // 101 is a panic of the Rust runtime, 126 and 127 are the shell's.
        assert!(codes.is_disjoint(&HashSet::from([101, 126, 127])));
    }
}
