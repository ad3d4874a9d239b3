//! The body of a request, read whole and within bounds, or piece by piece.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use super::limits::Limits;
use crate::api::ApiError;
use crate::engine::access::KeyLimits;

/// What nobody wants any more is read so long and so far, so that who sends it sees the answer; not from one who sends nothing.
const DRAIN_FOR: Duration = Duration::from_secs(30);
const DRAIN_PATIENCE: Duration = Duration::from_secs(1);
pub(super) const DRAIN_BYTES: usize = 1 << 30;

/// What a key may send; never more than anybody.
pub(super) fn most_bytes(limits: &Limits, key: &KeyLimits) -> usize {
    let own = key.body_bytes.map(usize::try_from);
    let own = own.and_then(Result::ok).unwrap_or(usize::MAX);
    own.min(limits.body_bytes)
}

/// All of it, within this time. What is too much is never held, and of what is far too much not one byte is read; otherwise it is
/// drained, because most clients read their answer only when they have sent everything.
pub(super) async fn whole(
    body: Body,
    most_bytes: usize,
    patience: Duration,
) -> Result<BytesMut, ApiError> {
    let declared_bytes = body.size_hint().lower();
    let more_bytes = 2 * most_bytes;
    let mut pieces = body.into_data_stream();
    let is_long = declared_bytes > most_bytes as u64;
    if !is_long {
        let collected = collect(&mut pieces, most_bytes);
        let in_time = tokio::time::timeout(patience, collected).await;
        if let Some(all) = in_time.unwrap_or_else(|_| Err(late("did not arrive", patience)))? {
            return Ok(all);
        }
    }
    if declared_bytes <= more_bytes as u64 {
        drain(pieces, more_bytes);
    }
    Err(ApiError::too_large(most_bytes as u64))
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
pub(super) fn drain(mut pieces: BodyDataStream, most_bytes: usize) {
    tokio::spawn(tokio::time::timeout(DRAIN_FOR, async move {
        let mut read_bytes = 0;
        while let Ok(Some(piece)) = next(&mut pieces, DRAIN_PATIENCE).await {
            read_bytes += piece.len();
            if read_bytes > most_bytes {
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

/// All that is left; `None` if that is too much.
async fn collect(
    pieces: &mut BodyDataStream,
    most_bytes: usize,
) -> Result<Option<BytesMut>, ApiError> {
    let mut all = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| cut_off())?;
        if all.len() + piece.len() > most_bytes {
            return Ok(None);
        }
        all.extend_from_slice(&piece);
    }
    Ok(Some(all))
}
