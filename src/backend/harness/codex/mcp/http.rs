//! MCP servers over HTTP: Codex asks here, on loopback and with its token, and the server is asked by us, with what it has to be shown.
//!
//! An exchange is a task of its own. A call of a tool goes on when Codex is gone, until it is answered or its Turn ends: so its outcome is known.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use futures_util::stream;
use memchr::memmem;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::message;
use super::reach::{Client, Clients};
use super::{Mcp, Outcome, Place};
use crate::backend::harness::codex::proxy::frames::Frames;
use crate::backend::outbound::causes;

/// A larger answer that is no stream is not taken.
const ANSWER_LIMIT_BYTES: usize = 8 << 20;

/// Header fields of Codex that go on to a server.
const GO_ON: [HeaderName; 5] = [
    ACCEPT,
    CONTENT_TYPE,
    HeaderName::from_static("mcp-session-id"),
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("last-event-id"),
];

/// Header fields of a server that come back. What it says about how to sign in is not among them: Codex could not.
const COME_BACK: [HeaderName; 2] = [CONTENT_TYPE, HeaderName::from_static("mcp-session-id")];

/// Shorter credentials could be in any text.
const SECRET_LEAST_BYTES: usize = 8;

/// The way to all servers over HTTP of one process of Codex.
pub struct Relay {
    mcp: Arc<Mcp>,
    clients: Clients,
    tasks: Mutex<JoinSet<()>>,
}

/// What was asked.
struct Asked {
    place: usize,
    method: Method,
    headers: HeaderMap,
    body: Vec<u8>,
    /// The call that it is, by the id under which it is recorded.
    call: Option<String>,
}

/// The head of an answer, and its body as it comes.
struct Head {
    status: StatusCode,
    headers: HeaderMap,
    body: mpsc::Receiver<Bytes>,
}

/// Why there is no answer.
enum NoAnswer {
    /// Nothing was sent.
    Unsent(String),
    /// Something may have been.
    Unknown(String),
}

impl Relay {
    /// Nothing is asked yet.
    pub fn new(mcp: Arc<Mcp>, clients: Clients) -> Relay {
        Relay {
            mcp,
            clients,
            tasks: Mutex::default(),
        }
    }

    /// Ends every exchange.
    pub fn end(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.abort_all();
    }

