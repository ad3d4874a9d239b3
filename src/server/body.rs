//! The body of a request, read whole and within bounds.

use axum::body::{Body, HttpBody};
use bytes::BytesMut;
use futures_util::StreamExt;

use super::limits::Limits;
use crate::api::ApiError;

/// All of it. One that says that it is too long is refused before any of it is read.
pub(super) async fn whole(body: Body, limits: &Limits) -> Result<BytesMut, ApiError> {
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(ApiError::too_large(limits.body_bytes as u64));
    }
    match tokio::time::timeout(limits.body_patience, collect(body, limits.body_bytes)).await {
        Ok(read) => read,
        Err(_) => Err(ApiError::new(
            408,
            "request_timeout",
            format!(
                "The request body did not arrive within {} s.",
                limits.body_patience.as_secs()
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
