//! The idempotency key of one submission: given, or made here, and told where it settles a doubt.

use super::compose;
use super::out::CliError;
use crate::engine::error::EngineError;
use crate::engine::ports::DeploymentError;

/// Characters of a key at most.
const KEY_MAX_CHARS: usize = 255;

/// `--idempotency-key`
#[derive(Clone, Debug, Default, clap::Args)]
pub struct KeyArgs {
    /// The same key with the same content is accepted once, however often it is sent [default: a random key]
    #[arg(long, value_name = "KEY", value_parser = checked)]
    idempotency_key: Option<String>,
}

fn checked(text: &str) -> Result<String, String> {
    match text.chars().count() {
        1..=KEY_MAX_CHARS => Ok(text.to_owned()),
        n => Err(format!("expected 1 to {KEY_MAX_CHARS} characters, not {n}")),
    }
}

/// The key of one submission.
pub struct SubmissionKey {
    key: String,
    given: bool,
}

impl KeyArgs {
    /// The given key, or a new random one.
    pub fn take(self) -> SubmissionKey {
        SubmissionKey {
            given: self.idempotency_key.is_some(),
            key: self.idempotency_key.unwrap_or_else(compose::random_key),
        }
    }
}

impl SubmissionKey {
    /// The key itself.
    pub fn as_str(&self) -> &str {
        &self.key
    }

    /// Whether somebody chose it.
    pub fn given(&self) -> bool {
        self.given
    }

    /// A failed submission as an error. Where it may have happened, the way to find out is to repeat it under its key.
    pub fn explain(&self, error: DeploymentError) -> CliError {
        // Where not even the key settles it, the error itself says how to find out.
        let by_key = matches!(error, DeploymentError::Engine(EngineError::Unknown(_)));
        let mut error = CliError::from(error);
        if by_key {
            error.hint = vec![match self.given {
                true => {
                    "repeat the same command: under its key it is accepted once, and you see which"
                        .to_owned()
                }
                false => format!(
                    "repeat the same command with --idempotency-key {}: it is accepted once, and you see which",
                    self.key
                ),
            }];
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_outcome_names_the_key_that_settles_it() {
        let key = KeyArgs::default().take();
        let error = key.explain(EngineError::Unknown("the connection broke".into()).into());
        assert_eq!(error.exit_code(), 6);
        let wanted = format!("--idempotency-key {}", key.as_str());
        assert!(error.hint[0].contains(&wanted), "{:?}", error.hint);
        let given = KeyArgs {
            idempotency_key: Some("nightly".to_owned()),
        };
        let error = given
            .take()
            .explain(EngineError::Unknown("the connection broke".into()).into());
        assert_eq!(error.hint.len(), 1);
        assert!(
            error.hint[0].starts_with("repeat the same command:"),
            "{:?}",
            error.hint
        );
    }

    #[test]
    fn other_failures_keep_their_own_hints() {
        let error = KeyArgs::default()
            .take()
            .explain(EngineError::Unavailable("busy".into()).into());
        assert_eq!((error.exit_code(), error.hint.len()), (7, 1));
    }

    #[test]
    fn keys_have_a_length() {
        assert!(checked("").is_err());
        assert!(checked(&"k".repeat(255)).is_ok());
        assert!(checked(&"k".repeat(256)).is_err());
    }
}
