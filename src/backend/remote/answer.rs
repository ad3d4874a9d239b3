//! Reading an answer: never more than it may be, and never longer.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde::de::DeserializeOwned;

use crate::backend::outbound::causes;

/// A whole answer in JSON may not be larger.
pub(super) const WHOLE_MAX_BYTES: usize = 64 << 20;
/// Of a refusal, so much is read.
pub(super) const REFUSAL_MAX_BYTES: usize = 64 << 10;

/// The body, up to its bound. `None` behind it: there was more.
pub(super) async fn body(
    mut response: Response,
    max_bytes: usize,
    within: Duration,
) -> Result<Option<Vec<u8>>, String> {
    let whole = async {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > max_bytes {
                return Ok(None);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Some(body))
    };
    match tokio::time::timeout(within, whole).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) => {
            let error: reqwest::Error = error;
            Err(format!(
                "the answer broke off: {}",
                causes(&error.without_url())
            ))
        }
        Err(_) => Err(format!(
            "the answer was not over within {} s",
            within.as_secs()
        )),
    }
}

/// An answer's value, or in words why it is none.
pub(super) fn value<T: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, String> {
    let kind = content_type(headers);
    if !kind.contains("json") {
        let kind = match kind {
            "" => "something without a type",
            kind => kind,
        };
        return Err(format!(
            "it answered with {kind} instead of JSON: is base_url right?"
        ));
    }
    serde_json::from_slice(body).map_err(|error| format!("its answer can't be read: {error}"))
}

/// The media type of an answer.
pub(super) fn content_type(headers: &HeaderMap) -> &str {
    let kind = headers.get(CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}
