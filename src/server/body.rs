//! The body of a request, read whole and within bounds, or piece by piece.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use super::limits::Limits;
use crate::api::ApiError;
use crate::engine::access::KeyLimits;

/// What nobody wants any more is read so long and so far, so that who sends it sees the answer.
const DRAIN_FOR: Duration = Duration::from_secs(30);
const DRAIN_BYTES: usize = 1 << 30;

/// What a key may send; never more than anybody.
pub(super) fn most_bytes(limits: &Limits, key: &KeyLimits) -> usize {
    let own = key.body_bytes.map(usize::try_from);
    let own = own.and_then(Result::ok).unwrap_or(usize::MAX);
    own.min(limits.body_bytes)
}

/// All of it, within this time. One that says that it is too long is refused before any of it is read.
pub(super) async fn whole(
    body: Body,
    most_bytes: usize,
    patience: Duration,
) -> Result<BytesMut, ApiError> {
    if body.size_hint().lower() > most_bytes as u64 {
        // Who is still sending when the connection ends may never see why.
        drain(body.into_data_stream());
        return Err(ApiError::too_large(most_bytes as u64));
    }
    match tokio::time::timeout(patience, collect(body, most_bytes)).await {
        Ok(read) => read,
        Err(_) => Err(late("did not arrive", patience)),
    }
}

/// The next piece, within this time; `None` at the end.
pub(super) async fn next(
    pieces: &mut BodyDataStream,
    patience: Duration,
) -> Result<Option<Bytes>, ApiError> {
    match tokio::time::timeout(patience, pieces.next()).await {
        Ok(piece) => piece.transpose().map_err(|_| cut_off()),
        Err(_) => Err(late("did not go on", patience)),
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

fn late(what: &str, patience: Duration) -> ApiError {
    let message = format!("The request body {what} within {} s.", patience.as_secs());
    ApiError::new(408, "request_timeout", message)
}

fn cut_off() -> ApiError {
    ApiError::invalid_request("", "The request body was cut off.")
}

async fn collect(body: Body, most_bytes: usize) -> Result<BytesMut, ApiError> {
    let mut pieces = body.into_data_stream();
    let mut all = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| cut_off())?;
        if all.len() + piece.len() > most_bytes {
            return Err(ApiError::too_large(most_bytes as u64));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}
