//! One model call: streamed, interruptible, repeated while that makes sense.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::Value;

use super::items;
use super::retry::Retry;
use super::stop::Stop;
use crate::engine::ports::{
    Delta, Model, ModelError, ModelEvent, ModelRequest, ModelUsage, Observation, TurnEnd, TurnLink,
};

/// A complete response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Its items, in order.
    pub items: Vec<Value>,
    /// Its tokens, if the provider counts them.
    pub usage: Option<ModelUsage>,
    /// Why it stops early, if it does.
    pub incomplete: Option<String>,
    /// Text that was streamed and belongs to no item: what there is of a message that stopped early.
    pub loose_text: String,
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq)]
pub enum NoResponse {
    /// The Turn ends for another reason.
    End(TurnEnd),
    /// The model failed for good.
    Model(ModelError),
}

/// Makes one call after another until one is complete. What an earlier one streamed is dropped: only its deltas were seen, and
/// nobody keeps those. `untaken` inputs are reported as taken as soon as the first stream opens.
pub async fn complete(
    model: &dyn Model,
    request: &ModelRequest,
    retry: &Retry,
    link: &TurnLink,
    untaken: &mut Vec<u64>,
) -> Result<Response, NoResponse> {
    let stop = Stop::new(link);
    let mut failed = 0;
    loop {
        let error = match attempt(model, request.clone(), &stop, link, untaken).await {
            Err(NoResponse::Model(error)) => error,
            other => return other,
        };
        failed += 1;
        let Some(wait_ms) = retry.wait_ms(failed, &error) else {
            return Err(NoResponse::Model(error));
        };
        tracing::debug!(code = error.code, wait_ms, failed, "repeating a model call");
        saw(link, Observation::Delta(Delta::Void)).await?;
        tokio::select! {
            biased;
            end = stop.asked() => return Err(NoResponse::End(end)),
            () = tokio::time::sleep(Duration::from_millis(wait_ms)) => {}
        }
    }
}

async fn attempt(
    model: &dyn Model,
    request: ModelRequest,
    stop: &Stop,
    link: &TurnLink,
    untaken: &mut Vec<u64>,
) -> Result<Response, NoResponse> {
    let asked = stop.asked();
    tokio::pin!(asked);
    let opened = tokio::select! {
        biased;
        end = &mut asked => return Err(NoResponse::End(end)),
        opened = model.call(request) => opened,
    };
    let mut stream = opened.map_err(NoResponse::Model)?;
    if !untaken.is_empty() {
        saw(link, Observation::Took(std::mem::take(untaken))).await?;
    }
    let mut response = Response::default();
    // Finished items are reported when all of the response is there.
    let mut ahead = 0;
    loop {
        let event = tokio::select! {
            biased;
            end = &mut asked => return Err(NoResponse::End(end)),
            event = stream.next() => event,
        };
        match event {
            Some(Ok(ModelEvent::TextDelta(text))) => {
                response.loose_text.push_str(&text);
                saw(link, Observation::Delta(Delta::Text { ahead, text })).await?;
            }
            Some(Ok(ModelEvent::ReasoningDelta { summary, text })) => {
                let delta = Delta::Reasoning {
                    ahead,
                    summary,
                    text,
                };
                saw(link, Observation::Delta(delta)).await?;
            }
            Some(Ok(ModelEvent::Item(item))) => {
                ahead += u64::from(items::is_reported(&item));
                if item["type"] == "message" {
                    response.loose_text.clear();
                }
                response.items.push(item);
            }
            Some(Ok(ModelEvent::Done {
                usage, incomplete, ..
            })) => {
                response.usage = usage;
                response.incomplete = incomplete;
                return Ok(response);
            }
            Some(Err(error)) => return Err(NoResponse::Model(error)),
            None => return Err(NoResponse::Model(cut_off())),
        }
    }
}

async fn saw(link: &TurnLink, what: Observation) -> Result<(), NoResponse> {
    link.saw(what)
        .await
        .map_err(|_| NoResponse::End(TurnEnd::Left))
}

/// A stream that ends without saying so breaks the port's promise; it is treated as a connection that broke.
fn cut_off() -> ModelError {
    ModelError {
        code: "connection_failed".to_owned(),
        message: "the model's answer ended before it was complete".to_owned(),
        retryable: true,
        retry_after_ms: None,
    }
}
