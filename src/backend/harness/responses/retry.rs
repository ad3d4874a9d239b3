//! When a failed model call is repeated, and after what wait. Pure.

use crate::engine::ports::ModelError;

/// How model calls are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Calls at most, the first included; at least 1.
    pub attempts: u32,
    /// Wait before the first repetition; doubled for each further one.
    pub base_ms: u64,
    /// No own wait is longer.
    pub cap_ms: u64,
    /// A provider that asks for a longer wait than this ends the Turn instead.
    pub patience_ms: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            attempts: 6,
            base_ms: 500,
            cap_ms: 30_000,
            patience_ms: 300_000,
        }
    }
}

impl Retry {
    /// How long to wait before the next attempt after `failed` failed ones, or `None` to give up.
    ///
    /// There is no jitter: one Session makes one call at a time, and a provider that is overloaded says in `Retry-After` when
    /// it wants to be asked again. That wait is never shortened.
    pub fn wait_ms(&self, failed: u32, error: &ModelError) -> Option<u64> {
        if !error.retryable || failed >= self.attempts {
            return None;
        }
        let doublings = failed.saturating_sub(1).min(32);
        let own = self.base_ms.saturating_mul(1 << doublings).min(self.cap_ms);
        let asked = error.retry_after_ms.unwrap_or(0);
        (asked <= self.patience_ms).then_some(own.max(asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(retryable: bool, retry_after_ms: Option<u64>) -> ModelError {
        ModelError {
            code: "server_error".into(),
            message: String::new(),
            retryable,
            retry_after_ms,
        }
    }

    #[test]
    fn waits_double_up_to_the_cap_and_attempts_are_bounded() {
        let retry = Retry {
            attempts: 5,
            base_ms: 100,
            cap_ms: 350,
            patience_ms: 1_000,
        };
        let waits: Vec<_> = (1..=5)
            .map(|failed| retry.wait_ms(failed, &error(true, None)))
            .collect();
        assert_eq!(waits, [Some(100), Some(200), Some(350), Some(350), None]);
    }

    #[test]
    fn a_longer_wait_that_was_asked_for_is_kept_within_patience() {
        let retry = Retry::default();
        assert_eq!(retry.wait_ms(1, &error(true, Some(7_000))), Some(7_000));
        assert_eq!(retry.wait_ms(1, &error(true, Some(1))), Some(500));
        assert_eq!(retry.wait_ms(1, &error(true, Some(300_001))), None);
        assert_eq!(retry.wait_ms(1, &error(false, Some(1))), None);
    }

    #[test]
    fn extreme_policies_do_not_overflow() {
        let retry = Retry {
            attempts: u32::MAX,
            base_ms: u64::MAX,
            cap_ms: u64::MAX,
            patience_ms: u64::MAX,
        };
        assert_eq!(
            retry.wait_ms(u32::MAX - 1, &error(true, None)),
            Some(u64::MAX)
        );
    }
}
