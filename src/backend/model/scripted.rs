//! A model that plays prepared replies in order and remembers what it was asked. For tests of harnesses and of the engine.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::engine::ports::{Model, ModelError, ModelEvent, ModelRequest, ModelStream, ModelUsage};

/// What one call does.
pub enum Reply {
    /// The call is refused before anything is streamed.
    Refuse(ModelError),
    /// The call is never answered.
    Silence,
    /// The call streams these, in order.
    Stream(Vec<Play>),
}

/// One step of a stream.
pub enum Play {
    /// An event.
    Event(ModelEvent),
    /// The stream fails; nothing follows.
    Fail(ModelError),
    /// Nothing comes any more, though the stream stays open.
    Stall,
    /// Nothing comes until the test says so.
    Until(Arc<Notify>),
    /// Nothing comes for this long.
    Pause {
        /// How long.
        ms: u64,
    },
}

/// Plays replies; a call beyond the last one is refused with `internal_error`.
#[derive(Default)]
pub struct ScriptedModel {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<ModelRequest>>,
    called: Notify,
}

impl ScriptedModel {
    /// A model with these replies.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> ScriptedModel {
        ScriptedModel {
            replies: Mutex::new(replies.into_iter().collect()),
            ..ScriptedModel::default()
        }
    }

    /// Adds a reply behind the others.
    pub fn push(&self, reply: Reply) {
        lock(&self.replies).push_back(reply);
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<ModelRequest> {
        lock(&self.requests).clone()
    }

    /// The input of every request so far, as it would be sent.
    pub fn inputs(&self) -> Vec<Vec<Value>> {
        let requests = lock(&self.requests);
        let written = |item| serde_json::to_value(item).unwrap_or_default();
        let inputs = requests.iter().map(|request| request.input.iter());
        inputs.map(|items| items.map(written).collect()).collect()
    }

    /// Waits until at least `count` calls were made.
    pub async fn wait_for_calls(&self, count: usize) {
        loop {
            let called = self.called.notified();
            tokio::pin!(called);
            called.as_mut().enable();
            if lock(&self.requests).len() >= count {
                return;
            }
            called.await;
        }
    }
}

#[async_trait]
impl Model for ScriptedModel {
    async fn call(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        lock(&self.requests).push(request);
        self.called.notify_waiters();
        let reply = lock(&self.replies).pop_front();
        match reply {
            None => Err(ModelError {
                code: "internal_error".to_owned(),
                message: "the script is over".to_owned(),
                retryable: false,
                retry_after_ms: None,
            }),
            Some(Reply::Refuse(error)) => Err(error),
            Some(Reply::Silence) => std::future::pending().await,
            Some(Reply::Stream(plays)) => {
                Ok(stream::iter(plays).then(play).filter_map(keep).boxed())
            }
        }
    }

    fn name(&self) -> String {
        "scripted".to_owned()
    }
}

async fn play(step: Play) -> Option<Result<ModelEvent, ModelError>> {
    match step {
        Play::Event(event) => Some(Ok(event)),
        Play::Fail(error) => Some(Err(error)),
        Play::Stall => std::future::pending().await,
        Play::Until(told) => {
            told.notified().await;
            None
        }
        Play::Pause { ms } => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            None
        }
    }
}

async fn keep<T>(what: Option<T>) -> Option<T> {
    what
}

/// A reply with these finished items.
pub fn items(items: impl IntoIterator<Item = Value>) -> Reply {
    let mut plays: Vec<Play> = items
        .into_iter()
        .map(|item| Play::Event(ModelEvent::Item(item)))
        .collect();
    plays.push(Play::Event(done()));
    Reply::Stream(plays)
}

/// A reply that says one thing.
pub fn says(text: &str) -> Reply {
    items([message(text)])
}

/// A message item.
pub fn message(text: &str) -> Value {
    json!({
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text}],
    })
}

/// A function call item.
pub fn call(call_id: &str, name: &str, arguments: &str) -> Value {
    json!({
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    })
}

/// The end of a call that read 10 tokens and wrote 5.
pub fn done() -> ModelEvent {
    ModelEvent::Done {
        response_id: None,
        usage: Some(ModelUsage {
            input: 10,
            output: 5,
            ..ModelUsage::default()
        }),
        incomplete: None,
    }
}

/// An error with this code.
pub fn error(code: &str, retryable: bool) -> ModelError {
    ModelError {
        code: code.to_owned(),
        message: format!("scripted {code}"),
        retryable,
        retry_after_ms: None,
    }
}

/// A panic elsewhere can't leave these lists half changed, so a poisoned lock is taken as it is.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
