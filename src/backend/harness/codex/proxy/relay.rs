//! A provider's answer on its way to the agent: witnessed, held back where it must be recorded first, and otherwise unchanged.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::response::Response;
use futures_util::stream;
use memchr::memmem;
use reqwest::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use tokio::sync::{mpsc, oneshot};

use super::admission::{FromProxy, Pass};
use super::frames::{Frame, Frames, TooLarge};
use super::request::{Asks, asks};
use crate::api::Secret;
use crate::backend::model::http::caller::Posted;
use crate::backend::model::http::events::{Broken, Reader};
use crate::backend::model::http::failure::{self, connection, cut_off, garbled, idle, too_large};
use crate::engine::ports::{Fenced, ModelError, ModelEvent};

/// What the provider says about the request, for whoever asks it about one.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Why an answer does not go on. The agent's connection is cut in each case.
enum Cut {
    /// The run may speak no more: the harness knows.
    Ended,
    /// The provider failed: the harness is told.
    Failed(ModelError),
}

impl From<Fenced> for Cut {
    fn from(_: Fenced) -> Cut {
        Cut::Ended
    }
}

/// The answer to the agent. It is read from the provider as fast as the agent reads it.
pub fn answer(posted: Posted, pass: Arc<Pass>, thread: Option<String>, idle: Duration) -> Response {
    // One piece is on its way at most, and the next is read when that is gone.
    let (to_agent, from_provider) = mpsc::channel(1);
    let mut headers = posted.response.headers().clone();
    tokio::spawn(async move {
        let mut relay = Relay {
            pass: Arc::clone(&pass),
            thread: thread.clone(),
            key: posted.key,
            reader: Reader::default(),
            over: false,
            to_agent: to_agent.clone(),
        };
        let end = tokio::select! {
            // Nobody reads it any more: dropping the answer tells the provider.
            () = to_agent.closed() => return,
            () = pass.ended() => Err(Cut::Ended),
            end = relay.forward(posted.response, idle) => end,
        };
        let Err(cut) = end else {
            return;
        };
        if let Cut::Failed(error) = cut {
            // If nobody listens, nobody needs it.
            let _ = pass.tell(FromProxy::Failed { thread, error }).await;
        }
        let _ = to_agent.send(Err(io::Error::other("cut"))).await;
    });
    let mut response = Response::new(Body::from_stream(stream::unfold(from_provider, next)));
    let stream = HeaderValue::from_static("text/event-stream");
    let kept = response.headers_mut();
    kept.insert(CONTENT_TYPE, headers.remove(CONTENT_TYPE).unwrap_or(stream));
    kept.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(id) = headers.remove(&REQUEST_ID) {
        kept.insert(REQUEST_ID, id);
    }
    response
}

type Piece = Result<Bytes, io::Error>;

async fn next(mut from_provider: mpsc::Receiver<Piece>) -> Option<(Piece, mpsc::Receiver<Piece>)> {
    let piece = from_provider.recv().await?;
    if piece.is_err() {
        // What came before leaves first: a pause is what makes the connection send it.
        tokio::task::yield_now().await;
    }
    Some((piece, from_provider))
}

struct Relay {
    pass: Arc<Pass>,
    thread: Option<String>,
    key: Option<Secret>,
    reader: Reader,
    /// The answer is complete, or the provider said that it failed.
    over: bool,
    to_agent: mpsc::Sender<Piece>,
}

impl Relay {
    async fn forward(
        &mut self,
        mut response: reqwest::Response,
        idle_for: Duration,
    ) -> Result<(), Cut> {
        let mut frames = Frames::default();
        loop {
            let chunk = match tokio::time::timeout(idle_for, response.chunk()).await {
                // What comes after the end is nobody's loss.
                Err(_) | Ok(Err(_)) if self.over => return Ok(()),
                Err(_) => return Err(Cut::Failed(idle(idle_for))),
                Ok(Err(error)) => return Err(Cut::Failed(connection(error))),
                Ok(Ok(None)) => break,
                Ok(Ok(Some(chunk))) => chunk,
            };
            let pushed = frames.push(&chunk);
            while let Some(frame) = frames.next() {
                self.pass_on(frame).await?;
            }
            pushed.map_err(|TooLarge| {
                Cut::Failed(too_large(
                    "an event of the stream is larger than 8 MiB".to_owned(),
                ))
            })?;
        }
        while let Some(frame) = frames.finish() {
            // Whole or cut off: a cut-off one says no more than that.
            match self.pass_on(frame).await {
                Err(Cut::Failed(_)) | Ok(()) => {}
                Err(Cut::Ended) => return Err(Cut::Ended),
            }
        }
        match self.over {
            true => Ok(()),
            false => Err(Cut::Failed(cut_off())),
        }
    }

    /// Tells what there is to tell, waits if it must be recorded, and passes it on.
    async fn pass_on(&mut self, frame: Frame) -> Result<(), Cut> {
        if let Some(key) = &self.key
            && memmem::find(&frame.bytes, key.reveal().as_bytes()).is_some()
        {
            return Err(Cut::Failed(failure::key_in_answer()));
        }
        if let Some(event) = frame.event.filter(|_| !self.over) {
            match self.reader.read(&event) {
                Ok(events) => {
                    for event in events {
                        self.witness(event).await?;
                    }
                }
                Err(Broken::Garbled) => return Err(Cut::Failed(garbled())),
                Err(Broken::Failed(complaint)) => {
                    self.over = true;
                    let error = complaint.error(self.key.as_ref(), None);
                    let thread = self.thread.clone();
                    self.pass.tell(FromProxy::Failed { thread, error }).await?;
                }
            }
        }
        // If it is gone, so is the reason for all this.
        self.to_agent
            .send(Ok(frame.bytes))
            .await
            .map_err(|_| Cut::Ended)
    }

    async fn witness(&mut self, event: ModelEvent) -> Result<(), Cut> {
        let thread = self.thread.clone();
        match event {
            ModelEvent::TextDelta(_) | ModelEvent::ReasoningDelta { .. } => {}
            ModelEvent::Item(item) => match asks(&item) {
                Asks::Nothing => {}
                Asks::Hearing => {
                    self.pass.tell(FromProxy::Message { thread, item }).await?;
                }
                Asks::Keeping => {
                    self.pass.tell(FromProxy::Kept { thread, item }).await?;
                }
                Asks::Call => {
                    let (go, answered) = oneshot::channel();
                    self.pass.tell(FromProxy::Call { thread, item, go }).await?;
                    // No answer is no leave.
                    answered.await.unwrap_or(Err(Fenced))?;
                }
            },
            ModelEvent::Done { usage, .. } => {
                self.over = true;
                let usage = usage.unwrap_or_default();
                self.pass.tell(FromProxy::Usage { thread, usage }).await?;
            }
        }
        Ok(())
    }
}
