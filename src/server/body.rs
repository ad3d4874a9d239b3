//! The body of a request, read whole and within bounds.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::BytesMut;
use futures_util::StreamExt;

use super::limits::Limits;
use crate::api::ApiError;
use crate::engine::access::KeyLimits;

/// What a key may send; never more than anybody.
pub(super) fn max_bytes(key: &KeyLimits, limits: &Limits) -> usize {
    let own = key
        .body_bytes
        .map(|own| usize::try_from(own).unwrap_or(usize::MAX));
    own.map_or(limits.body_bytes, |own| own.min(limits.body_bytes))
}

/// All of it. One that says that it is too long is refused before any of it is read.
pub(super) async fn whole(
    body: Body,
    max_bytes: usize,
    patience: Duration,
) -> Result<BytesMut, ApiError> {
    if body.size_hint().lower() > max_bytes as u64 {
        return Err(ApiError::too_large(max_bytes as u64));
    }
    match tokio::time::timeout(patience, collect(body, max_bytes)).await {
        Ok(read) => read,
        Err(_) => Err(ApiError::new(
            408,
            "request_timeout",
            format!(
                "The request body did not arrive within {} s.",
                patience.as_secs()
            ),
        )),
    }
}

async fn collect(body: Body, max_bytes: usize) -> Result<BytesMut, ApiError> {
    let mut pieces = body.into_data_stream();
    let mut all = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece =
            piece.map_err(|_| ApiError::invalid_request("", "The request body was cut off."))?;
        if all.len() + piece.len() > max_bytes {
            return Err(ApiError::too_large(max_bytes as u64));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}
