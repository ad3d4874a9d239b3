//! Inputs into a Session, and the stream of what happens in it.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::answer::Asked;
use super::refusal::{Answered, Refusal};
use super::stream::{self, End, Follow};
use crate::api::{ApiError, RECEIPT_HEADER, RECEIPT_HEADER_MAX_BYTES, parse_events};
use crate::engine::ids::{self, Kind};
use crate::engine::position::Position;
use crate::engine::view;

/// Accepts inputs: 202 and no body, because they are on disk and nothing more is promised. Which receipt proves it is in a header.
pub(super) async fn send(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let session = asked.session()?;
    let params = parse_events(&asked.take_body().await?)?;
    let given = asked.idempotency_key()?;
    let core = &asked.server.core;
    let key = match &given {
        Some(key) => key.clone(),
        None => ids::random(Kind::Receipt, &*core.ids),
    };
    let sent = core
        .send(&asked.caller.owner, &session, &key, &params.events)
        .await;
    let accepted = sent.map_err(|error| Refusal::of_engine(error, given.as_deref()))?;
    let traffic = &asked.server.traffic;
    match accepted.repeated {
        true => traffic.inputs_repeated.one(),
        false => traffic.inputs_accepted.one(),
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    let headers = response.headers_mut();
    if let Ok(receipt) = HeaderValue::from_str(&accepted.receipt_id) {
        headers.insert("x-receipt-id", receipt);
    }
    let repeated = match accepted.repeated {
        true => "true",
        false => "false",
    };
    headers.insert("x-receipt-repeated", HeaderValue::from_static(repeated));
    // All of it is ASCII: ids, digits and words.
    let receipt = view::receipt(&session, &accepted);
    let receipt = serde_json::to_string(&receipt).unwrap_or_default();
    if receipt.len() <= RECEIPT_HEADER_MAX_BYTES
        && let Ok(receipt) = HeaderValue::from_str(&receipt)
    {
        headers.insert(RECEIPT_HEADER, receipt);
    }
    Ok(response)
}

/// Streams what happens from now on, or from behind an event on.
pub(super) async fn stream(mut asked: Asked) -> Answered {
    let obfuscates = asked.query.take_bool("include_obfuscation", true)?;
    // Published examples ask for what this route always does.
    asked.query.take_bool("stream", true)?;
    let after = asked.query.take("after");
    let follows = asked.query.take_bool("follow", true)?;
    asked.no_more_query()?;
    let header = asked.headers.get("last-event-id");
    let header = header.and_then(|value| value.to_str().ok());
    let after = after.or_else(|| header.filter(|id| !id.is_empty()).map(str::to_owned));
    let read = asked.read().await?;
    let unknown = |id: &str| {
        let message = format!("'{id}' is no event of this session.");
        ApiError::invalid_request("after", message)
    };
    let at = |id: String| Position::parse(&read.id, &id).ok_or_else(|| unknown(&id));
    let after = after.map(at).transpose()?;
    let room = stream::room(&asked.server)?;
    let follow = Follow {
        session: read.id,
        after,
        obfuscates,
        end: if follows { End::Reader } else { End::SoFar },
    };
    stream::open(&asked.server, &asked.caller, follow, room).await
}
