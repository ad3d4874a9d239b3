//! Tokens that a Turn or a Session used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sums of tokens. Best effort: a provider may not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// Tokens given to the model.
    pub input_tokens: u64,
    /// Parts of `input_tokens`.
    pub input_tokens_details: InputTokensDetails,
    /// Tokens the model wrote.
    pub output_tokens: u64,
    /// Parts of `output_tokens`.
    pub output_tokens_details: OutputTokensDetails,
    /// Both together.
    pub total_tokens: u64,
}

/// Parts of the input tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InputTokensDetails {
    /// Served from the provider's prompt cache.
    pub cached_tokens: u64,
}

/// Parts of the output tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputTokensDetails {
    /// Spent on reasoning.
    pub reasoning_tokens: u64,
}

impl TokenUsage {
    /// Adds another sum; counters stop at their maximum instead of wrapping.
    pub fn add(&mut self, other: &TokenUsage) {
        let sum = |into: &mut u64, more: u64| *into = into.saturating_add(more);
        sum(&mut self.input_tokens, other.input_tokens);
        sum(
            &mut self.input_tokens_details.cached_tokens,
            other.input_tokens_details.cached_tokens,
        );
        sum(&mut self.output_tokens, other.output_tokens);
        sum(
            &mut self.output_tokens_details.reasoning_tokens,
            other.output_tokens_details.reasoning_tokens,
        );
        sum(&mut self.total_tokens, other.total_tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_kept_apart_and_never_wrap() {
        let one = TokenUsage {
            input_tokens: 1,
            input_tokens_details: InputTokensDetails { cached_tokens: 2 },
            output_tokens: 3,
            output_tokens_details: OutputTokensDetails {
                reasoning_tokens: 4,
            },
            total_tokens: u64::MAX,
        };
        let mut sum = one;
        sum.add(&one);
        assert_eq!(
            sum,
            TokenUsage {
                input_tokens: 2,
                input_tokens_details: InputTokensDetails { cached_tokens: 4 },
                output_tokens: 6,
                output_tokens_details: OutputTokensDetails {
                    reasoning_tokens: 8
                },
                total_tokens: u64::MAX,
            }
        );
    }
}