    /// Answers a request of Codex for the server at a place.
    pub async fn answer(self: &Arc<Relay>, place: usize, parts: &Parts, body: Bytes) -> Response {
        let known = [Method::POST, Method::GET, Method::DELETE];
        if !known.contains(&parts.method) {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "POST, GET or DELETE");
        }
        let mut asked = Asked {
            place,
            method: parts.method.clone(),
            headers: kept(&parts.headers, &GO_ON),
            body: Vec::new(),
            call: None,
        };
        if parts.method == Method::POST {
            let Ok(message) = serde_json::from_slice::<Value>(&body) else {
                return plain(StatusCode::BAD_REQUEST, "the body is no message");
            };
            // Several at once could hide a call.
            if !message.is_object() {
                return plain(StatusCode::BAD_REQUEST, "one message at a time");
            }
            if let Some(call) = message::tool_call(&message) {
                match self.mcp.pass(place, &call).await {
                    Ok(recorded) => asked.call = Some(recorded),
                    Err(why) => return json(&message::refusal(&call.rpc_id, &why)),
                }
            }
            let server = self.mcp.servers.get(place);
            let metadata = server.map(|server| server.metadata.clone());
            let sent = message::outbound(message, &metadata.unwrap_or_default());
            asked.body = sent.to_string().into_bytes();
        }
        let (tell, told) = oneshot::channel();
        let relay = Arc::clone(self);
        {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(async move { relay.exchange(asked, tell).await });
        }
        match told.await {
            Ok(Ok(head)) => streamed(head),
            Ok(Err(why)) => plain(StatusCode::BAD_GATEWAY, &why),
            Err(_) => plain(StatusCode::BAD_GATEWAY, "the turn is over"),
        }
    }

    /// Asks the server, and notes what came of a call before it is told.
    async fn exchange(&self, asked: Asked, tell: oneshot::Sender<Result<Head, String>>) {
        let call_id = &asked.call;
        let place = asked.place;
        let end = |outcome: Outcome| {
            if let Some(call_id) = call_id {
                self.mcp.calls.ended(call_id, outcome);
            }
        };
        let response = match self.send(&asked).await {
            Ok(response) => response,
            Err(no_answer) => {
                let (why, outcome) = match no_answer {
                    NoAnswer::Unsent(why) => (why.clone(), Outcome::Unsent(why)),
                    NoAnswer::Unknown(why) => (why.clone(), Outcome::Unknown(why)),
                };
                end(outcome);
                self.mcp.trouble(place, why.clone());
                let _ = tell.send(Err(why));
                return;
            }
        };
        let status = response.status();
        let is_gone = asked.method == Method::POST && status == StatusCode::NOT_FOUND;
        if !status.is_success() {
            let why = format!("the server answered HTTP {}", status.as_u16());
            match (call_id, is_gone) {
                // Its session is unknown there: Codex begins another one and asks again.
                (Some(call_id), true) => self.mcp.calls.forget(call_id),
                (Some(_), false) if status.is_server_error() => end(Outcome::Unknown(why.clone())),
                _ => end(Outcome::Unsent(why.clone())),
            }
            if asked.method == Method::POST {
                self.mcp.trouble(place, why.clone());
            }
            let head = self.refusal(status, &why).await;
            let _ = tell.send(head);
            return;
        }
        let (to_codex, body) = mpsc::channel(16);
        let head = Head {
            status,
            headers: kept(response.headers(), &COME_BACK),
            body,
        };
        let _ = tell.send(Ok(head));
        if let Err(why) = self
            .forward(place, response, &to_codex, call_id.is_some())
            .await
        {
            end(Outcome::Unknown(why));
        }
    }

    /// An answer without the server's words, which Codex would show.
    async fn refusal(&self, status: StatusCode, why: &str) -> Result<Head, String> {
        // A redirect would be followed by nobody; told as it is, it would be taken for an answer.
        if status.is_redirection() || status.is_informational() {
            return Err(why.to_owned());
        }
        let (to_codex, body) = mpsc::channel(1);
        let _ = to_codex.send(Bytes::copy_from_slice(why.as_bytes())).await;
        Ok(Head {
            status,
            headers: HeaderMap::new(),
            body,
        })
    }

    async fn send(&self, asked: &Asked) -> Result<reqwest::Response, NoAnswer> {
        let server = self.mcp.servers.get(asked.place);
        let Some(Place::Http(server)) = server.map(|server| &server.place) else {
            return Err(NoAnswer::Unsent("there is no such server".to_owned()));
        };
        let Client { client, url } = self.clients.of(server).map_err(NoAnswer::Unsent)?;
        let mut headers = asked.headers.clone();
        headers.extend(server.headers.clone());
        let request = client
            .request(asked.method.clone(), url)
            .headers(headers)
            .body(asked.body.clone());
        request.send().await.map_err(|error| {
            let is_unsent = error.is_connect() || error.is_builder();
            let why = causes(&error.without_url());
            match is_unsent {
                true => NoAnswer::Unsent(format!("the server can't be reached: {why}")),
                false => NoAnswer::Unknown(format!("the connection to the server broke: {why}")),
            }
        })
    }

    /// Passes an answer on. That of a call is read to its end, whoever listens.
    async fn forward(
        &self,
        place: usize,
        mut response: reqwest::Response,
        to_codex: &mpsc::Sender<Bytes>,
        is_call: bool,
    ) -> Result<(), String> {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_stream = kind.starts_with("text/event-stream");
        let mut frames = Frames::default();
        let mut whole = Vec::new();
        loop {
            let chunk = tokio::select! {
                chunk = response.chunk() => chunk,
                () = to_codex.closed(), if !is_call => return Ok(()),
            };
            let chunk = chunk.map_err(|error| {
                format!("the answer broke off: {}", causes(&error.without_url()))
            })?;
            let Some(chunk) = chunk else { break };
            if !is_stream {
                whole.extend_from_slice(&chunk);
                if whole.len() > ANSWER_LIMIT_BYTES {
                    return Err("the answer is larger than 8 MiB".to_owned());
                }
                continue;
            }
            let pushed = frames.push(&chunk);
            while let Some(frame) = frames.next() {
                let said = frame.event.map(|event| event.data);
                self.pass_on(place, frame.bytes, said.as_deref(), to_codex)
                    .await?;
            }
            pushed.map_err(|_| "an event of the answer is larger than 8 MiB".to_owned())?;
        }
        if is_stream {
            while let Some(frame) = frames.finish() {
                let said = frame.event.map(|event| event.data);
                self.pass_on(place, frame.bytes, said.as_deref(), to_codex)
                    .await?;
            }
            // The answer may still come: a stream can be taken up again.
            return Ok(());
        }
        let said = String::from_utf8_lossy(&whole).into_owned();
        self.pass_on(place, whole.into(), Some(&said), to_codex)
            .await?;
        match is_call {
            // Nothing, if it was answered.
            true => Err("the server answered without a result".to_owned()),
            false => Ok(()),
        }
    }

    /// Hears what there is to hear, and passes it on unless it gives a credential away.
    async fn pass_on(
        &self,
        place: usize,
        bytes: Bytes,
        said: Option<&str>,
        to_codex: &mpsc::Sender<Bytes>,
    ) -> Result<(), String> {
        if self.holds_credential(place, &bytes) {
            return Err("the server's answer holds a credential and was not passed on".to_owned());
        }
        if let Some(message) = said.and_then(|said| serde_json::from_str::<Value>(said).ok()) {
            self.mcp.heard(place, &message);
        }
        // Codex may be gone; a call's answer is read all the same.
        let _ = to_codex.send(bytes).await;
        Ok(())
    }

    fn holds_credential(&self, place: usize, bytes: &[u8]) -> bool {
        let server = self.mcp.servers.get(place);
        let Some(Place::Http(server)) = server.map(|server| &server.place) else {
            return false;
        };
        server.headers.values().any(|value| {
            let value = value.as_bytes();
            let value = value.strip_prefix(b"Bearer ").unwrap_or(value);
            value.len() >= SECRET_LEAST_BYTES && memmem::find(bytes, value).is_some()
        })
    }
}

fn kept(headers: &HeaderMap, names: &[HeaderName]) -> HeaderMap {
    let named = |name: &HeaderName| Some((name.clone(), headers.get(name)?.clone()));
    names.iter().filter_map(named).collect()
}

fn streamed(head: Head) -> Response {
    let Head {
        status,
        headers,
        body,
    } = head;
    let chunks = stream::unfold(body, |mut body| async {
        let chunk = body.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), body))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn plain(status: StatusCode, why: &str) -> Response {
    let mut response = Response::new(Body::from(why.to_owned()));
    *response.status_mut() = status;
    response
}

fn json(message: &Value) -> Response {
    let mut response = Response::new(Body::from(message.to_string()));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
