//! A server over HTTP on loopback that a test asks what reached it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::codex::stub::Gate;

/// One message that reached it.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    /// The message.
    pub(super) message: Value,
}

/// How it answers.
#[derive(Clone, Default)]
pub(super) struct Manner {
    /// As a stream of events.
    pub(super) streams: bool,
    /// A call waits here.
    pub(super) gate: Option<Gate>,
    /// What a call is answered with instead.
    pub(super) status: Option<u16>,
    /// What a call returns.
    pub(super) text: String,
}

/// A server with the tool `note`.
pub(super) struct Server {
    pub(super) url: String,
    /// Its host and port.
    pub(super) authority: String,
    reached: Arc<Mutex<Vec<Reached>>>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    manner: Manner,
    reached: Arc<Mutex<Vec<Reached>>>,
}

impl Server {
    pub(super) async fn start(manner: Manner) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("loopback");
        let authority = listener.local_addr().expect("it is bound").to_string();
        let reached = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::new(Shared {
            manner,
            reached: Arc::clone(&reached),
        });
        let router = Router::new().fallback(answer).with_state(shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = TowerToHyperService::new(router.clone());
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(serving);
            }
        });
        Server {
            url: format!("http://{authority}/mcp"),
            authority,
            reached,
            task,
        }
    }

    /// Everything that reached it.
    pub(super) fn reached(&self) -> Vec<Reached> {
        self.reached.lock().expect("no panic").clone()
    }

    /// Calls of tools that reached it.
    pub(super) fn calls(&self) -> Vec<Reached> {
        let all = self.reached().into_iter();
        all.filter(|one| one.message["method"] == "tools/call")
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, parts: Parts, body: Bytes) -> Response {
    if parts.method != "POST" || parts.uri.path() != "/mcp" {
        return with(StatusCode::METHOD_NOT_ALLOWED, "text/plain", String::new());
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = parts.headers.iter();
    let headers = headers.map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes())));
    shared.reached.lock().expect("no panic").push(Reached {
        headers: headers.collect(),
        message: message.clone(),
    });
    let manner = &shared.manner;
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "http", "version": "1"}})
        }
        "tools/list" => {
            json!({"tools": [{"name": "note", "description": "Notes.", "inputSchema": {"type": "object"}}]})
        }
        "tools/call" => {
            if let Some(gate) = &manner.gate {
                gate.pass_here().await;
            }
            if let Some(status) = manner.status {
                let status = StatusCode::from_u16(status).expect("a status");
                return with(status, "text/plain", "words of the server".to_owned());
            }
            json!({"content": [{"type": "text", "text": manner.text}]})
        }
        _ => return with(StatusCode::ACCEPTED, "text/plain", String::new()),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    match manner.streams {
        true => {
            let event = format!(": first\n\nevent: message\ndata: {answer}\n\n");
            with(StatusCode::OK, "text/event-stream", event)
        }
        false => with(StatusCode::OK, "application/json", answer.to_string()),
    }
}

fn with(status: StatusCode, kind: &str, body: String) -> Response {
    Response::builder()
        .status(status)
        .header("content-type", kind)
        .body(Body::from(body))
        .expect("these are headers")
}
