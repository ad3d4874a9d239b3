//! Error codes: `RT-` and four digits, of which the first ones are the exit code. One line each, and the same table is in
//! `docs/exit-codes.md`. A code keeps its meaning for ever; what no longer occurs stays listed.

use super::kind::Kind;

/// What went wrong, finer than [`Kind`]: stable, greppable, documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// `RT-nnnn`.
    pub id: &'static str,
    /// The kind it belongs to.
    pub kind: Kind,
    /// One sentence for the documentation.
    pub meaning: &'static str,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $kind:ident, $meaning:literal;)+) => {
        $($(#[doc = $doc])+ pub const $name: Code = Code { id: $id, kind: Kind::$kind, meaning: $meaning };)+
        /// Every code, ordered by id.
        pub const ALL: &[Code] = &[$($name),+];
    };
}

codes! {
    /// The reader of our output left.
    BROKEN_PIPE = "RT-0000", BrokenPipe, "The reader of the output went away. Never shown.";
    /// Any negative answer.
    NEGATIVE = "RT-0100", Negative, "The answer is no.";
    /// A prompt was not answered with yes.
    DECLINED = "RT-0101", Negative, "A confirmation was not given; nothing happened.";
    /// Any wrong use.
    USAGE = "RT-0200", Usage, "The command line was not understood.";
    /// Input that does not keep the rules.
    INPUT = "RT-0201", Usage, "An input or an option has a value that is not allowed.";
    /// An id prefix that several things share.
    AMBIGUOUS = "RT-0202", Usage, "An id prefix names more than one thing.";
    /// A prompt is needed but cannot be shown.
    NEEDS_YES = "RT-0203", Usage, "A confirmation is needed and nobody can be asked; `--yes` gives it.";
    /// Text that is not TOML.
    CONFIG_SYNTAX = "RT-0210", Usage, "The configuration file is not valid TOML.";
    /// A key nobody knows.
    CONFIG_KEY = "RT-0211", Usage, "The configuration file has a key that does not exist.";
    /// A value of the wrong type or outside its bounds.
    CONFIG_VALUE = "RT-0212", Usage, "A configuration value has the wrong type or is not allowed.";
    /// A profile that does not exist or cannot be used.
    CONFIG_PROFILE = "RT-0213", Usage, "The chosen profile does not exist, or this build cannot use it.";
    /// The file itself.
    CONFIG_FILE = "RT-0214", Usage, "The configuration file cannot be read or found.";
    /// Where the data should be.
    DATA_DIR = "RT-0220", Usage, "The data directory cannot be used.";
    /// A read-only profile.
    READ_ONLY = "RT-0221", Usage, "The command would change something and read-only mode is on.";
    /// The store needs an operator.
    STORE = "RT-0222", Usage, "The store cannot be used until somebody mends it: full disk, no permission, damage, a newer schema.";
    /// An archive that is not whole.
    ARCHIVE = "RT-0223", Usage, "The archive is not what an export writes, or is damaged; nothing was imported.";
    /// What a profile's Sessions do not offer.
    LACKING = "RT-0224", Usage, "The profile's deployment does not have what the command needs: a store at hand, or an addition to the Agents API. Nothing happened.";
    /// Anything that does not exist.
    NOT_FOUND = "RT-0300", NotFound, "What was named does not exist, was deleted, or is not yours.";
    /// Anything about credentials.
    AUTH = "RT-0400", Auth, "Credentials are missing, expired or not sufficient.";
    /// Any conflict.
    CONFLICT = "RT-0500", Conflict, "The state forbids it.";
    /// An idempotency key used for something else.
    KEY_REUSED = "RT-0501", Conflict, "An idempotency key was used before with other content.";
    /// Any unknown outcome.
    UNKNOWN_OUTCOME = "RT-0600", UnknownOutcome, "It may or may not have happened.";
    /// Anything unavailable.
    UNAVAILABLE = "RT-0700", Unavailable, "Something outside does not work now; repeating is safe.";
    /// Our output could not be written.
    OUTPUT = "RT-0701", Unavailable, "The output could not be written.";
    /// The time is over.
    TIMEOUT = "RT-0800", Timeout, "The time given by `--timeout` is over.";
    /// Interrupted.
    INTERRUPTED = "RT-1300", Interrupted, "Interrupted with Ctrl-C.";
    /// Our mistake.
    BUG = "RT-7000", Bug, "A mistake in rat-things.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_ordered_and_begin_with_their_exit_code() {
        assert!(ALL.is_sorted_by_key(|code| code.id));
        for code in ALL {
            let digits = code.id.strip_prefix("RT-").expect("codes start with RT-");
            assert_eq!(digits.len(), 4, "{}", code.id);
            let exit = format!("{:02}", code.kind.exit_code());
            assert!(
                digits.starts_with(&exit),
                "{} is not under exit code {exit}",
                code.id
            );
        }
    }

    #[test]
    fn codes_are_unique() {
        assert!(ALL.windows(2).all(|pair| pair[0].id != pair[1].id));
    }
}
