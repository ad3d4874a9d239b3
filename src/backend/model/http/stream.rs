//! From an HTTP answer's bytes to a stream of model events.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::Response;
use serde_json::Value;

use super::events::{Broken, Reader};
use super::failure::{connection, cut_off, garbled, idle, too_large};
use crate::api::Secret;
use crate::backend::sse;
use crate::engine::ports::{ModelError, ModelEvent, ModelStream};

/// A whole answer may not be larger.
const WHOLE_LIMIT_BYTES: usize = 32 << 20;

/// The answer's events as they come. Dropping the stream closes the connection.
pub fn events(response: Response, key: Option<Secret>, idle: Duration) -> ModelStream {
    let live = Live {
        bytes: response.bytes_stream().boxed(),
        parser: sse::Parser::default(),
        reader: Reader::default(),
        ready: VecDeque::new(),
        over: false,
        key,
        idle,
    };
    stream::unfold(live, Live::next).boxed()
}

/// The events of a server that answers with the whole response at once.
pub async fn whole(
    mut response: Response,
    key: Option<Secret>,
    idle_for: Duration,
) -> Result<ModelStream, ModelError> {
    let mut body = Vec::new();
    loop {
        match tokio::time::timeout(idle_for, response.chunk()).await {
            Err(_) => return Err(idle(idle_for)),
            Ok(Err(error)) => return Err(connection(error)),
            Ok(Ok(None)) => break,
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
        }
        if body.len() > WHOLE_LIMIT_BYTES {
            return Err(too_large("the answer is larger than 32 MiB".to_owned()));
        }
    }
    let value: Value = serde_json::from_slice(&body).map_err(|_| garbled())?;
    let events = Reader::default()
        .whole(&value)
        .map_err(|broken| broken_error(broken, key.as_ref()))?;
    Ok(stream::iter(events.into_iter().map(Ok)).boxed())
}

struct Live {
    bytes: BoxStream<'static, Result<Bytes, reqwest::Error>>,
    parser: sse::Parser,
    reader: Reader,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    /// `Done` or an error is in `ready` or was given: nothing more is read.
    over: bool,
    key: Option<Secret>,
    idle: Duration,
}

impl Live {
    async fn next(mut self) -> Option<(Result<ModelEvent, ModelError>, Live)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((event, self));
            }
            if self.over {
                return None;
            }
            match tokio::time::timeout(self.idle, self.bytes.next()).await {
                Err(_) => self.fail(idle(self.idle)),
                Ok(Some(Err(error))) => self.fail(connection(error)),
                Ok(Some(Ok(bytes))) => {
                    let pushed = self.parser.push(&bytes);
                    while let Some(event) = self.parser.next() {
                        self.read(&event);
                    }
                    if let Err(error) = pushed
                        && !self.over
                    {
                        self.fail(too_large(error.to_string()));
                    }
                }
                Ok(None) => {
                    // What is left may be whole, or cut off; a cut-off one says no more than that.
                    match self.parser.finish().map(|event| self.reader.read(&event)) {
                        Some(Ok(events)) => self.give(events),
                        Some(Err(Broken::Failed(complaint))) => {
                            self.fail(complaint.error(self.key.as_ref(), None));
                        }
                        Some(Err(Broken::Garbled)) | None => {}
                    }
                    if !self.over {
                        self.fail(cut_off());
                    }
                }
            }
        }
    }

    fn read(&mut self, event: &sse::Event) {
        if self.over {
            return;
        }
        match self.reader.read(event) {
            Ok(events) => self.give(events),
            Err(broken) => self.fail(broken_error(broken, self.key.as_ref())),
        }
    }

    fn give(&mut self, events: Vec<ModelEvent>) {
        self.over |= matches!(events.last(), Some(ModelEvent::Done { .. }));
        self.ready.extend(events.into_iter().map(Ok));
    }

    fn fail(&mut self, error: ModelError) {
        self.over = true;
        self.ready.push_back(Err(error));
    }
}

fn broken_error(broken: Broken, key: Option<&Secret>) -> ModelError {
    match broken {
        Broken::Failed(complaint) => complaint.error(key, None),
        Broken::Garbled => garbled(),
    }
}
