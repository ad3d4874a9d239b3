//! The body of a request, read whole and within bounds.

use std::time::Duration;

use axum::body::Body;
use bytes::BytesMut;
use futures_util::StreamExt;

use crate::api::ApiError;
use crate::engine::access::{KeyLimits, MAX_BODY_BYTES};

/// A body must be there after this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a key may send; never more than anybody.
pub(super) fn limit_bytes(limits: &KeyLimits) -> usize {
    let own = limits.body_bytes.unwrap_or(MAX_BODY_BYTES);
    usize::try_from(own.min(MAX_BODY_BYTES)).unwrap_or(usize::MAX)
}

/// All of it.
pub(super) async fn whole(body: Body, limit_bytes: usize) -> Result<BytesMut, ApiError> {
    match tokio::time::timeout(PATIENCE, collect(body, limit_bytes)).await {
        Ok(read) => read,
        Err(_) => Err(ApiError::new(
            408,
            "request_timeout",
            format!(
                "The request body did not arrive within {} s.",
                PATIENCE.as_secs()
            ),
        )),
    }
}

async fn collect(body: Body, limit_bytes: usize) -> Result<BytesMut, ApiError> {
    let mut pieces = body.into_data_stream();
    let mut all = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece =
            piece.map_err(|_| ApiError::invalid_request("", "The request body was cut off."))?;
        if all.len() + piece.len() > limit_bytes {
            return Err(ApiError::too_large(limit_bytes as u64));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}
