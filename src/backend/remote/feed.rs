//! A stream of a Session's events as it comes from the server, until it ends. What it can't read of it, it passes over.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use tokio::time::Instant;

use super::Remote;
use super::answer::content_type;
use super::call::Call;
use super::failure::Failure;
use crate::api::Event;
use crate::backend::outbound::causes;
use crate::backend::sse;

/// A stream on which nothing at all came for so long is taken for lost. Ours say every 15 seconds that they are there.
const SILENCE: Duration = Duration::from_secs(50);

/// See the module.
pub(super) struct Feed {
    chunks: BoxStream<'static, Result<Bytes, reqwest::Error>>,
    parser: sse::Parser,
    heard: Instant,
    over: Option<Ended>,
}

/// What a feed gives.
pub(super) enum Came {
    /// An event.
    Event(Box<Event>),
    /// Nothing in the time that was given.
    Quiet,
    /// It is over.
    Over(Ended),
}

/// Why a feed is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The server ended it in good order.
    Closed,
    /// Nothing came for so long that it is not waited for.
    Silent,
    /// It broke.
    Broke(String),
}

impl Remote {
    /// Opens a Session's stream; `query` beside what is always asked for.
    pub(super) async fn open_feed(
        &self,
        session: &str,
        query: &[(&str, &str)],
        within: Option<Duration>,
    ) -> Result<Feed, Failure> {
        let path = ["agents", "sessions", session, "events"];
        let mut call = Call::get(&path);
        call.accept = "text/event-stream";
        call.within = within;
        let padding = [("include_obfuscation", "false")];
        let query = padding.iter().chain(query);
        call.query = query
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let response = self.call(&call).await?.response;
        let kind = content_type(response.headers());
        if !kind.starts_with("text/event-stream") {
            let why = format!("it answered with {kind} instead of a stream of events");
            return Err(self.unreadable(&call, why));
        }
        Ok(Feed {
            chunks: response.bytes_stream().boxed(),
            parser: sse::Parser::default(),
            heard: Instant::now(),
            over: None,
        })
    }
}

impl Feed {
    /// The next event, waited for until then.
    pub(super) async fn next(&mut self, until: Instant) -> Came {
        loop {
            while let Some(block) = self.parser.next() {
                match read(&block) {
                    Some(event) => return Came::Event(Box::new(event)),
                    None if block.data.starts_with("[DONE]") => self.over = Some(Ended::Closed),
                    None => {}
                }
            }
            if let Some(ended) = &self.over {
                return Came::Over(ended.clone());
            }
            let patience = until.min(self.heard + SILENCE);
            match tokio::time::timeout_at(patience, self.chunks.next()).await {
                Ok(Some(Ok(bytes))) => {
                    self.heard = Instant::now();
                    if let Err(error) = self.parser.push(&bytes) {
                        self.over = Some(Ended::Broke(error.to_string()));
                    }
                }
                Ok(Some(Err(error))) => {
                    self.over = Some(Ended::Broke(causes(&error.without_url())));
                }
                Ok(None) => {
                    self.over = Some(Ended::Closed);
                    if let Some(event) = self.parser.finish().as_ref().and_then(read) {
                        return Came::Event(Box::new(event));
                    }
                }
                Err(_) if Instant::now() >= self.heard + SILENCE => {
                    self.over = Some(Ended::Silent);
                }
                Err(_) => return Came::Quiet,
            }
        }
    }
}

/// The event of a block; `None` if it is of a kind that this version does not know.
fn read(block: &sse::Event) -> Option<Event> {
    serde_json::from_str(&block.data).ok()
}
