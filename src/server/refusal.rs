//! Why a request did not get what it asked for: the API's envelope, and what a client should know about repeating it.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::api::ApiError;
use crate::engine::error::EngineError;

/// A refusal or failure on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// What is told.
    pub(super) error: ApiError,
    /// The SDKs repeat every 408, 409, 429 and 5xx; `true`: they must not, because it can't help, or may do it twice.
    pub(super) is_final: bool,
    /// When repeating may help.
    pub(super) retry_after_ms: Option<u32>,
}

/// An answer, or why there is none.
pub(super) type Answered<T = Response> = Result<T, Refusal>;

impl Refusal {
    /// One that repeating does not help.
    pub(super) fn last_word(error: ApiError) -> Refusal {
        Refusal {
            is_final: true,
            ..Refusal::from(error)
        }
    }

    /// One that repeating helps after this time.
    pub(super) fn later(error: ApiError, retry_after_ms: u32) -> Refusal {
        Refusal {
            retry_after_ms: Some(retry_after_ms),
            ..Refusal::from(error)
        }
    }

    /// What the engine said about a request under this idempotency key, if it had one.
    pub(super) fn of_engine(error: EngineError, key: Option<&str>) -> Refusal {
        match error {
            EngineError::KeyReused { stored, given } => {
                let key = key.unwrap_or_default();
                Refusal::last_word(ApiError::idempotency_mismatch(key, &stored, &given))
            }
            // It may have happened: under a key, repeating it finds out. Without one, it could happen twice.
            EngineError::Unknown(why) => {
                tracing::error!(%why, "the outcome of a request is unknown");
                let message = "It is unknown whether this happened. Under an Idempotency-Key, the same request can be repeated to find out.";
                Refusal {
                    is_final: key.is_none(),
                    ..Refusal::from(ApiError::internal(message))
                }
            }
            other => Refusal::from(other),
        }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Refusal {
            error,
            is_final: false,
            retry_after_ms: None,
        }
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::NotFound { what, id } => {
                let mut name = what.to_owned();
                if let Some(first) = name.get_mut(..1) {
                    first.make_ascii_uppercase();
                }
                ApiError::not_found(&format!("{name} '{id}'")).into()
            }
            EngineError::Invalid { param, message } => {
                ApiError::invalid_request(param.as_deref().unwrap_or_default(), message).into()
            }
            EngineError::Conflict(message) => Refusal::last_word(ApiError::conflict(message)),
            EngineError::Busy { .. } => ApiError::unavailable(
                "The session is being changed by too many at once; nothing happened.",
            )
            .into(),
            EngineError::Unavailable(why) => {
                tracing::warn!(%why, "a request could not be served now");
                ApiError::unavailable("The store can't be used at the moment; nothing happened.")
                    .into()
            }
            // What an operator must know names paths, which are nothing for a client.
            EngineError::Broken { message, .. } => {
                tracing::error!(%message, "a request could not be served");
                ApiError::unavailable("The store needs its operator; nothing happened.").into()
            }
            EngineError::Damaged { key, why } => {
                tracing::error!(%key, %why, "a record can't be read");
                Refusal::last_word(ApiError::internal("A stored record can't be read."))
            }
            error @ (EngineError::KeyReused { .. } | EngineError::Unknown(_)) => {
                Refusal::of_engine(error, None)
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.error.status);
        let mut response = json(
            status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            &self.error,
        );
        if self.is_final {
            let no = HeaderValue::from_static("false");
            response.headers_mut().insert("x-should-retry", no);
        }
        if let Some(wait_ms) = self.retry_after_ms {
            let headers = response.headers_mut();
            headers.insert("retry-after-ms", HeaderValue::from(wait_ms));
            headers.insert(header::RETRY_AFTER, wait_ms.div_ceil(1_000).into());
        }
        response
    }
}

/// An answer in JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    // Wire types always serialise: their maps have texts for keys.
    let text = serde_json::to_vec(value).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// A good answer in JSON.
pub(super) fn shown(value: &impl Serialize) -> Answered {
    Ok(json(StatusCode::OK, value))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::engine::ports::StoreFault;

    #[test]
    fn every_failure_of_the_engine_has_its_status() {
        let conflict = || EngineError::Conflict("c".into());
        let reused = || EngineError::KeyReused {
            stored: "a".into(),
            given: "b".into(),
        };
        let broken = EngineError::Broken {
            fault: StoreFault::DiskFull,
            message: "/secret/path is full".into(),
        };
        let damaged = EngineError::Damaged {
            key: "S/x".into(),
            why: "w".into(),
        };
        for (error, status, is_final) in [
            (EngineError::not_found("session", "s"), 404, false),
            (EngineError::invalid("p", "m"), 400, false),
            (conflict(), 409, true),
            (reused(), 409, true),
            (EngineError::Busy { attempts: 1 }, 503, false),
            (EngineError::Unavailable("/secret".into()), 503, false),
            (EngineError::Unknown("/secret".into()), 500, true),
            (broken, 503, false),
            (damaged, 500, true),
        ] {
            let refusal = Refusal::of_engine(error, None);
            assert_eq!(
                (refusal.error.status, refusal.is_final),
                (status, is_final),
                "{refusal:?}"
            );
            assert!(!refusal.error.message.contains("/secret"), "{refusal:?}");
        }
    }

    #[test]
    fn an_unknown_outcome_may_be_repeated_under_a_key_only() {
        let unknown = || EngineError::Unknown("w".into());
        assert!(Refusal::of_engine(unknown(), None).is_final);
        assert!(!Refusal::of_engine(unknown(), Some("k")).is_final);
    }
}
