//! The body of a request, read whole and within bounds.

use std::time::Duration;

use axum::body::Body;
use bytes::BytesMut;
use futures_util::StreamExt;

use crate::api::ApiError;

/// A body may be this long.
pub(super) const MAX_BODY_BYTES: usize = 16 << 20;
/// A body must be there after this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// All of it.
pub(super) async fn whole(body: Body) -> Result<BytesMut, ApiError> {
    match tokio::time::timeout(PATIENCE, collect(body)).await {
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

async fn collect(body: Body) -> Result<BytesMut, ApiError> {
    let mut pieces = body.into_data_stream();
    let mut all = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece =
            piece.map_err(|_| ApiError::invalid_request("", "The request body was cut off."))?;
        if all.len() + piece.len() > MAX_BODY_BYTES {
            return Err(ApiError::too_large(MAX_BODY_BYTES as u64));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}
