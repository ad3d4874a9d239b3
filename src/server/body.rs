//! The body of a request, read within bounds: whole, or piece by piece.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use crate::api::ApiError;
use crate::engine::access::{KeyLimits, MAX_BODY_BYTES};

/// A body must be there after this time; of one that is read in pieces, the next piece.
const PATIENCE: Duration = Duration::from_secs(60);
/// What nobody wants any more is read so long and so far, so that who sends it sees the answer.
const DRAIN_FOR: Duration = Duration::from_secs(30);
const DRAIN_BYTES: usize = 1 << 30;

/// What a key may send; never more than anybody.
pub(super) fn limit_bytes(limits: &KeyLimits) -> usize {
    let own = limits.body_bytes.unwrap_or(MAX_BODY_BYTES);
    usize::try_from(own.min(MAX_BODY_BYTES)).unwrap_or(usize::MAX)
}

/// All of it.
pub(super) async fn whole(body: Body, limit_bytes: usize) -> Result<BytesMut, ApiError> {
    match tokio::time::timeout(PATIENCE, collect(body, limit_bytes)).await {
        Ok(read) => read,
        Err(_) => Err(late("did not arrive")),
    }
}

/// The next piece; `None` at the end.
pub(super) async fn next(pieces: &mut BodyDataStream) -> Result<Option<Bytes>, ApiError> {
    match tokio::time::timeout(PATIENCE, pieces.next()).await {
        Ok(piece) => piece.transpose().map_err(|_| cut_off()),
        Err(_) => Err(late("did not go on")),
    }
}

/// Reads on in the background, within bounds, and forgets what it reads.
pub(super) fn drain(mut pieces: BodyDataStream) {
    tokio::spawn(tokio::time::timeout(DRAIN_FOR, async move {
        let mut read_bytes = 0;
        while let Some(Ok(piece)) = pieces.next().await {
            read_bytes += piece.len();
            if read_bytes > DRAIN_BYTES {
                return;
            }
        }
    }));
}

fn late(what: &str) -> ApiError {
    let message = format!("The request body {what} within {} s.", PATIENCE.as_secs());
    ApiError::new(408, "request_timeout", message)
}

fn cut_off() -> ApiError {
    ApiError::invalid_request("", "The request body was cut off.")
}

async fn collect(body: Body, limit_bytes: usize) -> Result<BytesMut, ApiError> {
    let mut pieces = body.into_data_stream();
    let mut all = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| cut_off())?;
        if all.len() + piece.len() > limit_bytes {
            return Err(ApiError::too_large(limit_bytes as u64));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}
