//! The body of a request, read whole and within bounds.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use bytes::BytesMut;
use futures_util::StreamExt;

use super::limits::Limits;
use crate::api::ApiError;
use crate::engine::access::KeyLimits;

/// What a key may send; never more than anybody.
pub(super) fn most_bytes(limits: &Limits, key: &KeyLimits) -> usize {
    let own = key.body_bytes.map(usize::try_from);
    let own = own.and_then(Result::ok).unwrap_or(usize::MAX);
    own.min(limits.body_bytes)
}

/// Who sends too much is listened to for so long, and for as many bytes again as it may send, because most clients read their
/// answer only when they have sent everything.
const LINGER: Duration = Duration::from_secs(5);

/// All of it, within this time. What is too much is never held.
pub(super) async fn whole(
    body: Body,
    most_bytes: usize,
    patience: Duration,
) -> Result<BytesMut, ApiError> {
    let declared_bytes = body.size_hint().lower();
    let mut body = body.into_data_stream();
    let read = match declared_bytes > most_bytes as u64 {
        true => Err(Cut::TooLong),
        false => {
            let collected = collect(&mut body, most_bytes);
            let in_time = tokio::time::timeout(patience, collected).await;
            in_time.unwrap_or(Err(Cut::Late))
        }
    };
    match read {
        Ok(all) => Ok(all),
        Err(Cut::TooLong) => {
            // Of what is far too long not one byte is read.
            let most_more = 2 * most_bytes as u64;
            if declared_bytes <= most_more {
                let discarded = discard(&mut body, most_more);
                // Whatever comes of it, the answer is the same.
                let _ = tokio::time::timeout(LINGER.min(patience), discarded).await;
            }
            Err(ApiError::too_large(most_bytes as u64))
        }
        Err(Cut::Off) => {
            let message = "The request body was cut off.";
            Err(ApiError::invalid_request("", message))
        }
        Err(Cut::Late) => {
            let seconds = patience.as_secs();
            let message = format!("The request body did not arrive within {seconds} s.");
            Err(ApiError::new(408, "request_timeout", message))
        }
    }
}

/// Why a body is not read whole.
enum Cut {
    TooLong,
    Off,
    Late,
}

async fn collect(body: &mut BodyDataStream, most_bytes: usize) -> Result<BytesMut, Cut> {
    let mut all = BytesMut::new();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|_| Cut::Off)?;
        if all.len() + piece.len() > most_bytes {
            return Err(Cut::TooLong);
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

async fn discard(body: &mut BodyDataStream, most_bytes: u64) {
    let mut bytes = 0;
    while let Some(Ok(piece)) = body.next().await {
        bytes += piece.len() as u64;
        if bytes > most_bytes {
            return;
        }
    }
}
