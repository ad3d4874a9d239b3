//! Why a call did not get what it asked for, on its way to who asked. Pure.

use crate::api::{ApiError, Secret};
use crate::backend::model::scrub::scrub;
use crate::engine::error::EngineError;
use crate::engine::ports::DeploymentError;

/// Of a server's message, so much is passed on.
const MESSAGE_MAX_BYTES: usize = 2_000;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Failure {
    /// The server said no, for good.
    Refused {
        /// What it said.
        error: ApiError,
        /// An earlier attempt of the same call got no answer, and may have happened.
        behind_doubt: bool,
    },
    /// Anything else.
    Failed(DeploymentError),
}

impl Failure {
    /// As whoever asked about a `what` called `id` is told.
    pub(super) fn about(self, what: &'static str, id: &str) -> DeploymentError {
        let error = match self {
            Failure::Failed(error) => return error,
            Failure::Refused { error, .. } => error,
        };
        let message = error.message.clone();
        match error.status {
            500.. if error.status != 501 => EngineError::Unavailable(message).into(),
            401 | 403 => DeploymentError::Denied(message),
            // Nothing was named that could be missing, but the place itself.
            404 if id.is_empty() => EngineError::invalid("base_url", message).into(),
            404 => EngineError::not_found(what, id).into(),
            409 => conflict(message).into(),
            501 => DeploymentError::Lacks {
                message: format!("this server does not do that: {message}"),
                instead: "rat-things doctor says what the server has".to_owned(),
            },
            _ => EngineError::Invalid {
                param: error.param,
                message,
            }
            .into(),
        }
    }
}

impl From<DeploymentError> for Failure {
    fn from(error: DeploymentError) -> Self {
        Failure::Failed(error)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Failure::Failed(error.into())
    }
}

/// A key that was used with another body is a conflict that names two digests.
fn conflict(message: String) -> EngineError {
    let is_digest = |word: &&str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = message.split(|c: char| !c.is_ascii_alphanumeric());
    let digests: Vec<&str> = words.filter(is_digest).collect();
    match digests.as_slice() {
        [stored, given] if message.contains("dempotency") => EngineError::KeyReused {
            stored: (*stored).to_owned(),
            given: (*given).to_owned(),
        },
        _ => EngineError::Conflict(message),
    }
}

/// A refusal in the words of the server, which may quote the key and go on for ever.
pub(super) fn refusal(status: u16, body: &[u8], key: Option<&Secret>) -> ApiError {
    let mut error = ApiError::from_reply(status, body);
    error.message = bounded(&scrub(&error.message, key));
    error.param = error.param.map(|param| bounded(&scrub(&param, key)));
    error
}

fn bounded(text: &str) -> String {
    match text.len() <= MESSAGE_MAX_BYTES {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(MESSAGE_MAX_BYTES)]),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn told(status: u16, message: &str) -> DeploymentError {
        let failure = Failure::Refused {
            error: ApiError::new(status, "some_code", message),
            behind_doubt: false,
        };
        failure.about("session", "sess_1")
    }

    #[test]
    fn every_status_says_who_must_act() {
        let m = || "m".to_owned();
        for (status, expected) in [
            (
                400,
                EngineError::Invalid {
                    param: None,
                    message: m(),
                }
                .into(),
            ),
            (
                413,
                EngineError::Invalid {
                    param: None,
                    message: m(),
                }
                .into(),
            ),
            (401, DeploymentError::Denied(m())),
            (403, DeploymentError::Denied(m())),
            (404, EngineError::not_found("session", "sess_1").into()),
            (409, EngineError::Conflict(m()).into()),
            (500, EngineError::Unavailable(m()).into()),
            (503, EngineError::Unavailable(m()).into()),
        ] {
            assert_eq!(told(status, "m"), expected, "{status}");
        }
        assert!(matches!(told(501, "m"), DeploymentError::Lacks { .. }));
    }

    #[test]
    fn a_conflict_with_two_digests_is_a_key_that_was_used() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let error = ApiError::idempotency_mismatch("k", &a, &b);
        let expected = EngineError::KeyReused {
            stored: a,
            given: b,
        };
        assert_eq!(told(409, &error.message), expected.into());
    }

    #[test]
    fn a_message_is_bounded_and_does_not_repeat_the_key() {
        let key = Secret::new("rtk_abcdefghijklmnop");
        let long = format!("bad key rtk_abcdefghijklmnop {}", "é".repeat(10_000));
        let body = serde_json::json!({"error": {"message": long, "type": "t"}}).to_string();
        let error = refusal(401, body.as_bytes(), Some(&key));
        assert!(error.message.len() < 2_100, "{}", error.message.len());
        assert!(!error.message.contains("abcdefgh"), "{}", error.message);
    }
}
