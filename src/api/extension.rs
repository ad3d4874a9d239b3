//! What a server has beyond the Agents API, as it says itself in every answer, so that a client need not guess.

use crate::api::words::{Words, words};

/// The header of every answer that lists [`Extension`]s, separated by commas.
pub const EXTENSIONS_HEADER: &str = "x-agents-extensions";
/// The header of the answer to inputs that holds their [`Receipt`](crate::api::Receipt) as JSON; left out when it would be too long.
pub const RECEIPT_HEADER: &str = "x-receipt";
/// Bytes of a receipt in a header at most.
pub const RECEIPT_HEADER_MAX_BYTES: usize = 8 << 10;

words! {
    /// An addition to the Agents API.
    pub enum Extension {
        /// `after=` on a stream: it goes on behind an event.
        EventsAfter = "events-after",
        /// `follow=false` on a stream: it ends with what has happened so far.
        EventsSoFar = "events-so-far",
        /// `delivery: "next_turn"` on a message.
        NextTurn = "next-turn",
        /// `turn_id` on a cancel.
        CancelTurn = "cancel-turn",
        /// Inputs are answered with a receipt.
        Receipt = "receipt",
        /// A Session is created once under its `Idempotency-Key`.
        SessionKey = "session-key",
        /// `harness` of an Agent.
        AgentHarness = "agent-harness",
    }
}

impl Extension {
    /// All of them as the header lists them.
    pub fn header_value() -> String {
        let words: Vec<&str> = Extension::ALL.iter().map(|one| one.as_str()).collect();
        words.join(", ")
    }

    /// Those of a header's value that are known here.
    pub fn in_header(value: &str) -> impl Iterator<Item = Extension> {
        let words = value.split(',').map(str::trim);
        words.filter_map(|word| Extension::from_word(word).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written_and_unknown_words_are_passed_over() {
        let all: Vec<Extension> = Extension::in_header(&Extension::header_value()).collect();
        assert_eq!(all, Extension::ALL);
        let some: Vec<Extension> = Extension::in_header("time-travel,receipt ,").collect();
        assert_eq!(some, [Extension::Receipt]);
    }
}
